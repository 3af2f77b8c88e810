package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// traceMasks hide differences between two event traces of the same dialogue: descriptors and times;
// the address of C pmcd's buffer for a received PDU, where ours describes the PDU; the client that
// C pmcd finds in an event's slot when it dumps the trace, where ours has the client of the event;
// a client's number at its end, since C pmcd may see the next client before that; and the end of
// clients, which C pmcd reports to all agents and ours to those that know them.
var traceMasks = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`fd=\d+`), "fd=N"},
	{regexp.MustCompile(`starting at .*`), "starting at TIME"},
	{regexp.MustCompile(`(?m)^->(?: {9}|\d\d:\d\d:\d\d )`), "->TIME "},
	{regexp.MustCompile(`(?m)^->TIME Recv: CREDS PDU, fd=N, pdubuf=0x...1\n`), ""},
	{regexp.MustCompile(`(?m)^(->TIME Recv: \w+ PDU, fd=N).*`), "$1"},
	{regexp.MustCompile(`(?m)^(->TIME New client: \[)\d+\].*`), "${1}N]"},
	{regexp.MustCompile(`(?m)^(->TIME End client: \[)\d+\]`), "${1}N]"},
	{regexp.MustCompile(`(?m)^->TIME Xmit: ERROR PDU, fd=N, err=-12391: .*\n`), ""},
}

// descriptors returns how many files and connections a collector has open.
func descriptors(p *pcptest.PMCD) int {
	list, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.PID()))
	return len(list)
}

// TestInteropEventTrace compares what C pmcd and ours log of the event trace: when it is stored
// into metrics, when an agent ends, and at the end.
func TestInteropEventTrace(t *testing.T) {
	pcptest.Need(t, "pmcd", "pminfo", "pmstore")
	if os.Getuid() != 0 {
		t.Skip("only root may store into the metrics of a collector")
	}
	dialogue := func(program string) string {
		p := pcptest.StartPMCD(t, pcptest.Config{Program: program, Shipped: []string{"pmcd", "sample"}, Args: []string{"-T", "3"}})
		for _, line := range strings.Split(`pmstore pmcd.control.tracebufs 500
			pminfo -dfmtT sample.colour sample.long.one
			pminfo sample
			pminfo -f sample.nosuch
			pminfo -d sample.bad.unknown
			pminfo -f sample.bad.nosupport
			pminfo -d sample.secret.nosuch
			pmstore sample.long.one 3
			pmstore sample.long.write_me 3
			pminfo -l sample.colour
			pminfo -f pmcd.version
			pmstore pmcd.control.dumptrace 1
			pmstore pmcd.control.tracebufs 4
			pminfo -f pmcd.version
			pmstore pmcd.control.dumptrace 1
			pmstore pmcd.control.tracepdu 0
			pminfo -f sample.colour
			pmstore pmcd.control.dumptrace 1
			pmstore pmcd.control.tracepdu 1
			pmstore pmcd.control.traceconn 0
			pminfo -d sample.bad.unknown
			pmstore pmcd.control.dumptrace 1
			pmstore pmcd.control.tracepdu 0
			pmstore pmcd.control.dumptrace 1
			pmstore pmcd.control.dumptrace 1
			pmstore pmcd.control.tracepdu 1
			pmstore pmcd.control.tracenobuf 1
			pminfo -d sample.bad.unknown
			pmstore pmcd.control.dumptrace 1
			pmstore pmcd.control.tracenobuf 0
			pmstore pmcd.control.traceconn 1`, "\n") {
			command := strings.Fields(line)
			open := descriptors(p)
			pcptest.Run(t, nil, "", append([]string{command[0], "-h", "unix://" + p.Socket()}, command[1:]...)...)
			for range 2000 { // the next client might come before the collector has seen the end of this one
				if descriptors(p) <= open {
					break
				}
				time.Sleep(5 * time.Millisecond)
			}
		}
		p.Stop()
		_, log, _ := strings.Cut(p.Log(), "=======\n") // the table of ports is the last at the start
		for _, m := range traceMasks {
			log = m.pattern.ReplaceAllString(log, m.with)
		}
		var trace []string
		for line := range strings.Lines(log) {
			if strings.HasPrefix(line, "->") || line == "<empty>\n" || line == "\n" {
				trace = append(trace, line)
			}
		}
		return strings.Join(trace, "")
	}
	want, got := dialogue(""), dialogue(pcptest.Build(t, "./examples/pmcd"))
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" || strings.Count(want, "event trace: ") < 6 {
		t.Errorf("%d lines (-C +Go):\n%s", strings.Count(want, "\n"), diff)
	}
}
