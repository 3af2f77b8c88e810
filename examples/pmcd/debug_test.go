package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pmda/collector"
)

// TestDebugOption: the option takes names and numbers, and may be there more than once.
func TestDebugOption(t *testing.T) {
	const pdus = collector.TracePDUs | collector.TraceUnbuffered
	for _, tt := range []struct {
		args string
		want collector.Trace
	}{
		{"-D pdu", pdus},
		{"-D appl0 -D fetch,pdu", pdus},
		{"-D 1 -D 2048", pdus},
		{"-D PDU", pdus},
		{"-D appl0,access", 0},
		{"-D 2048", 0},
	} {
		o := new(options)
		if _, errs := o.set().Parse(strings.Fields(tt.args)); errs != nil {
			t.Errorf("%s: %v", tt.args, errs)
		}
		if o.debugTrace != tt.want || o.trace != 0 {
			t.Errorf("%s: trace %v and %v, want %v", tt.args, o.debugTrace, o.trace, tt.want)
		}
	}
}

// TestInteropDebugPDU has the collector log PDUs, from the start or after a store into
// pmcd.control.debug, and stops that by another.
func TestInteropDebugPDU(t *testing.T) {
	pcptest.Need(t, "pmcd", "pminfo", "pmstore")
	if os.Geteuid() != 0 {
		t.Skip("only root may store into it")
	}
	for _, test := range []struct{ args, before string }{{"-D pdu", ""}, {"-D appl0", "pmstore pmcd.control.debug 1"}} {
		p := pcptest.StartPMCD(t, pcptest.Config{Program: pcptest.Build(t, "./examples/pmcd"), Shipped: []string{"pmcd"}, Args: strings.Fields(test.args)})
		run := func(line string) {
			if words := strings.Fields(line); len(words) > 0 {
				pcptest.Run(t, nil, "", append([]string{words[0], "-h", "unix://" + p.Socket()}, words[1:]...)...)
			}
		}
		run(test.before)
		run("pminfo -d pmcd.version")
		run("pmstore pmcd.control.debug 0")
		if test.before == "" {
			run("pmstore pmcd.control.tracepdu 0")
		}
		run("pminfo -d pmcd.version")
		p.Stop()
		requests := regexp.MustCompile(`(?m)Recv: DESC_REQ PDU, fd=\d+, pmid=2\.0\.7$`).FindAllString(p.Log(), -1)
		if len(requests) != 1 { // the second was after the end
			t.Errorf("%s, %s: %d requests, want 1 in\n%s", test.args, test.before, len(requests), p.Log())
		}
	}
}
