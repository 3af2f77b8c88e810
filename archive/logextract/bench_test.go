package logextract_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/logextract"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

var benchRecords = flag.Int("records", 500, "how many `records` of 52 kB each of three archives has in benchmarks")

// benchArchives makes archives with 2000 counters in each record, half of them with instances.
func benchArchives(b *testing.B) (paths []string, bytes int64) {
	for i := range 3 {
		base := filepath.Join(b.TempDir(), "in")
		w, err := archive.WriterOptions{Label: archive.Label{Version: 2, Host: "bench", TimeZone: "UTC"}, Buffer: 1 << 20}.Create(base)
		if err != nil {
			b.Fatal(err)
		}
		in := pdu.MakeInDom(245, 0)
		var instances []pdu.Instance
		for n := range 100 {
			instances = append(instances, pdu.Instance{ID: pdu.InstID(n), Name: "instance-" + string(rune('a'+n%26)) + string(rune('a'+n/26))})
		}
		var ids []pdu.PMID
		for n := range 1010 {
			m := archive.Metric{Desc: pdu.Desc{PMID: pdu.MakePMID(245, n/1000, n%1000), Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemCounter}}
			if n >= 1000 {
				m.InDom = in
			}
			m.Names = []string{"bench." + string(rune('a'+n%26)) + string(rune('a'+n/26%26)) + string(rune('a'+n/676))}
			ids = append(ids, m.PMID)
			if err := w.WriteMetric(m); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := w.UpdateInDom(at(float64(i**benchRecords)), in, instances); err != nil {
			b.Fatal(err)
		}
		for n := range *benchRecords {
			s := pdu.ResultWriter{Time: at(float64(i**benchRecords + n))}
			for k, id := range ids {
				s.Begin(id)
				if k < 1000 {
					s.Uint64(pdu.NoInst, uint64(n*k))
					continue
				}
				for inst := range 100 {
					s.Uint64(pdu.InstID(inst), uint64(n*inst))
				}
			}
			if err := w.WriteSets(&s); err != nil {
				b.Fatal(err)
			}
		}
		_, end := w.Place()
		bytes += end.Data
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
		paths = append(paths, base)
	}
	return paths, bytes
}

// BenchmarkMerge merges three archives, and takes some metrics out of them. If PCP is installed,
// its pmlogextract does the same in alternation, and the metric x-of-C is our speed relative to it:
//
//	go test ./archive/logextract -run - -bench . -records 5000
func BenchmarkMerge(b *testing.B) {
	paths, bytes := benchArchives(b)
	metrics := []logextract.Metric{{Name: "bench.aaa"}, {Name: "bench.bba"}}
	config := filepath.Join(b.TempDir(), "config")
	if err := os.WriteFile(config, []byte("bench.aaa bench.bba\n"), 0o666); err != nil {
		b.Fatal(err)
	}
	for _, bench := range []struct {
		name string
		o    logextract.Options
		args []string
	}{
		{"all", logextract.Options{}, nil},
		{"some", logextract.Options{Metrics: metrics}, []string{"-c", config}},
		{"version3", logextract.Options{Version: 3}, []string{"-V", "3"}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			theirs := pcptest.Has(b, "pmlogextract")
			b.SetBytes(bytes)
			var c, ours time.Duration
			for b.Loop() {
				b.StopTimer()
				dir, err := os.MkdirTemp(b.TempDir(), "")
				if err != nil {
					b.Fatal(err)
				}
				out := filepath.Join(dir, "out")
				if theirs {
					start := time.Now()
					pcptest.Run(b, nil, "", append(append([]string{"pmlogextract"}, bench.args...), append(paths, out+"-c")...)...)
					c += time.Since(start)
				}
				b.StartTimer()
				start := time.Now()
				if err := bench.o.Run(b.Context(), paths, out); err != nil {
					b.Fatal(err)
				}
				ours += time.Since(start)
				b.StopTimer()
				os.RemoveAll(dir) // to limit disk space
				b.StartTimer()
			}
			if c > 0 {
				b.ReportMetric(c.Seconds()/ours.Seconds(), "x-of-C")
			}
		})
	}
}
