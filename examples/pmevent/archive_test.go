package main

import (
	"flag"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/examples/internal/scripted"
	"github.com/pcp-go/pcp/examples/internal/toolcmp"
)

var (
	update = flag.Bool("update", false, "record what the real pmevent prints")
	all    = flag.Bool("all", false, "compare what is printed of all archives of PCP's test suite, and not only of short ones")
)

// suite has the recorded archive, of 05:26:31 to 05:26:33.
func suite() *scripted.Suite {
	s := &scripted.Suite{Tool: "pmevent", Golden: "testdata/scripted"}
	for _, args := range []string{"sample.event.records", "sample.event.no_indom_records", "sample.event.highres_records", "sample.event.records[fungus]",
		"sample.event.records[nosuch]", "-i bogus sample.event.records", "-i nosuch sample.event.records", "-s 2 -z sample.event.records",
		"-s 1 -Z EST5EDT sample.event.highres_records", "-s 2 -X sample.event.no_indom_records", "-s 2 -XX sample.event.highres_records", "-S 0.3 -T 0.7 -t 0.1 sample.event.records",
		"-O -0.5 sample.event.no_indom_records", "-A 1 sample.event.no_indom_records", "-S 5 sample.event.records", "-T 0 -s 3 sample.event.records", "-v -w 3 -r -s 1 sample.event.records",
		"-d -t 10msec -s 2 sample.event.no_indom_records", "-x start -s 1 sample.event.records", "-f 99 sample.event.records", "-s 0 sample.event.records",
		"-U testdata/archive/events -s 2 sample.event.no_indom_records", "sample.event", "nosuch", "x y", "-S foo sample.event.records", "-?", "-V", "-f x y"} {
		s.Cases = append(s.Cases, scripted.Case{Archive: "testdata/archive/events", Args: strings.Fields(args)})
	}
	s.Cases = append(s.Cases, scripted.Case{Title: "no metric", Archive: "testdata/archive/events"})
	return s
}

func TestScripted(t *testing.T) { suite().Test(t) }

func TestInteropScripted(t *testing.T) { suite().TestInterop(t, *update) }

// TestArchives compares what PCP's pmevent and ours print of archives. Few have such metrics.
func TestArchives(t *testing.T) {
	options := []string{"sample.event.records -a", "sampledso.event.records -X -s 3 -a"}
	if *all {
		options = append(options, "sample.event.highres_records -a", "sampledso.event.highres_records -XX -S 1 -T +3 -a", "sample.event.no_indom_records -z -a", "sample.event.records[bogus] -U")
	}
	toolcmp.Archives(t, "pmevent", options, *all, map[string]string{
		"* badarchives/archive-20150417.131733": "PCP finds damaged records at other requests",
	})
}
