package logger

import (
	"fmt"
	"log/slog"
	"time"
)

// An Event is something that happens to a Logger. Programs can react to the exported types. Events
// of other types are problems to report; those with an error have a method Unwrap. String returns a
// line for a log.
type Event interface{ fmt.Stringer }

// MetricSkipped reports a metric of the configuration, or one of its instances, that cannot be
// recorded.
type MetricSkipped struct {
	File     string // of the configuration
	Line     int
	Metric   string
	Instance string // the name or number of the unknown instance, or "" for the metric
	Step     string // what failed: "lookup" of the name or the names below it, "desc" or "instance"
	Err      error
}

// Conflict reports an advisory request of the configuration that is ignored for a metric or
// instance, because an earlier request is mandatory.
type Conflict struct {
	File              string // of the configuration
	Line              int
	Metric            string
	Instance          string // "" for all
	Requested, Before Setting
}

// Recorded reports the first data record of a task.
type Recorded struct {
	Task  Task
	Bytes int64
}

// NewVolume reports that a volume begins.
type NewVolume struct {
	Volume int
	Reason string // as pmlogger(1) logs it, such as "pmlc request" or "sample counter"
	Time   time.Time
}

// Lost reports that the connection to the collector was lost. It is reported again when a
// reconnection fails because of TLS; Err then wraps pdu.ErrTLS.
type Lost struct {
	Host string
	Time time.Time
	Err  error
}

// Restored reports that the logger is connected again.
type Restored struct {
	Host string
	Time time.Time
}

// Validating reports that the logger looks up all metrics again.
type Validating struct{ Time time.Time }

// MetricChanged reports that a metric no longer has the descriptor in the archive.
type MetricChanged struct {
	Metric   string
	What     string // "PMID", "Type", "Semantics", "Instance domain" or "Units"
	From, To string
}

// MetricGone reports a metric that no longer exists.
type MetricGone struct {
	Metric string
	Err    error
}

// hostChanged reports another host name of the collector; see Options.EndOnChange.
type hostChanged struct{ From, To string }

// groupFailed reports a failed fetch over an intact connection. Nothing is recorded.
type groupFailed struct {
	task Task
	err  error
}

// metadataMissing reports that the collector could not describe a metric. The archive lacks that
// part of its metadata.
type metadataMissing struct {
	metric string
	err    error
}

// clockBack reports that the collector's clock was set back before the last data record. Nothing is
// recorded until it has caught up.
type clockBack struct{ last, now time.Time }

// clockCaughtUp reports that the logger records again after clockBack, following a mark.
type clockCaughtUp struct{ last time.Time }

// receiverLost reports that the receiver of Options.Push accepts no records. They stay in memory.
type receiverLost struct{ url, failure string }

// receiverRestored reports that the receiver accepts records again.
type receiverRestored struct{ url string }

// pushFull reports that records are dropped until the receiver accepts some.
type pushFull struct{ url string }

// pushLeftOut reports how many records were dropped after pushFull.
type pushLeftOut struct {
	url     string
	Records int
}

// Ended reports the end of Run, except after an unexpected error.
type Ended struct{ Reason EndReason }

// An EndReason says why Run ends.
type EndReason uint8

const (
	EndRecords  EndReason = iota // Options.EndRecords is reached
	EndBytes                     // Options.EndBytes is reached
	EndTime                      // Options.EndTime or EndAfter is reached
	EndContext                   // the context of Run ended
	EndHostname                  // the host name of the collector changed; see EndOnChange
	EndChanged                   // Run returns ErrMetricsChanged
)

// String returns the text in the log of pmlogger(1).
func (r EndReason) String() string {
	texts := [...]string{"Sample limit reached", "Byte limit reached", "End of run time", "Stopped", "PMCD hostname changed",
		"One or more configured metrics have changed after pmcd state change"}
	if int(r) >= len(texts) {
		return fmt.Sprintf("EndReason(%d)", r)
	}
	return texts[r]
}

// String returns a line for a log.
func (e MetricSkipped) String() string {
	if e.Instance != "" {
		return fmt.Sprintf("%s:%d: metric %s has no instance %q", e.File, e.Line, e.Metric, e.Instance)
	}
	return fmt.Sprintf("%s:%d: metric %s is not logged: %v", e.File, e.Line, e.Metric, e.Err)
}

// String returns a line for a log.
func (e Conflict) String() string {
	what := e.Metric
	if e.Instance != "" {
		what += fmt.Sprintf("[%q]", e.Instance)
	}
	return fmt.Sprintf("%s:%d: request for %s conflicts with that before: %v, but %v", e.File, e.Line, what, e.Requested, e.Before)
}

// String returns a line for a log.
func (e Recorded) String() string {
	return fmt.Sprintf("%d metrics logged %v: %d bytes", len(e.Task.Metrics), e.Task.Setting, e.Bytes)
}

// String returns a line for a log.
func (e NewVolume) String() string {
	return fmt.Sprintf("new log volume %d, via %v", e.Volume, e.Reason)
}

// String returns a line for a log.
func (e Lost) String() string { return fmt.Sprintf("lost connection to PMCD on %q: %v", e.Host, e.Err) }

// String returns a line for a log.
func (e Restored) String() string {
	return fmt.Sprintf("re-established connection to PMCD on %q", e.Host)
}

// String returns a line for a log.
func (e Validating) String() string { return "validating metrics after PMCD state changed" }

// String returns a line for a log.
func (e MetricChanged) String() string {
	return fmt.Sprintf("%v of metric %q: was %s, is %s", e.What, e.Metric, e.From, e.To)
}

// String returns a line for a log.
func (e MetricGone) String() string { return fmt.Sprintf("metric %q is gone: %v", e.Metric, e.Err) }

// String returns a line for a log.
func (e hostChanged) String() string {
	return fmt.Sprintf("host name of the collector: was %s, is %s", e.From, e.To)
}

// String returns a line for a log.
func (e groupFailed) String() string {
	return fmt.Sprintf("fetch of %d metrics logged %v: %v", len(e.task.Metrics), e.task.Setting, e.err)
}

func (e groupFailed) Unwrap() error { return e.err }

// String returns a line for a log.
func (e metadataMissing) String() string { return fmt.Sprintf("metadata of %s: %v", e.metric, e.err) }

func (e metadataMissing) Unwrap() error { return e.err }

// String returns a line for a log.
func (e clockBack) String() string {
	return fmt.Sprintf("clock of the collector was set back from %v to %v", e.last, e.now)
}

// String returns a line for a log.
func (e clockCaughtUp) String() string {
	return fmt.Sprintf("clock of the collector has caught up with %v", e.last)
}

// String returns a line for a log.
func (e Ended) String() string { return e.Reason.String() }

// LogEvent logs an event as a warning with slog.Default. It ignores the events of normal operation:
// Recorded, NewVolume, Validating, and Ended when the context ended or a limit was reached. It is
// the default of Options.Report.
func LogEvent(e Event) {
	switch e := e.(type) {
	case Recorded, NewVolume, Validating:
		return
	case Ended:
		if e.Reason < EndHostname {
			return
		}
	}
	slog.Warn("logger: " + e.String())
}

// String returns a line for a log.
func (e receiverLost) String() string {
	return fmt.Sprintf("receiver %s takes no records, which are kept: %s", e.url, e.failure)
}

// String returns a line for a log.
func (e receiverRestored) String() string {
	return fmt.Sprintf("receiver %s takes records again", e.url)
}

// String returns a line for a log.
func (e pushFull) String() string {
	return fmt.Sprintf("too many records for receiver %s are kept, further ones are left out", e.url)
}

// String returns a line for a log.
func (e pushLeftOut) String() string {
	return fmt.Sprintf("%d records for receiver %s were left out", e.Records, e.url)
}
