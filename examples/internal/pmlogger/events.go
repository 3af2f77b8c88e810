package pmlogger

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/pcp-go/pcp/archive/logger"
	"github.com/pcp-go/pcp/examples/internal/hint"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pdu"
)

// stdin is the name of a configuration on standard input.
const stdin = "<stdin>"

// events writes the events of a logger to its log.
type events struct {
	w      io.Writer
	report bool                // of the sizes of records: -r
	ending func(reason string) // is told why the logger ends
	daily  bool                // there is another logger after some ends
	// skipped gets the metrics that a lookup has not found.
	skipped func(e logger.MetricSkipped)
}

// print is logger.Options.Report. It escapes names because a collector may return any.
func (p *events) print(e logger.Event) {
	var b strings.Builder
	p.describe(&b, e)
	io.WriteString(p.w, terminal.Escape(b.String()))
	if s, ok := e.(logger.MetricSkipped); ok && s.Instance == "" && p.skipped != nil {
		p.skipped(s)
	}
}

// describe writes the lines of an event.
func (p *events) describe(w io.Writer, e logger.Event) {
	switch e := e.(type) {
	case logger.MetricSkipped:
		if e.Instance != "" {
			warn(w, e.File, e.Line, fmt.Sprintf("Instance \"%s\" is not defined for the metric \"%s\"", e.Instance, e.Metric))
			return
		}
		warn(w, e.File, e.Line, skippedText(e))
		fmt.Fprintf(w, "Reason: %v\n", pdu.FromError(e.Err))
	case logger.Conflict:
		conflict(w, e)
	case logger.Recorded:
		if p.report {
			io.WriteString(w, recordedText(e))
		}
	case logger.NewVolume:
		fmt.Fprintf(w, "New log volume %d, via %v at %s\n", e.Volume, e.Reason, ctime(e.Time))
	case logger.Lost:
		if why := hint.TLS(e.Err); why != "" {
			fmt.Fprintf(w, "%s: Warning: cannot connect to PMCD on \"%s\": %s\n", programName, e.Host, why)
			return
		}
		fmt.Fprintf(w, "%s: Lost connection to PMCD on \"%s\" at %s\n", programName, e.Host, ctime(e.Time))
	case logger.Restored:
		fmt.Fprintf(w, "%s: re-established connection to PMCD on \"%s\" at %s\n", programName, e.Host, ctime(e.Time))
	case logger.Validating:
		fmt.Fprintf(w, "%s: Validating metrics after PMCD state changed at %s\n", programName, ctime(e.Time))
	case logger.MetricChanged:
		has := "has"
		if e.What == "Semantics" {
			has = "have"
		}
		fmt.Fprintf(w, "%v of metric \"%s\" %s changed from %s to %s\n", e.What, e.Metric, has, e.From, e.To)
	case logger.MetricGone:
		fmt.Fprintf(w, "Description unavailable for metric \"%s\": %v\n", e.Metric, pdu.FromError(e.Err))
	case logger.Ended:
		switch {
		case e.Reason == logger.EndContext: // by this program, which knows why
		case p.daily && e.Reason >= logger.EndHostname:
			fmt.Fprintf(w, "%v. Another archive\n", e.Reason)
		case e.Reason == logger.EndChanged:
			fmt.Fprintf(w, "%v. Exiting\n", e.Reason)
		default:
			p.ending(e.Reason.String())
		}
	default:
		fault(w, e)
	}
}

// fault writes a warning about an event that C's pmlogger does not log. It ignores failures caused
// by the end of this program.
func fault(w io.Writer, e logger.Event) {
	if u, ok := e.(interface{ Unwrap() error }); ok {
		if _, ended := errors.AsType[endReason](u.Unwrap()); ended {
			return
		}
	}
	fmt.Fprintf(w, "%s: Warning: %v\n", programName, e)
}

// warn writes a warning about a line of the configuration.
func warn(w io.Writer, file string, line int, text string) {
	fmt.Fprintf(w, "Warning [%s, line %d]\n%s\n", file, line, text)
}

func skippedText(e logger.MetricSkipped) string {
	if e.Step == "desc" {
		return fmt.Sprintf("Description unavailable for metric \"%s\" ... not logged", e.Metric)
	}
	return fmt.Sprintf("Problem with lookup for metric \"%s\" ... logging not activated", e.Metric)
}

func conflict(w io.Writer, e logger.Conflict) {
	text := fmt.Sprintf("Incompatible request for metric \"%s\"", e.Metric)
	if e.Instance == "" {
		warn(w, e.File, e.Line, text)
		return
	}
	warn(w, e.File, e.Line, fmt.Sprintf("%s and instance \"%s\"", text, e.Instance))
	fmt.Fprintf(w, "Request for %s conflicts with current %s state\n", settingText(e.Requested), settingText(e.Before))
}

func settingText(s logger.Setting) string {
	return fmt.Sprintf("(%v) %s", s.Control, strings.ToUpper(s.State.String()))
}

// recordedText returns the line that -r prints about a task.
func recordedText(e logger.Recorded) string {
	metrics := slices.Clone(e.Task.Metrics)
	slices.SortStableFunc(metrics, func(a, b logger.TaskMetric) int { return cmp.Compare(b.PMID, a.PMID) })
	var b strings.Builder
	if len(metrics) == 1 {
		fmt.Fprintf(&b, "\nMetric %s logged ", metrics[0].Name)
	} else {
		derived := 0
		for _, m := range metrics {
			if m.PMID.Domain() == derivedDomain {
				derived++
			}
		}
		fmt.Fprintf(&b, "\nGroup [%d metrics", len(metrics))
		if derived > 0 {
			fmt.Fprintf(&b, ", %d derived", derived)
		}
		b.WriteString("] {\n")
		for _, m := range metrics {
			fmt.Fprintf(&b, "\t%s\n", m.Name)
		}
		b.WriteString("} logged ")
	}
	interval := e.Task.Interval
	if interval == 0 {
		fmt.Fprintf(&b, "once: %d bytes\n", e.Bytes)
		return b.String()
	}
	every := fmt.Sprintf("%d", interval/time.Second)
	if interval%time.Second != 0 {
		every = fmt.Sprintf("%.3f", interval.Seconds())
	}
	const megabyte, day = 1 << 20, 86400
	fmt.Fprintf(&b, "every %s sec: %d bytes or %.2f Mbytes/day\n", every, e.Bytes, float64(e.Bytes)*day/interval.Seconds()/megabyte)
	return b.String()
}

// derivedDomain is the domain of derived metrics.
const derivedDomain = 511

func ctime(t time.Time) string { return t.Local().Format(time.ANSIC) }
