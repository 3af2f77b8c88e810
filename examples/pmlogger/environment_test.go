package main

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// environmentLines are command lines whose meaning depends on an environment variable. E is a time
// that has passed in UTC, the zone of the collector, but is to come five hours west of it.
var environmentLines = []struct {
	values []string // of the variable
	lines  []string
}{
	{[]string{"PMLOGGER_INTERVAL=", "PMLOGGER_INTERVAL=1", "PMLOGGER_INTERVAL=0", "PMLOGGER_INTERVAL=-1", "PMLOGGER_INTERVAL=0.3", "PMLOGGER_INTERVAL=500msec", "PMLOGGER_INTERVAL=_1x",
		"PMLOGGER_INTERVAL=abc", "PMLOGGER_INTERVAL=-300", "PMLOGGER_INTERVAL=268435", "PMLOGGER_INTERVAL=268436", "PMLOGGER_INTERVAL=2147483648", "PMLOGGER_INTERVAL=9999999999999999999999"},
		[]string{"-C -h H <log_on\ndefault\nsample.long.one", "-h H -r -T 0.3sec X <log_on_default_sample.long.one", "-h H -r -t 2sec -T 0.3sec X <log_on_default_sample.long.one",
			"-C -h H <log_on_default_{_sample.long_}\nlog_on_default_nosuch"}},
	{[]string{"A=none"}, []string{"-h H -r -t 0 -T 0.3sec X <log_on_default_sample.long.one", "-h H -r -t 0.9msec -T 0.3sec X <log_on_default_sample.long.one",
		"-C -h H -t 1000hours <log_on_default_sample.long.one"}},
	{[]string{"TZ=EST5", "TZ=America/New_York", "TZ=UTC", "TZ="}, []string{"-c good -h H -T @E -s 4 X%H", "-y -c good -h H -T @E -s 4 X%H"}},
}

// TestInteropEnvironment compares what C's program and ours do with environment variables.
func TestInteropEnvironment(t *testing.T) {
	l := newLab(t)
	type run struct{ value, line string }
	var runs []run
	for _, e := range environmentLines {
		for _, value := range e.values {
			for _, line := range e.lines {
				runs = append(runs, run{value, line})
			}
		}
	}
	if !*all {
		runs = sample(runs, 8)
	}
	passed := time.Now().UTC().Add(-2 * time.Hour).Format("2006-01-02_15:04")
	for _, r := range runs {
		t.Run(r.value+" pmlogger "+r.line, func(t *testing.T) {
			t.Parallel()
			own := *l
			own.env = append(slices.Clone(l.env), strings.ReplaceAll(r.value, "_", " "))
			own.compareLine(t, strings.ReplaceAll(r.line, "@E", "@"+passed))
		})
	}
}
