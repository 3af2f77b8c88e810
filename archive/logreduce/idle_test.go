package logreduce_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/logreduce"
	"github.com/pcp-go/pcp/pdu"
)

// sparse makes an archive with two records, a second apart, at each time. If marks is set, a mark
// follows each pair.
func sparse(t *testing.T, marks bool, times ...int64) (base string) {
	t.Helper()
	base = filepath.Join(t.TempDir(), "in")
	w, err := archive.WriterOptions{Label: archive.Label{Version: 3, Host: "web1", TimeZone: "UTC"}}.Create(base)
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ok(err)
	ok(w.WriteMetric(archive.Metric{Desc: load, Names: []string{"load"}}))
	for _, seconds := range times {
		for i := range int64(2) {
			s := pdu.ResultWriter{Time: time.Unix(seconds+i, 0)}
			s.Begin(load.PMID)
			s.Float32(pdu.NoInst, float32(i))
			ok(w.WriteSets(&s))
		}
		if marks {
			ok(w.WriteMark(time.Unix(seconds+1, 1_000_000)))
		}
	}
	ok(w.Close())
	return base
}

// TestFarFuture reduces archives with too many intervals between two records to process each one.
func TestFarFuture(t *testing.T) {
	times := []int64{1_700_000_000, 9_214_646_400 /* in the year 2262 */}
	for _, interval := range []time.Duration{time.Second, time.Microsecond} {
		out, err := reduce(t, logreduce.Options{Interval: interval}, sparse(t, false, times...))
		if err != nil {
			t.Fatal(err)
		}
		seen := map[int64]bool{}
		s, err := archive.Open(t.Context(), out)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		records := 0
		for c := s.Cursor(); c.Next() == nil; records++ {
			seen[c.Time().Unix()] = true
		}
		for i, seconds := range times {
			if !seen[seconds] || !seen[seconds+1] && i+1 < len(times) {
				t.Errorf("interval %v: no record at %d", interval, seconds)
			}
		}
		if records > 2*len(times) {
			t.Errorf("interval %v: %d records of %d", interval, records, 2*len(times))
		}
	}
}

// TestFarFutureIdle checks that intervals between two marks get records without values, up to the
// limit.
func TestFarFutureIdle(t *testing.T) {
	const most = 20_000
	t.Cleanup(logreduce.SetMaxIdle(most))
	out, err := reduce(t, logreduce.Options{Interval: time.Second}, sparse(t, true, 1_700_000_000, 9_214_646_400, 1<<45, 1<<57))
	if err != nil {
		t.Fatal(err)
	}
	text := lines(t, out)
	n := strings.Count(text, "\n")
	if n < most || n > most+6000 {
		t.Errorf("%d records", n)
	}
	last := fmt.Sprintf("%v: 3 0.000000e+00;\n", time.Unix(9_214_646_400, 0).Sub(start))
	if !strings.Contains(text, last) {
		t.Errorf("not there: %s\nbut %s", last, text[len(text)-300:])
	}
}
