package main

import (
	"flag"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/examples/internal/scripted"
	"github.com/pcp-go/pcp/pdu"
)

var update = flag.Bool("update", false, "record what the real pmclient prints")

var (
	loadDom = pdu.MakeInDom(60, 2)
	cpuDom  = pdu.MakeInDom(60, 0)
)

// The metrics of the collector, in its order.
const (
	ncpu = iota
	theLoad
	user
	sys
	mem
	disk
)

type (
	writer = *pdu.ResultWriter
	values = func(n int, w writer)
)

// newCollector makes the collector of a host with three processors, whose clock advances by two
// seconds with each fetch.
func newCollector() scripted.Collector {
	metric := func(name string, item int, t pdu.Type, s pdu.Sem, u pdu.Units, d pdu.InDom, v values) scripted.Metric {
		return scripted.Metric{Name: name, Desc: pdu.Desc{PMID: pdu.MakePMID(60, 0, item), Type: t, Sem: s, Units: u, InDom: d}, Values: v}
	}
	return scripted.Collector{
		Clock: func(n int) time.Time { return time.Unix(1_700_000_000+2*int64(n), 0) },
		InDoms: map[pdu.InDom]func(int) []pdu.Instance{
			loadDom: func(int) []pdu.Instance {
				return []pdu.Instance{{ID: 1, Name: "1 minute"}, {ID: 15, Name: "15 minute"}}
			},
			cpuDom: func(int) []pdu.Instance { return nil }, // pmclient does not request them
		},
		Metrics: []scripted.Metric{
			ncpu:    metric("hinv.ncpu", ncpu, pdu.TypeU32, pdu.SemDiscrete, 0, pdu.NoInDom, single(3)),
			theLoad: metric("kernel.all.load", theLoad, pdu.TypeFloat, pdu.SemInstant, 0, loadDom, loads(0.5, 2.5)),
			user:    metric("kernel.percpu.cpu.user", user, pdu.TypeU64, pdu.SemCounter, pdu.TimeMSec, cpuDom, cpus(100, 200, 50)),
			sys:     metric("kernel.percpu.cpu.sys", sys, pdu.TypeU64, pdu.SemCounter, pdu.TimeMSec, cpuDom, cpus(100, 40, 50)),
			mem:     metric("mem.freemem", mem, pdu.TypeU64, pdu.SemInstant, pdu.SpaceKByte, pdu.NoInDom, u64(5000)),
			disk:    metric("disk.all.total", disk, pdu.TypeU64, pdu.SemCounter, pdu.UnitCount, pdu.NoInDom, u64(0, 7, 14, 21, 28, 36)),
		},
	}
}

func single(v uint32) values { return func(_ int, w writer) { w.Uint32(pdu.NoInst, v) } }

func u64(list ...uint64) values {
	return func(n int, w writer) { w.Uint64(pdu.NoInst, list[min(n, len(list)-1)]) }
}

func loads(one, fifteen float32) values {
	return func(_ int, w writer) {
		w.Float32(1, one)
		w.Float32(15, fifteen)
	}
}

// cpus counts in steps from one fetch to the next.
func cpus(steps ...int64) values {
	return func(n int, w writer) {
		for i, s := range steps {
			w.Uint64(pdu.InstID(i), uint64(1_000_000+s*int64(n)))
		}
	}
}

func suite() *scripted.Suite {
	const noRate = "a counter that was reset has no rate, nor has one when no time has passed or the clock was set back"
	s := &scripted.Suite{Tool: "pmclient", Golden: "testdata/scripted", Differs: map[string]string{
		"one back": noRate, "all back": noRate, "idle": noRate, "clock stands": noRate, "clock goes back": noRate,
		"without all but one": "the real one writes the first of the messages to standard output",
	}}
	add := func(title string, change func(c *scripted.Collector), args ...string) {
		c := newCollector()
		change(&c)
		s.Cases = append(s.Cases, scripted.Case{Title: title, Collector: c, Args: append([]string{"-t", "10msec", "-s", "4"}, args...)})
	}
	set := func(title string, metric int, v values) {
		add(title, func(c *scripted.Collector) { c.Metrics[metric].Values = v })
	}
	add("as it is", func(*scripted.Collector) {})
	add("32 rows", func(*scripted.Collector) {}, "-s", "32")
	add("zone", func(*scripted.Collector) {}, "-Z", "EST5EDT")
	for i, m := range newCollector().Metrics {
		add("without "+m.Name, func(c *scripted.Collector) { c.Metrics = slices.Delete(c.Metrics, i, i+1) })
		if i == ncpu {
			continue
		}
		set("no values of "+m.Name, i, func(int, writer) {})
		set("errors of "+m.Name, i, func(_ int, w writer) { w.Fail(pdu.ErrAgain) })
		set("an error of "+m.Name, i, func(n int, w writer) {
			if m.Values(n, w); n == 3 {
				w.Fail(pdu.ErrAgain)
			}
		})
	}
	add("without all but one", func(c *scripted.Collector) { c.Metrics = c.Metrics[:1] })
	add("without two", func(c *scripted.Collector) { c.Metrics = slices.Delete(c.Metrics, 2, 4) })
	add("nothing", func(c *scripted.Collector) { c.Metrics = nil })
	set("one processor", ncpu, single(1))
	set("no processor", ncpu, single(0))
	set("two processors", ncpu, single(2))
	set("more processors than counted", user, cpus(0, 100, 200, 300))
	set("busy", user, cpus(3000, 0, 0))
	set("all busy", user, cpus(3000, 3000, 2500))
	set("equal", user, cpus(0, 60, 50))
	set("one back", user, cpus(-500, 1000, 0))
	set("all back", user, cpus(-500, -1000, -500))
	set("idle", user, cpus(-100, -40, -50))
	set("disks back", disk, u64(100, 105, 50, 60, 70, 75))
	set("uneven", disk, u64(100, 101, 104, 109, 120, 121))
	set("much memory", mem, u64(1<<40, 123456789012, 16777217<<10, 987654321, 1<<63))
	set("little memory", mem, u64(0, 1))
	set("great load", theLoad, loads(123456.789, 10))
	set("bad load", theLoad, loads(-1, 0))
	set("a load less", theLoad, func(_ int, w writer) { w.Float32(1, 7) })
	set("loads turned round", theLoad, func(_ int, w writer) { w.Float32(15, 7); w.Float32(1, 8) })
	add("no load domain", func(c *scripted.Collector) { delete(c.InDoms, loadDom) })
	add("no 15 minutes", func(c *scripted.Collector) {
		c.InDoms[loadDom] = func(int) []pdu.Instance { return []pdu.Instance{{ID: 1, Name: "1 minute"}} }
	})
	add("no 1 minute", func(c *scripted.Collector) { c.InDoms[loadDom] = func(int) []pdu.Instance { return nil } })
	for _, code := range []pdu.Error{pdu.ErrPermission, pdu.ErrIPC} {
		for _, at := range []string{"0", "1", "3"} {
			add("fetch "+at+": "+code.Error(), func(c *scripted.Collector) {
				c.Fail = func(n int) pdu.Error {
					if n == int(at[0]-'0') {
						return code
					}
					return 0
				}
			})
		}
	}
	add("clock stands", func(c *scripted.Collector) { c.Clock = func(int) time.Time { return time.Unix(1_700_000_000, 0) } })
	add("clock goes back", func(c *scripted.Collector) {
		c.Clock = func(n int) time.Time { return time.Unix(1_700_000_000-int64(n), 0) }
	})
	for _, args := range [][]string{{"-g"}, {"-p", "3"}, {"--guimode"}, {"-P"}, {"--pause", "x"}, {"x"}, {"-X"}, {"-L"}, {"-T", "foo"}, {"-T", "1msec"},
		{"-A", "3"}, {"-s", "x"}, {"-t", "x"}, {"-t"}, {"-n", "/nosuch"}, {"-?"}, {"-V"}, {"--sam=2"}, {"--z"}} {
		add(strings.Join(args, " "), func(*scripted.Collector) {}, args...)
	}
	return s
}

func TestScripted(t *testing.T) { suite().Test(t) }

func TestInteropScripted(t *testing.T) { suite().TestInterop(t, *update) }
