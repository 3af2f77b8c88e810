//go:build unix

package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/internal/tracewire"
)

// timed are the values of transactions that a program has timed.
var timed = regexp.MustCompile(`(inst \[\d+ or "(timed|simple|ascanbe|shell)[^"]*"\] value) .*`)

// withoutTimes masks times in what pminfo prints of metrics with time in their names.
func withoutTimes(out string) string {
	lines, metric := strings.Split(out, "\n"), ""
	for i, l := range lines {
		if strings.HasPrefix(l, "trace.") {
			metric, _, _ = strings.Cut(l, " ")
		}
		if strings.Contains(metric, "time") {
			lines[i] = timed.ReplaceAllString(l, "$1 TIME")
		}
	}
	return strings.Join(lines, "\n")
}

// script is what driver.c does, in both protocols.
var script = strings.NewReplacer(" ", "\t", "_", " ").Replace(`begin timed_in_C
begin timed_in_C
point pt
obs obs 42.5
counter ctr 1000
obs obs -7
counter ctr 1001.25
end timed_in_C
end timed_in_C
end never
begin timed
abort timed
begin timed
end timed
point two_words
point two_others
point ` + strings.Repeat("x", 124) + `
`)

// fixed are values with known times, and invalid values.
var fixed = []tracewire.Data{
	{Kind: tracewire.KindTransaction, Tag: []byte("fixed"), Value: 0.25},
	{Kind: tracewire.KindTransaction, Tag: []byte("fixed"), Value: 1.5},
	{Kind: tracewire.KindTransaction, Tag: []byte("fixed"), Value: 0.125},
	{Kind: tracewire.KindTransaction, Tag: []byte("negative"), Value: -5},
	{Kind: tracewire.KindPoint, Tag: []byte("fixed"), Value: 3},
	{Kind: tracewire.KindObservation, Tag: []byte("not a number"), Value: math.NaN()},
	{Kind: tracewire.KindObservation, Tag: []byte("tiny"), Value: 1e-300},
	{Kind: tracewire.KindCounter, Tag: []byte("infinite"), Value: math.Inf(1)},
	{Kind: tracewire.KindCounter, Tag: []byte("fixed"), Value: 1},
	{Kind: tracewire.KindCounter, Tag: []byte("fixed"), Value: 0.5},
}

// Applications of the C library find both agents alike, and so does pminfo.
func TestInteropAlike(t *testing.T) {
	both := sides(t, "-T", "600", "-N", "600", "-U", "1,-1,0,1,3,0", "-V", "0,0,1,0,0,3")
	each(t, both, func(s *side) string { return s.info(t, "-dfmtTl", "trace") }) // nothing has come yet
	program, app1 := driver(t), compile(t, "/usr/share/pcp/demos/trace/app1.c")
	each(t, both, func(s *side) string { return s.run(t, script, program) })
	each(t, both, func(s *side) string { return s.run(t, "state\t32\n"+script, program) })
	each(t, both, func(s *side) string {
		s.send(t, fixed...)
		var out strings.Builder
		for _, args := range [][]string{{"p"}, {"-c", "7.5", "c"}, {"-v", "-1", "v"}, {"-e", "true", "shell"}, {"-q", "-c", "8", "c"}} {
			out.WriteString(masked(s.run(t, "", append([]string{"pmtrace"}, args...)...)))
		}
		return out.String()
	})
	var runs [][]string
	for _, s := range both {
		runs = append(runs, append(append([]string{"env"}, s.env()...), app1))
	}
	for _, o := range pcptest.RunAll(t, nil, runs...) { // it sleeps for seconds
		if o.Status != 0 {
			t.Errorf("app1: %+v", o)
		}
	}
	each(t, both, func(s *side) string {
		s.await(t, func() bool { return strings.Contains(s.info(t, "-f", "trace.point.rate"), "imouttahere") }) // the last value
		return withoutTimes(s.info(t, "-dfmtTl", "trace"))
	})
}

// masked is the output of pmtrace without what differs from run to run.
func masked(out string) string {
	return regexp.MustCompile(`\d+\.\d+ sec|[0-9.]+s`).ReplaceAllString(out, "TIME")
}

// A store of trace.control.reset makes both forget the tags, but not their numbers; nothing else
// can be stored but trace.control.debug.
func TestInteropStore(t *testing.T) {
	both := sides(t, "-T", "60", "-N", "60")
	program := driver(t)
	each(t, both, func(s *side) string {
		store := func(args ...string) string {
			return s.run(t, "", append([]string{"pmstore", "-h", s.pmcd.Host()}, args...)...)
		}
		point := func(tags ...string) string {
			return s.run(t, "point\t"+strings.Join(tags, "\npoint\t")+"\n", program)
		}
		var out strings.Builder
		for _, step := range []string{
			point("one", "two", "three"), store("trace.control.reset", "7"), s.info(t, "-f", "trace.point"), point("new", "two"),
			s.info(t, "-f", "trace.point.count"), point("one"), s.info(t, "-f", "trace.point.count"),
			store("trace.control.debug", "0"), store("trace.control.debug", "1.5"), store("trace.control.debug", "x"),
			s.info(t, "-f", "trace.control"), store("trace.control.port", "1"), store("trace.point.count", "1"),
		} {
			out.WriteString(withoutHost(step, s) + "\n")
		}
		return out.String()
	})
}

// withoutHost masks the name of a side's collector and of its programs.
func withoutHost(out string, s *side) string { return strings.ReplaceAll(out, s.pmcd.Host(), "HOST") }

// TestInteropAccess checks that both agents refuse clients without access. The C agent resets the
// connection, so its reply is sometimes lost.
func TestInteropAccess(t *testing.T) {
	program := driver(t)
	for args, want := range map[string]string{
		"-A disallow:*":                          "Cannot connect to PMDA - permission denied",
		"-A disallow:localhost":                  "Cannot connect to PMDA - permission denied",
		"-A disallow:10.*":                       "ok",
		"-A allow:localhost:0 -A disallow:*":     "ok",
		"-A disallow:127.* -A allow:localhost:9": "ok",
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			both := sides(t, strings.Fields(args)...)
			each(t, both, func(s *side) string {
				out := s.run(t, "point\tone\n", program)
				if s.name == "C" && want != "ok" {
					out = strings.Replace(out, "Connection reset by peer", want, 1)
				}
				if !strings.Contains(out, "point one: "+want+"\n") {
					t.Errorf("%s: %s, want %s", s.name, out, want)
				}
				return s.info(t, "-f", "trace.point.count")
			})
		})
	}
}

// TestInteropConnectionLimit checks that our limit of connections is exact. The C agent counts a
// connection from this host several times and so accepts none. Its reply is sometimes lost.
func TestInteropConnectionLimit(t *testing.T) {
	program := driver(t)
	for _, s := range sides(t, "-A", "allow:localhost:1") {
		if s.name == "Go" {
			s.await(t, func() bool { // that of before may still be there
				conn, err := net.Dial("tcp", s.addr())
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { conn.Close() })
				ack, err := tracewire.NewDecoder(conn).Ack()
				return err == nil && ack.Code >= 0
			})
		}
		const refused = "point one: Cannot connect to PMDA - connection limit reached\n"
		out := s.run(t, "point\tone\n", program)
		if !strings.Contains(out, refused) && (s.name == "Go" || !strings.Contains(out, "Connection reset by peer")) {
			t.Errorf("%s: %s, want %s", s.name, out, refused)
		}
	}
}

// rawPDUs are bytes that an application sends to an agent which has said that it accepts it. (Not
// here is what the C agent cannot do: a header in pieces, and tags of more than 124 bytes.)
func rawPDUs(t *testing.T) map[string][]byte {
	one := func(kind tracewire.Kind, tag string, change func(b []byte)) []byte {
		b, err := tracewire.Data{Kind: kind, Tag: []byte(tag), Value: 1, Sync: true}.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		change(b)
		return b
	}
	tag := func(change func(b []byte)) []byte { return one(tracewire.KindCounter, "tag", change) }
	same := func([]byte) {}
	pdus := map[string][]byte{
		"one":          tag(same),
		"not answered": append(tag(func(b []byte) { b[15] = 0 }), tag(same)...),
		"other bits":   tag(func(b []byte) { b[15] |= 0x7f }),
		"ack":          tracewire.Ack{Code: 1}.Append(nil),
		"type":         tag(func(b []byte) { b[7] = 0x52 }),
		"version":      tag(func(b []byte) { b[12] = 2 }),
		"no tag":       tag(func(b []byte) { b[13] = 0 }),
		"beyond end":   tag(func(b []byte) { b[13] = 5 }),
		"kind 0":       tag(func(b []byte) { b[14] = 0 }),
		"kind 5":       tag(func(b []byte) { b[14] = 5 }),
		"longest":      one(tracewire.KindPoint, strings.Repeat("l", 124), same),
		"no NUL":       one(tracewire.KindPoint, "raw", func(b []byte) { b[13] = 3 }),
		"more behind":  append(tag(func(b []byte) { binary.BigEndian.PutUint32(b, uint32(len(b)+8)) }), "padding!"...),
	}
	for _, n := range []uint32{0, 15, 20, 273, 1 << 31} {
		pdus[fmt.Sprint("length ", n)] = tag(func(b []byte) { binary.BigEndian.PutUint32(b, n) })
	}
	for kind := tracewire.KindTransaction; kind <= tracewire.KindCounter; kind++ {
		pdus["four"] = append(pdus["four"], one(kind, "four", same)...)
	}
	return pdus
}

// Both agents answer the same to well-formed and malformed PDUs, and count the same.
func TestInteropRaw(t *testing.T) {
	both := sides(t, "-T", "600", "-N", "600")
	pdus := rawPDUs(t)
	each(t, both, func(s *side) string {
		var out strings.Builder
		for _, name := range slices.Sorted(maps.Keys(pdus)) {
			codes, end := s.answers(t, pdus[name])
			fmt.Fprintln(&out, name, codes, end)
		}
		return out.String() + s.info(t, "-f", "trace.transact.count", "trace.point.count", "trace.observe.value", "trace.counter.count")
	})
}

// answers are the codes of the answers to bytes, which two transactions follow, and whether the
// connection is closed.
func (s *side) answers(t *testing.T, b []byte) (codes []int32, end string) {
	t.Helper()
	conn, err := net.Dial("tcp", s.addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(30 * time.Second))
	in := tracewire.NewDecoder(conn)
	if ack, err := in.Ack(); err != nil || ack.Code != tracewire.Version {
		t.Fatalf("%s: %+v, %v", s.name, ack, err)
	}
	const last = int32(tracewire.KindTransaction)
	mark, err := tracewire.Data{Kind: tracewire.KindTransaction, Tag: []byte("end"), Sync: true}.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	conn.Write(slices.Concat(b, mark, mark)) // which fails at most as the answers do
	for n := 0; n < 2 || codes[n-1] != last || codes[n-2] != last; n++ {
		ack, err := in.Ack()
		if err != nil {
			return codes, "closed"
		}
		codes = append(codes, ack.Code)
	}
	return codes, "open"
}

// Our agent lives through SIGHUP, which ends the C agent, through garbage and killed applications,
// and serves on. It ends with pmcd.
func TestInteropSurvives(t *testing.T) {
	s := sides(t)[1]
	pid := s.agentPID(t)
	if err := syscall.Kill(pid, syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", s.addr())
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(conn, "GET / HTTP/1.0\r\n\r\n")
	io.Copy(io.Discard, conn)
	conn.Close()
	s.send(t, tracewire.Data{Kind: tracewire.KindPoint, Tag: []byte("alive"), Value: -1})
	if out := s.info(t, "-f", "trace.point.count"); !strings.Contains(out, `"alive"] value 1`) {
		t.Error(out)
	}
	log, err := os.ReadFile(s.log)
	if err != nil || !strings.Contains(string(log), "Warning: application disconnected") {
		t.Errorf("log: %v\n%s", err, log)
	}
	s.pmcd.Stop()
	s.await(t, func() bool { return !s.listens() })
}
