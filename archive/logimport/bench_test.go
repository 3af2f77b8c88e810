package logimport_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/logimport"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

// The benchmarks import records of 10 metrics with 1,000 instances each.
const (
	benchMetrics   = 10
	benchInstances = 1000
	benchRounds    = 20 // records per run of the C library
)

// BenchmarkWrite writes a record of 10,000 values through handles, as texts and as numbers.
func BenchmarkWrite(b *testing.B) {
	for _, numbers := range []bool{false, true} {
		b.Run(map[bool]string{false: "texts", true: "numbers"}[numbers], func(b *testing.B) {
			im, err := logimport.New(filepath.Join(b.TempDir(), "a"), archive.WriterOptions{Label: archive.Label{Version: 2}})
			if err != nil {
				b.Fatal(err)
			}
			var handles []logimport.Handle
			eachBench(func(metric, instance string, i, j int) {
				if i == 0 {
					err = errors.Join(err, im.AddInstance(disks, instance, pdu.InstID(j)))
				}
				if j == 0 {
					_, e := im.AddMetric(metric, pdu.Desc{Type: pdu.TypeU64, InDom: disks, Sem: pdu.SemCounter})
					err = errors.Join(err, e)
				}
			})
			eachBench(func(metric, instance string, _, _ int) {
				h, e := im.Handle(metric, instance)
				err = errors.Join(err, e)
				handles = append(handles, h)
			})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			var text []byte
			n := 0
			for b.Loop() {
				n++
				for i := range handles {
					if numbers {
						err = handles[i].Put(pdu.Uint64(uint64(n * i)))
					} else {
						text = strconv.AppendInt(text[:0], int64(n*i), 10)
						err = handles[i].PutText(string(text))
					}
					if err != nil {
						b.Fatal(err)
					}
				}
				if err := im.Write(time.Unix(int64(n), 0)); err != nil {
					b.Fatal(err)
				}
			}
			if err := im.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkC is the counterpart of BenchmarkWrite with texts for libpcp_import. It does not count
// the time to define metrics and instances. Each run writes 20 records.
func BenchmarkC(b *testing.B) {
	pcptest.Need(b, "gcc", "pcp/import.h", "-lpcp_import")
	define := []string{"start\tx\t0"}
	eachBench(func(metric, instance string, i, j int) {
		if i == 0 {
			define = append(define, fmt.Sprintf("instance\t%s\t%d\t%s", indom, j, instance))
		}
		if j == 0 {
			define = append(define, fmt.Sprintf("metric\t%s\t%s\t3\t%s\t1\t0", metric, none, indom))
		}
	})
	eachBench(func(metric, instance string, _, _ int) {
		define = append(define, fmt.Sprintf("handle\t%s\t%s", metric, instance))
	})
	// The first record has the metadata.
	define = append(define, fmt.Sprintf("fill\t%d\t1\t1", benchMetrics*benchInstances))
	fill := fmt.Sprintf("fill\t%d\t%d\t100", benchMetrics*benchInstances, benchRounds)
	total, n := 0, 0
	for b.Loop() {
		answers := pcptest.LogImport(b, b.TempDir(), append(define, fill, "end"))
		took, err := strconv.Atoi(answers[len(answers)-2])
		if err != nil || took <= 0 {
			b.Fatal(took, err)
		}
		total, n = total+took, n+1
	}
	b.ReportMetric(float64(total)*1000/float64(n*benchRounds), "ns/record")
}

// eachBench calls f for each instance of each metric.
func eachBench(f func(metric, instance string, i, j int)) {
	for i := range benchMetrics {
		for j := range benchInstances {
			f(fmt.Sprintf("m.n%d", i), fmt.Sprintf("inst%d", j), i, j)
		}
	}
}
