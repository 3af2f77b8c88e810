package eventtrace

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A messages handler keeps what is logged.
type messages struct {
	slog.Handler
	text []string
}

func newLog() (*slog.Logger, *messages) {
	m := &messages{Handler: slog.DiscardHandler}
	return slog.New(m), m
}

func (m *messages) Enabled(context.Context, slog.Level) bool { return true }

func (m *messages) Handle(_ context.Context, r slog.Record) error {
	m.text = append(m.text, r.Message)
	return nil
}

// take returns what was logged since the last call.
func (m *messages) take() []string {
	text := m.text
	m.text = nil
	return text
}

// dumped is the lines of a dump, without its times.
func dumped(t *Trace) []string {
	log, m := newLog()
	t.Dump(log)
	return strings.Split(untimed(m.take()[0]), "\n")
}

var times = regexp.MustCompile(`\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}|\d\d:\d\d:\d\d `)

func untimed(s string) string {
	return times.ReplaceAllStringFunc(s, func(t string) string {
		if len(t) == 9 {
			return strings.Repeat(" ", 9)
		}
		return "TIME"
	})
}

func TestRing(t *testing.T) {
	var trace Trace
	log, _ := newLog()
	add := func(from, to int) {
		for i := from; i < to; i++ {
			trace.Add(log, Conns, fmt.Sprint("event ", i))
		}
	}
	check := func(what string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(append(want, ""), dumped(&trace)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	empty := []string{"", "->PMCD event trace: <empty>"}
	full := func(from, to int) []string {
		lines := []string{"", "->PMCD event trace: starting at TIME"}
		for i := from; i < to; i++ {
			lines = append(lines, fmt.Sprint("->         event ", i))
		}
		return lines
	}
	add(0, 3)
	check("switched off", empty...)
	trace.Set(Conns, true)
	add(0, 3)
	check("three events", full(0, 3)...)
	check("dumped already", empty...)
	add(0, 20)
	check("exactly full", full(0, 20)...)
	add(0, 53)
	check("more than there is room", full(33, 53)...)
	add(0, 3)
	trace.Resize(4)
	check("a new size empties", empty...)
	add(0, 7)
	check("smaller", full(3, 7)...)
	trace.Resize(0)
	add(0, 7)
	check("no room", empty...)
	trace.Resize(5)
	add(0, 2)
	trace.Set(Conns, false)
	add(2, 4)
	check("switched off again", full(0, 2)...)
	trace.Add(log, PDUs, "another kind")
	check("another kind", empty...)
}

func TestTimes(t *testing.T) {
	var trace Trace
	log, m := newLog()
	start := time.Date(2026, 11, 21, 8, 0, 0, 0, time.Local)
	for i, after := range []time.Duration{0, 10 * time.Millisecond, time.Second, time.Second, time.Hour} {
		trace.keep(event{start.Add(after), fmt.Sprint("event ", i)})
	}
	trace.Dump(log)
	want := `
->PMCD event trace: starting at Sat Nov 21 08:00:00 2026
->         event 0
->         event 1
->08:00:01 event 2
->         event 3
->09:00:00 event 4
`
	if diff := cmp.Diff([]string{want}, m.take()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Without buffers, events are in the log at once.
func TestUnbuffered(t *testing.T) {
	var trace Trace
	log, m := newLog()
	logged := func() []string {
		trace.Add(log, Conns, "connection")
		trace.Add(log, PDUs, "PDU")
		text := m.take()
		for i := range text {
			text[i] = untimed(text[i])
		}
		return text
	}
	var none []string
	if diff := cmp.Diff(none, logged()); diff != "" {
		t.Errorf("no switch is on: %s", diff)
	}
	trace.Set(Unbuffered, true)
	if diff := cmp.Diff(none, logged()); diff != "" {
		t.Errorf("nothing is traced: %s", diff)
	}
	trace.Set(Conns, true)
	if diff := cmp.Diff([]string{"->         connection"}, logged()); diff != "" {
		t.Errorf("connections: %s", diff)
	}
	trace.Set(Unbuffered, false)
	trace.Set(Debug, true)
	if diff := cmp.Diff([]string{"->         PDU"}, logged()); diff != "" {
		t.Errorf("debug: %s", diff)
	}
	trace.Set(Debug, false)
	if diff := cmp.Diff(none, logged()); diff != "" {
		t.Errorf("debug is off: %s", diff)
	}
}
