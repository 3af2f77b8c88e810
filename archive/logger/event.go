package logger

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/pcp-go/pcp/archive/logger/logconf"
	"github.com/pcp-go/pcp/pdu"
)

// An Event is something that happens to a Logger: one of the types of this package that say so.
// String is a line for a log.
type Event interface{ fmt.Stringer }

// The words in which MetricSkipped says what has failed.
const (
	StepLookup = "lookup" // of the name, or of those below it
	StepDesc   = "desc"   // of the descriptor
)

// MetricSkipped is a metric of the configuration that cannot be recorded.
type MetricSkipped struct {
	logconf.Place
	Metric string
	Step   string
	Err    error
}

// InstanceSkipped is an instance of the configuration that there is not.
type InstanceSkipped struct {
	logconf.Place
	Metric   string
	Instance logconf.Instance
	Err      error
}

// Conflict is an advisory request of the configuration for a metric, or an instance of it, of which
// there is a mandatory one.
type Conflict struct {
	logconf.Place
	Metric            string
	Inst              pdu.InstID // pdu.NoInst for all
	Instance          string     // its name, if Inst is one
	Requested, Before Setting
}

// Recorded is the first data record of a task.
type Recorded struct {
	Task  Task
	Bytes int64
}

// NewVolume is that another volume begins.
type NewVolume struct {
	Volume int
	Reason VolumeReason
	Time   time.Time
}

// A VolumeReason is why a volume ends.
type VolumeReason uint8

// The reasons. VolumeFull is that the volume cannot be longer in this version of archives.
const (
	VolumeRequest VolumeReason = iota
	VolumeRecords
	VolumeBytes
	VolumeTime
	VolumeFull
	VolumeSignal // SIGHUP, which programs handle
)

// String is what the log of pmlogger(1) calls it.
func (r VolumeReason) String() string {
	return [...]string{"pmlc request", "sample counter", "sample byte size", "sample time", "max data volume size", "SIGHUP"}[r]
}

// Lost is that the collector cannot be reached any longer. It is reported once more if an attempt
// to connect again fails because of TLS: Err then wraps pdu.ErrTLS.
type Lost struct {
	Host string
	Time time.Time
	Err  error
}

// Restored is that there is a connection again.
type Restored struct {
	Host string
	Time time.Time
}

// Validating is that all metrics are looked up again.
type Validating struct{ Time time.Time }

// MetricChanged is a metric that is not what it was.
type MetricChanged struct {
	Metric string
	What   MetricPart
	From   string
	To     string
}

// MetricGone is a metric that there is no longer.
type MetricGone struct {
	Metric string
	Err    error
}

// HostChanged is that the collector's host has another name; see Options.EndOnChange.
type HostChanged struct{ From, To string }

// A MetricPart is what of a metric can change.
type MetricPart uint8

// The parts of a metric.
const (
	PartPMID MetricPart = iota
	PartType
	PartSem
	PartInDom
	PartUnits
)

// String is what the log of pmlogger(1) calls it.
func (p MetricPart) String() string {
	return [...]string{"PMID", "Type", "Semantics", "Instance domain", "Units"}[p]
}

// GroupFailed is a fetch that has failed otherwise than by a loss of the connection. Nothing is
// recorded.
type GroupFailed struct {
	Task Task
	Time time.Time
	Err  error
}

// MetadataMissing is what the archive does not get of the description of a metric, since the
// collector has failed to tell.
type MetadataMissing struct {
	Metric string
	Err    error
}

// ClockBack is that the clock of the collector was set back before the last data record. Nothing is
// recorded until it has caught up.
type ClockBack struct{ Last, Now time.Time }

// ClockCaughtUp is that values are recorded again after ClockBack, after a mark.
type ClockCaughtUp struct{ Last, Now time.Time }

// ReceiverLost is that the receiver of the archive does not take records, see Options.Push. They
// are kept in memory.
type ReceiverLost struct {
	URL     string
	Time    time.Time
	Failure string
}

// ReceiverRestored is that the receiver takes records again.
type ReceiverRestored struct {
	URL  string
	Time time.Time
}

// PushFull is that there is no room for further records until the receiver takes some.
type PushFull struct {
	URL  string
	Time time.Time
}

// PushLeftOut is how many records were left out after PushFull.
type PushLeftOut struct {
	URL     string
	Time    time.Time
	Records int
}

// Ended is that Run ends by itself.
type Ended struct{ Reason EndReason }

// An EndReason is why Run ends by itself.
type EndReason uint8

// The reasons.
const (
	EndRecords EndReason = iota
	EndBytes
	EndTime
	EndContext // of the context of Run
	EndHostname
	EndChanged
)

// String is what the log of pmlogger(1) calls it.
func (r EndReason) String() string {
	return [...]string{"Sample limit reached", "Byte limit reached", "End of run time", "Stopped", "PMCD hostname changed",
		"One or more configured metrics have changed after pmcd state change"}[r]
}

// String is a line for a log.
func (e MetricSkipped) String() string {
	return fmt.Sprintf("%s:%d: metric %s is not logged: %v", e.File, e.Line, e.Metric, e.Err)
}

// String is a line for a log.
func (e InstanceSkipped) String() string {
	return fmt.Sprintf("%s:%d: metric %s has no instance %q", e.File, e.Line, e.Metric, e.Instance)
}

// String is a line for a log.
func (e Conflict) String() string {
	what := e.Metric
	if e.Inst != pdu.NoInst {
		what += fmt.Sprintf("[%q]", e.Instance)
	}
	return fmt.Sprintf("%s:%d: request for %s conflicts with that before: %v, but %v", e.File, e.Line, what, e.Requested, e.Before)
}

// String is a line for a log.
func (e Recorded) String() string {
	return fmt.Sprintf("%d metrics logged %v: %d bytes", len(e.Task.Metrics), e.Task.Setting, e.Bytes)
}

// String is a line for a log.
func (e NewVolume) String() string {
	return fmt.Sprintf("new log volume %d, via %v", e.Volume, e.Reason)
}

// String is a line for a log.
func (e Lost) String() string { return fmt.Sprintf("lost connection to PMCD on %q: %v", e.Host, e.Err) }

// String is a line for a log.
func (e Restored) String() string {
	return fmt.Sprintf("re-established connection to PMCD on %q", e.Host)
}

// String is a line for a log.
func (e Validating) String() string { return "validating metrics after PMCD state changed" }

// String is a line for a log.
func (e MetricChanged) String() string {
	return fmt.Sprintf("%v of metric %q: was %s, is %s", e.What, e.Metric, e.From, e.To)
}

// String is a line for a log.
func (e MetricGone) String() string { return fmt.Sprintf("metric %q is gone: %v", e.Metric, e.Err) }

// String is a line for a log.
func (e HostChanged) String() string {
	return fmt.Sprintf("host name of the collector: was %s, is %s", e.From, e.To)
}

// String is a line for a log.
func (e GroupFailed) String() string {
	return fmt.Sprintf("fetch of %d metrics logged %v: %v", len(e.Task.Metrics), e.Task.Setting, e.Err)
}

// String is a line for a log.
func (e MetadataMissing) String() string { return fmt.Sprintf("metadata of %s: %v", e.Metric, e.Err) }

// String is a line for a log.
func (e ClockBack) String() string {
	return fmt.Sprintf("clock of the collector was set back from %v to %v", e.Last, e.Now)
}

// String is a line for a log.
func (e ClockCaughtUp) String() string {
	return fmt.Sprintf("clock of the collector has caught up with %v", e.Last)
}

// String is a line for a log.
func (e Ended) String() string { return e.Reason.String() }

// LogEvent logs warnings with slog.Default(), as Options.Report does by default.
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

// String is a line for a log.
func (e ReceiverLost) String() string {
	return fmt.Sprintf("receiver %s takes no records, which are kept: %s", e.URL, e.Failure)
}

// String is a line for a log.
func (e ReceiverRestored) String() string {
	return fmt.Sprintf("receiver %s takes records again", e.URL)
}

// String is a line for a log.
func (e PushFull) String() string {
	return fmt.Sprintf("too many records for receiver %s are kept, further ones are left out", e.URL)
}

// String is a line for a log.
func (e PushLeftOut) String() string {
	return fmt.Sprintf("%d records for receiver %s were left out", e.Records, e.URL)
}
