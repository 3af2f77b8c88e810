package main

import (
	"flag"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/examples/internal/scripted"
	"github.com/pcp-go/pcp/pdu"
)

var update = flag.Bool("update", false, "record what the real pmval prints")

func suite(t *testing.T) *scripted.Suite {
	s := &scripted.Suite{Tool: "pmval", Golden: "testdata/scripted", Differs: map[string]string{
		"-s 12 c.string":      "the real one names a function of its own",
		"-s 1 -x 5 v.i.empty": "the real one sends what has no values",
		"odd clock":           "there is no rate when no time has passed",
	}}
	collector := newCollector(t)
	add := func(env string, args ...string) {
		c := scripted.Case{Collector: collector, Args: append([]string{"-t", "1msec"}, args...)}
		if env != "" {
			c.Title, c.Env = env+" "+strings.Join(args, " "), []string{env}
		} else {
			c.Title = strings.Join(args, " ")
		}
		s.Cases = append(s.Cases, c)
	}
	for _, m := range collector.Metrics {
		n := 4
		switch {
		case strings.Contains(m.Name, "sizes"):
			n = len(sizes) + 1
		case strings.HasPrefix(m.Name, "c."), strings.HasPrefix(m.Name, "v."):
			n = 12
		}
		add("", "-s", strconv.Itoa(n), m.Name)
		if strings.HasPrefix(m.Name, "c.") && !strings.HasPrefix(m.Name, "c.i.") {
			add("", "-r", "-s", strconv.Itoa(n), m.Name)
		}
	}
	for w := 1; w <= 9; w++ {
		width := strconv.Itoa(w)
		for _, line := range []string{"-s 9 c.i.gaps", "-s 74 c.from-0", "-s 8 i.strings", "-s 3 c.i.odd64", "-s 3 v.i.odd",
			fmt.Sprintf("-s 4 -f %d v.i.gaps", w/3), fmt.Sprintf("-s 4 -f %d c.i.gaps", w%4)} {
			add("", append([]string{"-w", width}, strings.Fields(line)...)...)
		}
	}
	for _, name := range []string{"c.32", "c.u32", "c.64", "c.u64", "c.float", "c.big"} {
		add("PCP_COUNTER_WRAP=", "-s", "7", name)
	}
	for line := range strings.Lines(strings.TrimSpace(plainLines)) {
		add("", strings.Fields(line)...)
	}
	for _, i := range []string{`"b with blank"`, `'b with blank' a`, `"a name longer than a column is",a`, ` a ,,`, `"a`, `a"`, `"a"b`, `x y`, ``, ` `} {
		add("", "-s", "2", "-i", i, "v.i.odd")
	}
	for _, m := range []string{`v.i.odd["b with blank"]`, `v.i.odd[a,b]`, `v.i.odd[ ]`, `v.i.odd[`, `v.i.odd[a] b`, `:v.good`, `v good`, ``} {
		add("", "-s", "2", m)
	}
	for _, at := range []int{0, 2} {
		for _, code := range []pdu.Error{pdu.ErrPermission, pdu.ErrIPC} {
			for _, m := range []string{"v.good", "c.good"} {
				failing := collector
				failing.Fail = func(n int) pdu.Error {
					if n == at {
						return code
					}
					return 0
				}
				s.Cases = append(s.Cases, scripted.Case{Title: fmt.Sprintf("%s, fetch %d fails: %v", m, at, code), Collector: failing,
					Args: []string{"-t", "1msec", "-s", "5", m}})
			}
		}
	}
	jumping := collector
	jumping.Clock = func(n int) time.Time { return time.Unix([]int64{10, 11, 11, 10, 12, 14, 14}[min(n, 6)], 0) }
	s.Cases = append(s.Cases, scripted.Case{Title: "odd clock", Collector: jumping, Args: []string{"-t", "1msec", "-s", "6", "c.good"}})
	return s
}

const plainLines = `
-s 74 c.from-0
-s 74 -f 2 c.from-0
-s 74 -f 0 c.from-0
-s 6 -i a c.i.gaps
-s 6 -i c,a v.i.gaps
-s 6 -i a,a,c v.i.gaps
-s 6 -i a -i b v.i.gaps
-s 6 -i a v.i.gaps[c]
-s 6 -i c -r c.i.gaps
-s 2 -i a,d v.i.gaps
-s 6 -i a v.i.grow
-s 2 -i b v.i.grow
-s 2 -i a v.i.empty
-s 2 -i a v.i.nodomain
-s 2 -i a v.good
-s 2 -i , c.i.gaps
-s 2 -i a e.insts
-s 2 -i c,b,a e.insts
-s 3 -Z EST5EDT e.low
-s 3 -f 2 -w 3 e.low
-s 1 -w 30 e.low
-s 1 -v -X e.high
-s 0 v.good
-s 0 c.good
-s 0 e.low
-s 1 v.good
-s 1 c.good
-s 1 -f 2 v.good
-s 1 -f 20 v.good
-s 1 -f 19 v.good
-s 1 -w 200 v.good
-s 1 -x 5 v.good
-s 1 -x 5 v.i.gaps
-s 1 -x a v.good
-s 1 -x text e.low
-s 1 -x text e.insts
-s 1 -x text e.high
-s 1 -x 5 v.i.empty
-s 2 nosuch
-s 2 v.good nosuch
-s 2 -Z UTC v.good
-s 2 -Z UTC type.-1
-s 2 -f 30 type.-1
`

func TestScripted(t *testing.T) { suite(t).Test(t) }

func TestInteropScripted(t *testing.T) { suite(t).TestInterop(t, *update) }
