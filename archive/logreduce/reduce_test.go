package logreduce_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/logimport"
	"github.com/pcp-go/pcp/archive/logreduce"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

var (
	start   = time.Unix(1700000000, 0).UTC()
	disks   = pdu.MakeInDom(60, 1)
	reads   = pdu.Desc{PMID: pdu.MakePMID(60, 0, 1), Type: pdu.TypeU32, InDom: disks, Sem: pdu.SemCounter}
	ticks   = pdu.Desc{PMID: pdu.MakePMID(60, 0, 2), Type: pdu.Type32, InDom: pdu.NoInDom, Sem: pdu.SemCounter}
	load    = pdu.Desc{PMID: pdu.MakePMID(60, 0, 3), Type: pdu.TypeFloat, InDom: pdu.NoInDom, Sem: pdu.SemInstant}
	release = pdu.Desc{PMID: pdu.MakePMID(60, 0, 4), Type: pdu.TypeString, InDom: pdu.NoInDom, Sem: pdu.SemDiscrete}
	events  = pdu.Desc{PMID: pdu.MakePMID(60, 0, 5), Type: pdu.TypeEvent, InDom: pdu.NoInDom, Sem: pdu.SemInstant}
)

// record makes an archive. Disk 1 has 10 more reads each second, and disk 2 is removed after 20
// seconds. There is a mark after 30 seconds and no record in the 10 seconds after it.
func record(t testing.TB, version int) (base string) {
	t.Helper()
	base = filepath.Join(t.TempDir(), "in")
	w, err := archive.WriterOptions{Label: archive.Label{Version: version, Host: "web1", TimeZone: "UTC", Start: start}}.Create(base)
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ok(err)
	for name, d := range map[string]pdu.Desc{"reads": reads, "ticks": ticks, "load": load, "release": release, "events": events} {
		ok(w.WriteMetric(archive.Metric{Desc: d, Names: []string{name}}))
	}
	for i := range 60 {
		now := start.Add(time.Duration(i) * time.Second)
		if i > 30 && i < 40 {
			continue
		}
		insts := []pdu.Instance{{ID: 1, Name: "sda"}, {ID: 2, Name: "sdb"}}
		if i > 20 {
			insts = insts[:1]
		}
		_, err := w.UpdateInDom(now, disks, insts)
		ok(err)
		s := pdu.ResultWriter{Time: now}
		s.Begin(reads.PMID)
		for _, inst := range insts {
			s.Uint32(inst.ID, uint32(inst.ID)*1000+10*uint32(i))
		}
		s.Begin(ticks.PMID)
		s.Int32(pdu.NoInst, int32(100*i))
		s.Begin(load.PMID)
		s.Float32(pdu.NoInst, float32(i)/4)
		if i == 0 {
			s.Begin(release.PMID)
			s.String(pdu.NoInst, "6.1")
		}
		ok(w.WriteSets(&s))
		if i == 30 {
			ok(w.WriteMark(now.Add(time.Millisecond)))
		}
	}
	ok(w.Close())
	return base
}

// lines returns the records of an archive as text.
func lines(t testing.TB, base string) (text string) {
	t.Helper()
	s, err := archive.Open(t.Context(), base)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var b strings.Builder
	c := s.Cursor()
	for c.Next() == nil {
		r, err := c.Result()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%v:", c.Time().Sub(start))
		for _, set := range r.All() {
			d, _ := s.Metadata().Desc(set.PMID)
			fmt.Fprintf(&b, " %d", set.PMID.Item())
			for inst, a := range set.All(d.Type) {
				if inst != pdu.NoInst {
					fmt.Fprintf(&b, " [%d]", inst)
				}
				fmt.Fprintf(&b, " %v", a)
			}
			b.WriteByte(';')
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func reduce(t testing.TB, o logreduce.Options, in string) (out string, err error) {
	t.Helper()
	pc, err := pmapi.Open(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	defer pc.Close()
	out = filepath.Join(t.TempDir(), "out")
	return out, o.Reduce(t.Context(), pc, out)
}

// wanted is the reduced first minute in steps of 12.5 seconds. At 37.5 seconds no metric has a
// value, because nothing has been recorded since the mark. Metric 4, the text, has no value at 50
// seconds either, because it is recorded only once.
const wanted = `0s: 4 "6.1"; 3 0.000000e+00; 2 0; 1 [2] 2000 [1] 1000;
12.5s: 3 3.000000e+00; 2 1250; 1 [2] 2125 [1] 1125;
25s: 3 6.250000e+00; 2 2500; 1 [1] 1250;
30.001s:
37.5s: 4; 3; 2; 1;
50s: 4; 3 1.250000e+01; 2 5000; 1 [1] 1500;
`

func TestReduce(t *testing.T) {
	for _, version := range []int{2, 3} {
		var skipped []string
		o := logreduce.Options{Interval: 12500 * time.Millisecond, Skipped: func(name string, _ pdu.Type) { skipped = append(skipped, name) }}
		out, err := reduce(t, o, record(t, version))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(sortedSets(wanted), sortedSets(lines(t, out))); diff != "" {
			t.Errorf("version %d (-want +got):\n%s", version, diff)
		}
		if fmt.Sprint(skipped) != "[events]" {
			t.Errorf("skipped %v", skipped)
		}
		s, err := archive.Open(t.Context(), out)
		if err != nil {
			t.Fatal(err)
		}
		for id, want := range map[pdu.PMID]pdu.Type{reads.PMID: pdu.TypeU64, ticks.PMID: pdu.Type64, load.PMID: pdu.TypeFloat} {
			if d, _ := s.Metadata().Desc(id); d.Type != want {
				t.Errorf("%v has type %v, want %v", id, d.Type, want)
			}
		}
		if l := s.Label(); l.Version != version || l.Host != "web1" || !l.Start.Equal(start) || l.PID != int32(os.Getpid()) {
			t.Errorf("label %+v", l)
		}
		s.Close()
	}
}

// TestReduceNanoseconds reduces an archive whose times have nanoseconds.
func TestReduceNanoseconds(t *testing.T) {
	in := filepath.Join(t.TempDir(), "in")
	im, err := logimport.New(in, archive.WriterOptions{Label: archive.Label{Version: 3, Host: "web1", TimeZone: "UTC"}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = im.AddMetric("m.x", pdu.Desc{Type: pdu.TypeU32, InDom: pdu.NoInDom, Sem: pdu.SemInstant})
	if err != nil {
		t.Fatal(err)
	}
	first := time.Unix(1700000000, 100)
	for i, after := range []time.Duration{0, 800, time.Second, time.Second + 800, 2*time.Second + 800} {
		if err := errors.Join(im.Put("m.x", "", pdu.Uint32(uint32(i+1))), im.Write(first.Add(after))); err != nil {
			t.Fatal(err)
		}
	}
	if err := im.Close(); err != nil {
		t.Fatal(err)
	}
	out, err := reduce(t, logreduce.Options{Interval: time.Second}, in)
	if err != nil {
		t.Fatal(err)
	}
	set, err := archive.Open(t.Context(), out)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	c := set.Cursor()
	var got []string
	for c.Next() == nil {
		r, err := c.Result()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(c.Time().Sub(first), " ", r.At(0).Atom(0, pdu.TypeU32)))
	}
	if want := []string{"0s 1", "1s 3", "2s 5"}; !slices.Equal(got, want) {
		t.Errorf("records %q, want %q", got, want)
	}
}

// sortedSets returns the metrics of each line as a set. Their order in a record is that of the
// names, which is random here.
func sortedSets(text string) (all []map[string]bool) {
	for line := range strings.Lines(text) {
		head, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		sets := map[string]bool{head: true}
		for set := range strings.SplitSeq(rest, ";") {
			sets[set] = true
		}
		all = append(all, sets)
	}
	return all
}

func TestReduceOptions(t *testing.T) {
	in := record(t, 3)
	var begun []string
	count := func(o logreduce.Options) string {
		out, err := reduce(t, o, in)
		if err != nil {
			t.Fatal(err)
		}
		var times []string
		for line := range strings.Lines(lines(t, out)) {
			when, _, _ := strings.Cut(line, ":")
			times = append(times, when)
		}
		return strings.Join(times, " ")
	}
	for _, test := range []struct {
		name string
		o    logreduce.Options
		want string
	}{
		{"default", logreduce.Options{}, "0s"},
		{"samples", logreduce.Options{Interval: 10 * time.Second, Samples: 2}, "0s 10s"},
		{"window", logreduce.Options{Interval: 5 * time.Second, Start: start.Add(41 * time.Second), End: start.Add(52 * time.Second)}, "41s 46s 51s"},
		{"volumes", logreduce.Options{Interval: 10 * time.Second, End: start.Add(30 * time.Second), VolumeRecords: 2,
			NewVolume: func(n int, when time.Time) { begun = append(begun, fmt.Sprint(n, " ", when.Sub(start))) }}, "0s 10s 20s 30s"},
	} {
		if got := count(test.o); got != test.want {
			t.Errorf("%s: records of %s, want %s", test.name, got, test.want)
		}
	}
	if got := fmt.Sprint(begun); got != "[1 20s]" {
		t.Errorf("volumes %s", got)
	}
}

// TestReduceNothing checks that a reduction to no records still writes all three files, as PCP's
// pmlogreduce does.
func TestReduceNothing(t *testing.T) {
	out, err := reduce(t, logreduce.Options{Samples: -1}, record(t, 2))
	if err != nil {
		t.Fatal(err)
	}
	for suffix, least := range map[string]int64{".0": 132, ".index": 152, ".meta": 133} {
		if info, err := os.Stat(out + suffix); err != nil || info.Size() < least {
			t.Errorf("%s: %v %v", suffix, info, err)
		}
	}
}

func TestReduceErrors(t *testing.T) {
	pc, err := pmapi.Open(t.Context(), record(t, 3))
	if err != nil {
		t.Fatal(err)
	}
	defer pc.Close()
	out := filepath.Join(t.TempDir(), "out")
	if err := (logreduce.Options{Interval: time.Nanosecond}).Reduce(t.Context(), pc, out); err == nil {
		t.Error("an interval of a nanosecond is taken")
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := (logreduce.Options{}).Reduce(ended, pc, out); !errors.Is(err, context.Canceled) {
		t.Errorf("ended: %v", err)
	}
	if err := os.WriteFile(out+".index", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := (logreduce.Options{}).Reduce(t.Context(), pc, out); !errors.Is(err, fs.ErrExist) {
		t.Errorf("exists: %v", err)
	}
}

func BenchmarkReduce(b *testing.B) {
	in := record(b, 3)
	for b.Loop() {
		if _, err := reduce(b, logreduce.Options{Interval: 100 * time.Millisecond}, in); err != nil {
			b.Fatal(err)
		}
	}
}
