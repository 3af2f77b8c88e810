package pmstat

import (
	"errors"
	"flag"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/logimport"
	"github.com/pcp-go/pcp/examples/internal/scripted"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

var update = flag.Bool("update", false, "record what the real pmstat prints")

var loadDom = pdu.MakeInDom(60, 2)

type (
	writer = *pdu.ResultWriter
	values = func(n int, w writer)
)

// newCollector makes the collector of a host, whose clock advances by two seconds with each fetch.
func newCollector() scripted.Collector {
	counter := func(m int, u pdu.Units, from, step uint64) scripted.Metric {
		return newMetric(m, pdu.Desc{Type: pdu.TypeU64, Sem: pdu.SemCounter, Units: u, InDom: pdu.NoInDom}, count(from, step))
	}
	amount := func(m int, kbyte uint64) scripted.Metric {
		return newMetric(m, pdu.Desc{Type: pdu.TypeU64, Sem: pdu.SemInstant, Units: pdu.SpaceKByte, InDom: pdu.NoInDom}, count(kbyte, 0))
	}
	return scripted.Collector{
		Clock: func(n int) time.Time { return time.Unix(1_700_000_000+2*int64(n), 0) },
		InDoms: map[pdu.InDom]func(int) []pdu.Instance{
			loadDom: func(int) []pdu.Instance {
				return []pdu.Instance{{ID: 5, Name: "5 minute"}, {ID: 1, Name: "1 minute"}}
			},
		},
		Metrics: []scripted.Metric{
			load: newMetric(load, pdu.Desc{Type: pdu.TypeFloat, Sem: pdu.SemInstant, InDom: loadDom}, func(_ int, w writer) {
				w.Float32(5, 9)
				w.Float32(1, 1.25)
			}),
			swapUsed:   amount(swapUsed, 0),
			memFree:    amount(memFree, 123_456),
			memBuffers: amount(memBuffers, 1_000_000),
			memCached:  amount(memCached, 99_999<<10+1023),
			pagesIn:    counter(pagesIn, pdu.UnitCount, 7, 3),
			pagesOut:   counter(pagesOut, pdu.UnitCount, 7, 4),
			blocksIn:   counter(blocksIn, pdu.UnitCount, 7, 19_999),
			blocksOut:  counter(blocksOut, pdu.UnitCount, 7, 20_000),
			interrupts: counter(interrupts, pdu.UnitCount, 7, 1_999_999),
			switches:   counter(switches, pdu.UnitCount, 7, 2_000_000),
			cpuNice:    counter(cpuNice, pdu.TimeMSec, 100, 20),
			cpuUser:    counter(cpuUser, pdu.TimeMSec, 200, 500),
			cpuIntr:    counter(cpuIntr, pdu.TimeMSec, 300, 30),
			cpuSys:     counter(cpuSys, pdu.TimeMSec, 400, 250),
			cpuIdle:    counter(cpuIdle, pdu.TimeMSec, 500, 1000),
			cpuWait:    counter(cpuWait, pdu.TimeMSec, 600, 150),
			cpuSteal:   counter(cpuSteal, pdu.TimeMSec, 700, 50),
		},
	}
}

func newMetric(m int, d pdu.Desc, v values) scripted.Metric {
	d.PMID = pdu.MakePMID(60, 0, m)
	return scripted.Metric{Name: metricNames[m].name, Desc: d, Values: v}
}

// count counts in steps from one fetch to the next.
func count(from, step uint64) values {
	return func(n int, w writer) { w.Uint64(pdu.NoInst, from+uint64(n)*step) }
}

func listed(list ...uint64) values {
	return func(n int, w writer) { w.Uint64(pdu.NoInst, list[min(n, len(list)-1)]) }
}

type change = func(c *scripted.Collector)

func suite() *scripted.Suite {
	const noRate = "there is no rate if no time has passed; PCP's pmstat has one as if a nanosecond had passed"
	s := &scripted.Suite{Tool: "pmstat", Golden: "testdata/scripted", Adapt: dropGuest, Differs: map[string]string{
		"clock stands": noRate, "clock goes back": noRate,
		"archive -t 1hour -s 2": "PCP before 7 repeats that there is no data",
	}}
	addLive(s)
	addOptions(s)
	addArchive(s)
	return s
}

var guestColumn = regexp.MustCompile(`(?m)^(1 .*(?: {1,3}[\d?]+){5}) {1,3}[\d?]+\|$`)

// dropGuest removes the column of guests, which pmstat -x has since PCP 7.
func dropGuest(printed string) string {
	const titles, guest = "  us  sy  id  wa  st", "  gu"
	if !strings.Contains(printed, titles+guest) {
		return printed
	}
	printed = strings.ReplaceAll(printed, titles+guest, titles)
	printed = strings.ReplaceAll(printed, strings.Repeat(" ", 21)+"cpu|", strings.Repeat(" ", 17)+"cpu|")
	return guestColumn.ReplaceAllString(printed, "$1|")
}

// TestGuests: the last column of -x is the time of guests, which counts in the percentages.
func TestGuests(t *testing.T) {
	c := newCollector()
	for _, m := range []int{cpuGuest, cpuGuestNice} {
		d := pdu.Desc{Type: pdu.TypeU64, Sem: pdu.SemCounter, Units: pdu.TimeMSec, InDom: pdu.NoInDom}
		c.Metrics = append(c.Metrics, newMetric(m, d, count(100, 250)))
	}
	ours := pcptest.Build(t, "./examples/pmstat")
	for args, want := range map[string]string{
		"-x": "  us  sy  id  wa  st  gu\n",
		"":   "  us  sy  id\n",
	} {
		stdout, stderr, status := pcptest.Run(t, nil, "", append([]string{ours, "-h", c.Serve(t), "-t", "10msec", "-s", "1"}, strings.Fields(args)...)...)
		row := "  26  17  58\n" // of 2000
		if args == "-x" {
			row = "  21  11  40   6   2  20\n" // of 2500
		}
		if status != 0 || !strings.Contains(stdout, want) || !strings.HasSuffix(stdout, row) {
			t.Errorf("%q: exit status %d\n%s%s", args, status, stdout, stderr)
		}
	}
}

// TestOneRecord: an archive that ends before the first row is no endless loop.
func TestOneRecord(t *testing.T) {
	base := filepath.Join(t.TempDir(), "one")
	im, err := logimport.New(base, archive.WriterOptions{Label: archive.Label{Host: "web1", TimeZone: "UTC"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := im.AddMetric("mem.util.free", pdu.Desc{Type: pdu.TypeU64, Sem: pdu.SemInstant, Units: pdu.SpaceKByte, InDom: pdu.NoInDom}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(im.Put("mem.util.free", "", pdu.Uint64(1000)), im.Write(time.Unix(1_700_000_000, 0)), im.Close()); err != nil {
		t.Fatal(err)
	}
	end := " No data in the archive\n pmFetchGroup: " + pdu.ErrEOL.Error() + "\n"
	for _, args := range []string{"-s 100", "-t 1", "-S 1000 -s 3"} {
		stdout, stderr, status := pcptest.Run(t, nil, "", append([]string{pcptest.Build(t, "./examples/pmstat"), "-z", "-a", base}, strings.Fields(args)...)...)
		if status != 0 || strings.Count(stdout, "\n") != 7 || !strings.HasSuffix(stdout, end) {
			t.Errorf("%s: exit status %d\n%s%s", args, status, stdout, stderr)
		}
	}
}

// addLive adds cases with collectors of all kinds.
func addLive(s *scripted.Suite) {
	add := func(title string, change change) {
		c := newCollector()
		change(&c)
		s.Cases = append(s.Cases, scripted.Case{Title: title, Collector: c, Args: []string{"-t", "10msec", "-s", "4", "-x"}})
	}
	wrap := func() { // the case before once more
		c := s.Cases[len(s.Cases)-1]
		c.Title, c.Env = c.Title+", wrapping", []string{"PCP_COUNTER_WRAP=1"}
		s.Cases = append(s.Cases, c)
	}
	set := func(title string, m int, v values) {
		add(title, func(c *scripted.Collector) { c.Metrics[m].Values = v })
	}
	kind := func(title string, m int, d pdu.Desc, v values) {
		add(title, func(c *scripted.Collector) { c.Metrics[m] = newMetric(m, d, v) })
	}
	add("as it is", func(*scripted.Collector) {})
	for m, metric := range newCollector().Metrics {
		add("without "+metric.Name, func(c *scripted.Collector) { c.Metrics = slices.Delete(c.Metrics, m, m+1) })
		set("at times without "+metric.Name, m, func(n int, w writer) {
			if n != 2 {
				metric.Values(n, w)
			}
		})
		if other := metricNames[m].fallback; other != "" {
			add("with "+other, func(c *scripted.Collector) { c.Metrics[m].Name = other })
		}
	}
	set("an error", pagesIn, func(_ int, w writer) { w.Fail(pdu.ErrAgain) })
	add("load alone", func(c *scripted.Collector) { c.Metrics = c.Metrics[:1] })
	add("no 1 minute", func(c *scripted.Collector) {
		c.InDoms[loadDom] = func(int) []pdu.Instance { return []pdu.Instance{{ID: 1, Name: "5 minute"}} }
	})
	set("a great load", load, func(_ int, w writer) { w.Float32(1, 123456.789) })
	set("memory", memFree, listed(0, 999_999, 1_000_000, 100_000<<10-1, 100_000<<10))
	set("much memory", memFree, listed(0, 1<<32-1, 1<<32, 1<<63))
	set("rates", blocksIn, listed(0, 1, 2_000_000_001, 1<<33+2_000_000_002, 1<<34+2_000_000_001))
	set("a counter back", switches, listed(50, 40, 30, 60, 80))
	wrap()
	set("processors back", cpuUser, listed(5000, 4000, 3000, 6000, 8000))
	wrap()
	set("processors idle", cpuUser, listed(0, 0, 0))
	desc := func(t pdu.Type, s pdu.Sem, u pdu.Units) pdu.Desc {
		return pdu.Desc{Type: t, Sem: s, Units: u, InDom: pdu.NoInDom}
	}
	kind("memory in bytes", memFree, desc(pdu.TypeU64, pdu.SemInstant, pdu.SpaceByte), listed(0, 1023, 1024, 5<<40))
	kind("memory in seconds", memFree, desc(pdu.TypeU64, pdu.SemInstant, pdu.TimeSec), count(1, 0))
	kind("memory less than 0", memFree, desc(pdu.Type32, pdu.SemInstant, pdu.SpaceKByte), func(n int, w writer) { w.Int32(pdu.NoInst, int32(n-2)) })
	kind("memory that counts", memFree, desc(pdu.TypeU64, pdu.SemCounter, pdu.SpaceKByte), count(5, 1))
	kind("an instant rate", blocksIn, desc(pdu.TypeU64, pdu.SemInstant, pdu.UnitCount), listed(5, 6, 1<<33, 7))
	kind("a real rate", blocksIn, desc(pdu.TypeDouble, pdu.SemCounter, pdu.UnitCount), func(n int, w writer) { w.Float64(pdu.NoInst, float64(n)*2.9) })
	kind("32 bits", blocksIn, desc(pdu.TypeU32, pdu.SemCounter, pdu.UnitCount), func(n int, w writer) { w.Uint32(pdu.NoInst, uint32(n)*0x60000001) })
	wrap()
	kind("signed", blocksIn, desc(pdu.Type32, pdu.SemCounter, pdu.UnitCount), func(n int, w writer) { w.Int32(pdu.NoInst, int32(n*3-5)) })
	kind("with instances", blocksIn, pdu.Desc{Type: pdu.TypeU64, Sem: pdu.SemCounter, InDom: loadDom}, func(n int, w writer) { w.Uint64(1, uint64(n)) })
	kind("load without instances", load, desc(pdu.TypeFloat, pdu.SemInstant, 0), func(n int, w writer) { w.Float32(pdu.NoInst, 1) })
	kind("load in whole numbers", load, pdu.Desc{Type: pdu.TypeU32, Sem: pdu.SemInstant, InDom: loadDom}, func(n int, w writer) { w.Uint32(1, uint32(n)) })
	for at, code := range map[int]pdu.Error{1: pdu.ErrPermission, 2: pdu.ErrPMID, 3: pdu.ErrAgain} {
		add("a failing fetch: "+code.Error(), func(c *scripted.Collector) {
			c.Fail = func(n int) pdu.Error {
				if n == at {
					return code
				}
				return 0
			}
		})
	}
	add("connections lost", loseConnections)
	add("clock stands", func(c *scripted.Collector) { c.Clock = func(int) time.Time { return time.Unix(1_700_000_000, 0) } })
	add("clock goes back", func(c *scripted.Collector) {
		c.Clock = func(n int) time.Time { return time.Unix(1_700_000_000-int64(n), 0) }
	})
	add("clock between seconds", func(c *scripted.Collector) {
		c.Clock = func(n int) time.Time { return time.Unix(1_700_000_000+int64(n), 500_000_000) }
	})
}

// loseConnections makes a collector end each connection at its third fetch. What counts goes on.
func loseConnections(c *scripted.Collector) {
	fetches := new(atomic.Int64)
	c.Clock = func(int) time.Time { return time.Unix(1_700_000_000+2*fetches.Add(1), 0) }
	for m := blocksIn; m <= cpuSteal; m++ {
		c.Metrics[m].Values = func(_ int, w writer) { w.Uint64(pdu.NoInst, 1000*uint64(fetches.Load())) }
	}
	c.Fail = func(n int) pdu.Error {
		if n == 2 {
			return pdu.ErrIPC
		}
		return 0
	}
}

// addOptions adds cases with one collector and options.
func addOptions(s *scripted.Suite) {
	for _, args := range []string{"", "-l", "-x", "-s 24", "-Z EST5EDT", "-Z UTC -z", "-T 45msec -s 2", "-T 45msec", "-s 0 -T 21msec", "-T foo", "-P", "--pause x", "x",
		"-S 1", "-A 1", "-O 1", "-g -p 1", "-X", "-s x", "-s -1", "-t x", "-t", "-n /nosuch", "-D foo", "-a x", "-H /nosuch", "-?", "-V", "--sam=2",
		"--z -Z x", "--suf --xcpu", "--host-list=x"} {
		words := append([]string{"-t", "10msec", "-s", "1"}, strings.Fields(args)...)
		s.Cases = append(s.Cases, scripted.Case{Title: "options " + args, Collector: newCollector(), Args: words})
	}
}

// addArchive adds cases with the recorded archive. It begins at 05:12:04 and has a gap in the
// middle.
func addArchive(s *scripted.Suite) {
	for _, args := range []string{"-t 1", "-t 1 -x", "-t 0.5 -l", "-t 1 -s 3 -z", "-t 1 -s 3 -Z EST5EDT", "-t 2.5 -s 3", "-s 1", "-s 2 -S 3 -t 1", "-S 2 -T 8 -t 1",
		"-A 2sec -t 2 -s 2", "-O -3 -t 1", "-O -3 -t 1 -s 2", "-T 3 -t 0.3", "-T -1 -t 2", "-t 1 -s 2 -P", "-t 1hour -s 2", "-t 1 -S foo", "-t 1 -A foo",
		"-a testdata/archive/host -t 1 -s 2", "-a ./testdata/archive/host -t 1 -s 2", "-a ./testdata/archive/host -t 1 -x -l", "-a testdata/nosuch -t 1", "x", "-h localhost:1"} {
		s.Cases = append(s.Cases, scripted.Case{Title: "archive " + args, Archive: "testdata/archive/host", Args: strings.Fields(args)})
	}
}

func TestScripted(t *testing.T) { suite().Test(t) }

func TestInteropScripted(t *testing.T) { suite().TestInterop(t, *update) }
