package pmlcshell

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pcp-go/pcp/archive/logger"
	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/logconf"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// A request is a query or a change.
type request struct {
	enquire bool
	control logger.Control
	state   logger.State
	delta   int32 // milliseconds, as they come out of the arithmetic of C
}

// maxDelta is the maximum interval in milliseconds.
const maxDelta = int32(logconf.MaxInterval / time.Millisecond)

// request requests metrics and prints the reply.
func (s *Shell) request(ctx context.Context, r request, metrics []*metric) {
	switch {
	case r.delta < 0:
		s.warnf("Logging delta (%d msec) must be positive\n", r.delta)
		return
	case r.delta > maxDelta:
		s.warnf("Logging delta (%d msec) cannot be bigger than %d msec\n", r.delta, maxDelta)
		return
	}
	targets := make([]logger.Target, len(metrics))
	for i, m := range metrics {
		targets[i] = logger.Target{PMID: m.desc.PMID, Insts: m.insts}
		if m.singular() {
			targets[i].Insts = []pdu.InstID{pdu.NoInst}
		}
	}
	var states []logger.MetricState
	var err error
	if r.enquire {
		states, err = s.client.Enquire(ctx, targets)
	} else {
		states, err = s.client.Control(ctx, r.control, r.state, time.Duration(r.delta)*time.Millisecond, targets)
	}
	if err != nil {
		s.failed("Error receiving response from pmlogger", err)
		return
	}
	if r.enquire {
		s.printStates(ctx, metrics, states)
	} else {
		s.printUnchanged(ctx, r, metrics, states)
	}
}

// stateOf returns the state of a metric in a reply. The metric has the index i in the list.
func (s *Shell) stateOf(m *metric, i int, states []logger.MetricState) (logger.MetricState, bool) {
	if i >= len(states) || states[i].PMID != m.desc.PMID {
		s.warnf("GAK! %s not found in returned result\n", m.name)
		return logger.MetricState{}, false
	}
	state := states[i]
	if m.singular() {
		state.Values = state.Values[:min(len(state.Values), 1)]
	}
	return state, true
}

// missing returns the instances that a request has named and the reply lacks.
func (m *metric) missing(state logger.MetricState) []pdu.InstID {
	return slices.DeleteFunc(slices.Clone(m.insts), func(i pdu.InstID) bool {
		return slices.ContainsFunc(state.Values, func(v logger.ValueState) bool { return v.Inst == i })
	})
}

// instanceText returns an instance as ID or "NAME".
func (m *metric) instanceText(inst pdu.InstID) string {
	name := "???"
	if i := slices.IndexFunc(m.names, func(i pdu.Instance) bool { return i.ID == inst }); i >= 0 {
		name = terminal.Escape(m.names[i].Name)
	}
	return fmt.Sprintf("[%d or \"%s\"]", inst, name)
}

// printStates prints the reply to a query.
func (s *Shell) printStates(ctx context.Context, metrics []*metric, states []logger.MetricState) {
	for i, m := range metrics {
		state, ok := s.stateOf(m, i, states)
		if !ok {
			continue
		}
		s.printf("%s\n", m.name)
		s.instances(ctx, m) // without, they have no names
		switch {
		case state.Err != nil:
			s.printf("    %v\n", state.Err)
		case len(state.Values) == 0:
			s.printf("    (no instances)\n")
		}
		for _, v := range state.Values {
			s.printState(m, v)
		}
		if state.Err == nil {
			for _, i := range m.missing(state) {
				s.printf("                  [%d] (not found)\n", i)
			}
		}
		s.printf("\n")
	}
}

// printState prints a line about an instance.
func (s *Shell) printState(m *metric, v logger.ValueState) {
	var b strings.Builder
	b.WriteString("    ")
	if v.Mandatory {
		b.WriteString("mand ")
	} else {
		b.WriteString("adv  ")
	}
	if v.On {
		b.WriteString("on  ")
	} else {
		b.WriteString("off ")
	}
	switch {
	case !v.InLog:
		b.WriteString("nl ")
	case !v.Available:
		b.WriteString("na ")
	default:
		b.WriteString("   ")
	}
	if v.On {
		b.WriteString(intervalText(v.Interval))
	} else {
		b.WriteString("            ")
	}
	if !m.singular() {
		b.WriteString(" " + m.instanceText(v.Inst))
	}
	s.printf("%s\n", b.String())
}

// intervalText returns an interval in 12 characters, or fewer with decimals.
func intervalText(d time.Duration) string {
	if d == 0 {
		return "        once"
	}
	v, unit := float64(d/time.Millisecond), "msec"
	for _, u := range []struct {
		factor float64
		name   string
	}{{1000, "sec "}, {60, "min "}, {60, "hour"}, {24, "hour"}} { // the last is a defect of pmlc(1): days are called hours
		if v < u.factor {
			break
		}
		v, unit = v/u.factor, u.name
	}
	digits := strings.TrimRight(strconv.FormatFloat(v, 'f', 3, 64), "0")
	decimals := len(digits) - strings.IndexByte(digits, '.') - 1
	return fmt.Sprintf("%*.*f %s", 7-decimals, decimals, v, unit)
}

// printUnchanged prints the parts of a change without an effect.
func (s *Shell) printUnchanged(ctx context.Context, r request, metrics []*metric, states []logger.MetricState) {
	told := false
	tell := func() {
		if !told {
			s.printf("Warning: unable to change logging state for:\n")
		}
		told = true
	}
	for i, m := range metrics {
		state, ok := s.stateOf(m, i, states)
		if !ok {
			continue
		}
		if state.Err != nil {
			tell()
			s.printf("%s:%v\n", m.name, state.Err)
			continue
		}
		wrong, missing := slices.DeleteFunc(slices.Clone(state.Values), r.done), m.missing(state)
		switch {
		case m.singular() && (len(wrong) > 0 || len(state.Values) == 0):
			tell()
			s.printf("%s\n\n", m.name)
		case len(wrong) > 0 || len(missing) > 0:
			tell()
			s.printf("%s instance(s):\n", m.name)
			s.instances(ctx, m)
			for _, v := range wrong {
				s.printf("    %s\n", m.instanceText(v.Inst))
			}
			for _, i := range missing {
				s.printf("    [%d or \"%d\"] instance not found\n", i, i)
			}
			s.printf("\n")
		}
	}
}

// done reports whether an instance is recorded as requested.
func (r request) done(v logger.ValueState) bool {
	if v.Interval != time.Duration(r.delta)*time.Millisecond {
		return false
	}
	if r.state == logger.Maybe {
		return !v.Mandatory
	}
	return v.Mandatory == (r.control == logger.Mandatory) && v.On == (r.state == logger.On)
}

// status prints the status of the logger.
func (s *Shell) status(ctx context.Context) {
	st, err := s.client.Status(ctx)
	if err != nil {
		s.failed("Error", err)
		return
	}
	primary := strconv.Itoa(s.client.PID())
	if s.id.kind == byPrimary {
		primary = "primary"
	}
	s.printf("pmlogger [%s] on host %s is logging metrics from host %s\n", primary, s.host, terminal.Escape(st.Host))
	s.printf("PMCD host        %s\n", terminal.Escape(st.Source))
	if !st.Active {
		s.printf("logging hasn't started yet\n")
		return
	}
	loc, name := s.zone.location(st.LoggerZone)
	s.printf("log started      %s (times in %s time)\n", stamp(st.Start, loc), name)
	s.printf("last log entry   %s\n", stamp(st.Last, loc))
	s.printf("current time     %s\n", stamp(st.Now, loc))
	s.printf("log volume       %d\n", st.Volume)
	s.printf("log size         %d\n", st.Size)
}

// A zone is the time zone of the output of status.
type zone struct {
	kind zoneKind
	name string
}

type zoneKind uint8

const (
	zoneLocal zoneKind = iota
	zoneLogger
	zoneNamed
)

// location returns a zone and its name.
func (z zone) location(logger string) (*time.Location, string) {
	switch z.kind {
	case zoneLogger:
		return pcptool.NewZone(logger), "pmlogger"
	case zoneNamed:
		return pcptool.NewZone(z.name), terminal.Escape(z.name)
	}
	return tool.LocalZone(), "local"
}

// stamp returns a time with nanoseconds.
func stamp(t time.Time, loc *time.Location) string {
	return t.In(loc).Format(pcptool.DateHighResStampLayout)
}
