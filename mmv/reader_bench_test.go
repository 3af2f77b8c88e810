package mmv

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// manyValues is a file of version 2 with metrics over one domain. Every name has a string of its
// own, as the C library writes it.
func manyValues(metrics, instances int) []byte {
	const v = version2
	indoms := headerLen + 4*entryLen
	first := indoms + indomLen
	metric := first + instances*v.instanceLen()
	value := metric + metrics*v.metricLen()
	name := value + metrics*instances*valueLen
	b := make([]byte, name+(metrics+instances)*stringLen)
	copy(b, magic)
	native.PutUint32(b[headerVersion:], uint32(v))
	native.PutUint64(b[headerGeneration1:], 1)
	native.PutUint64(b[headerGeneration2:], 1)
	native.PutUint32(b[headerSections:], 4)
	for i, s := range []struct {
		kind          sectionKind
		count, offset int
	}{{sectionInDoms, 1, indoms}, {sectionInstances, instances, first}, {sectionMetrics, metrics, metric},
		{sectionValues, metrics * instances, value}} {
		e := b[headerLen+i*entryLen:]
		native.PutUint32(e[entryKind:], uint32(s.kind))
		native.PutUint32(e[entryCount:], uint32(s.count))
		native.PutUint64(e[entryOffset:], uint64(s.offset))
	}
	native.PutUint32(b[indoms+indomSerial:], 1)
	native.PutUint32(b[indoms+indomCount:], uint32(instances))
	native.PutUint64(b[indoms+indomInstances:], uint64(first))
	text := func(s string) uint64 {
		copy(b[name:], s)
		name += stringLen
		return uint64(name - stringLen)
	}
	for i := range instances {
		r := b[first+i*v.instanceLen():]
		native.PutUint64(r[instanceInDom:], uint64(indoms))
		native.PutUint32(r[instanceID:], uint32(i))
		native.PutUint64(r[instanceName:], text(fmt.Sprintf("instance-%d", i)))
	}
	for i := range metrics {
		r := b[metric+i*v.metricLen():]
		native.PutUint64(r[metricName:], text(fmt.Sprintf("metric.%d", i)))
		r = r[v.nameLen():]
		native.PutUint32(r[metricItem:], uint32(i))
		native.PutUint32(r[metricType:], uint32(typeU64))
		native.PutUint32(r[metricInDom:], 1)
		for k := range instances {
			n := i*instances + k
			r := b[value+n*valueLen:]
			native.PutUint64(r[valueWord:], uint64(n))
			native.PutUint64(r[valueMetric:], uint64(metric+i*v.metricLen()))
			native.PutUint64(r[valueInstance:], uint64(first+k*v.instanceLen()))
		}
	}
	return b
}

// openImage writes a file and opens it.
func openImage(t testing.TB, image []byte) *File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, image, 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if f.Flaws != 0 {
		t.Fatalf("flaws: %v", f.Problems)
	}
	return f
}

// sum reads all values and adds them.
func sum(t testing.TB, r *Reader, f *File) uint64 {
	r.Reset(f, time.Time{})
	var n uint64
	for i := range f.Metrics {
		m := &f.Metrics[i]
		for k := range m.Instances {
			a, err := r.Value(m, k)
			if err != nil {
				t.Fatal(err)
			}
			v, err := pdu.As[uint64](a)
			if err != nil {
				t.Fatal(err)
			}
			n += v
		}
	}
	return n
}

var sizes = []struct{ metrics, instances int }{{1000, 1}, {10, 100}, {1000, 100}, {1, 100_000}}

func TestReaderDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes sync.Pool drop values")
	}
	for _, s := range sizes {
		f := openImage(t, manyValues(s.metrics, s.instances))
		n := uint64(s.metrics * s.instances)
		var r Reader
		if got := sum(t, &r, f); got != n*(n-1)/2 {
			t.Errorf("%d metrics of %d instances: sum %d", s.metrics, s.instances, got)
		}
		if n := testing.AllocsPerRun(5, func() { sum(t, &r, f) }); n != 0 {
			t.Errorf("%d metrics of %d instances: %v allocations", s.metrics, s.instances, n)
		}
		if n := testing.AllocsPerRun(5, func() {
			if changed, err := f.Changed(); changed || err != nil {
				t.Errorf("Changed: %v, %v", changed, err)
			}
		}); n != 0 {
			t.Errorf("Changed: %v allocations", n)
		}
	}
}

// TestReaderStringsDoNotAllocate: nor do strings.
func TestReaderStringsDoNotAllocate(t *testing.T) {
	f, err := Read(bytes.NewReader(recorded(t, "v3.mmv")))
	if err != nil {
		t.Fatal(err)
	}
	var r Reader
	read := func() {
		r.Reset(f, time.Time{})
		if a, err := r.Value(&f.Metrics[1], 0); err != nil || string(a.Bytes()) != "idle" {
			t.Errorf("state = %v, %v", a, err)
		}
	}
	read()
	if n := testing.AllocsPerRun(5, read); n != 0 && !raceEnabled {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkOpen(b *testing.B) {
	for _, s := range sizes {
		b.Run(fmt.Sprintf("metrics=%d/insts=%d", s.metrics, s.instances), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "file")
			image := manyValues(s.metrics, s.instances)
			if err := os.WriteFile(path, image, 0o644); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(image)))
			b.ReportAllocs()
			for b.Loop() {
				f, err := Open(path)
				if err != nil {
					b.Fatal(err)
				}
				f.Close()
			}
		})
	}
}

func BenchmarkReader(b *testing.B) {
	for _, s := range sizes {
		b.Run(fmt.Sprintf("metrics=%d/insts=%d", s.metrics, s.instances), func(b *testing.B) {
			f := openImage(b, manyValues(s.metrics, s.instances))
			var r Reader
			b.ReportAllocs()
			for b.Loop() {
				sum(b, &r, f)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(s.metrics*s.instances), "ns/value")
		})
	}
}

// BenchmarkReaderOne reads one value of many.
func BenchmarkReaderOne(b *testing.B) {
	f := openImage(b, manyValues(1, 100_000))
	var r Reader
	b.ReportAllocs()
	for b.Loop() {
		r.Reset(f, time.Time{})
		if _, err := r.Value(&f.Metrics[0], 50_000); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkChanged(b *testing.B) {
	f := openImage(b, manyValues(1, 1))
	b.ReportAllocs()
	for b.Loop() {
		if changed, err := f.Changed(); changed || err != nil {
			b.Fatal(changed, err)
		}
	}
}
