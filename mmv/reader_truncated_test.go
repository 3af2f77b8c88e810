package mmv

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// TestTruncated: a file that is cut anywhere is an error or has less than the whole one, and never
// more.
func TestTruncated(t *testing.T) {
	for _, name := range recordings {
		t.Run(name, func(t *testing.T) {
			image := recorded(t, name)
			whole, err := Read(bytes.NewReader(image))
			if err != nil {
				t.Fatal(err)
			}
			start := headerLen + entryLen*int(native.Uint32(image[headerSections:]))
			for n := range len(image) {
				f, err := Read(bytes.NewReader(image[:n]))
				if n < start {
					if _, ok := errors.AsType[*formatError](err); !ok {
						t.Fatalf("%d bytes: error %v (%T), want a *formatError", n, err, err)
					}
					continue
				}
				if err != nil {
					t.Fatalf("%d bytes: %v", n, err)
				}
				if f.Flaws == 0 || len(f.Problems) == 0 {
					t.Fatalf("%d of %d bytes have no flaw", n, len(image))
				}
				checkFile(t, f)
				if len(f.Metrics) > len(whole.Metrics) || len(f.InDoms) > len(whole.InDoms) {
					t.Fatalf("%d bytes have %d metrics and %d domains", n, len(f.Metrics), len(f.InDoms))
				}
			}
		})
	}
}

// checkFile reads all that a file has and fails if something contradicts the documentation.
func checkFile(t testing.TB, f *File) {
	t.Helper()
	if min(f.Flaws, maxProblems) != len(f.Problems) {
		t.Fatalf("%d flaws, %d problems", f.Flaws, len(f.Problems))
	}
	if len(f.Metrics) > maxMetrics || len(f.Labels) > maxLabels || f.Cluster < 0 || f.Cluster > maxCluster {
		t.Fatalf("%d metrics, %d labels, cluster %d", len(f.Metrics), len(f.Labels), f.Cluster)
	}
	instances := 0
	for i := range f.InDoms {
		d := &f.InDoms[i]
		instances += len(d.Instances)
		checkText(t, d.Text)
	}
	if int64(instances) > f.size/int64(f.Version.instanceLen()) {
		t.Fatalf("%d instances in %d bytes", instances, f.size)
	}
	items := make(map[int]bool)
	var r Reader
	r.Reset(f, time.Now())
	for i := range f.Metrics {
		m := &f.Metrics[i]
		checkText(t, m.Text)
		if items[m.Item] || m.Item < 0 || m.Item > maxItem || m.Sem == 0 {
			t.Fatalf("metric %s: item %d, semantics %d", m.Name, m.Item, m.Sem)
		}
		items[m.Item] = true
		checkValues(t, &r, m)
	}
	if _, err := f.Snapshot(time.Now()); err != nil {
		t.Fatal(err)
	}
}

func checkText(t testing.TB, text func(pdu.TextKind) (string, error)) {
	t.Helper()
	for _, kind := range []pdu.TextKind{pdu.TextOneLine, pdu.TextHelp} {
		if s, err := text(kind); len(s) > maxText || err != nil && err != pdu.ErrText && err != pdu.ErrGeneric {
			t.Fatalf("text of %d bytes, %v", len(s), err)
		}
	}
}

// checkValues reads the values of a metric.
func checkValues(t testing.TB, r *Reader, m *FileMetric) {
	t.Helper()
	seen := make(map[pdu.InstID]bool)
	for i, id := range m.Instances {
		if seen[id] || m.InDom == 0 && id != pdu.NoInst {
			t.Fatalf("metric %s: instance %d, domain %d, seen %v", m.Name, id, m.InDom, seen[id])
		}
		seen[id] = true
		v, err := r.Value(m, i)
		checkNumber(t, r, m.Place(i), v, err)
		switch {
		case err == nil && v.Type != m.Type:
			t.Fatalf("metric %s: value of type %v, want %v", m.Name, v.Type, m.Type)
		case err == nil && (len(v.Bytes()) >= stringLen || bytes.IndexByte(v.Bytes(), 0) >= 0):
			t.Fatalf("metric %s: string %q", m.Name, v.Bytes())
		case err != nil && !errors.Is(err, ErrNoValue) && !errors.Is(err, pdu.ErrAppVersion) && !errors.Is(err, pdu.ErrType) &&
			!errors.Is(err, pdu.ErrGeneric):
			t.Fatalf("metric %s: %v", m.Name, err)
		}
	}
}

// checkNumber compares a value with that of NumberAt, which is there for every number but an
// elapsed time.
func checkNumber(t testing.TB, r *Reader, p Place, v pdu.Atom, err error) {
	t.Helper()
	typ, bits, ok := r.NumberAt(p)
	if want := err == nil && v.Type != pdu.TypeString && p.typ != typeElapsed; ok != want {
		t.Fatalf("type %v, value %v, error %v: a number %v, want %v", p.typ, v, err, ok, want)
	}
	if !ok {
		return
	}
	var a, b pdu.ResultWriter
	a.Number(1, typ, bits)
	b.Begin(1)
	b.Atom(pdu.NoInst, v)
	got, _ := a.Append(nil, pdu.FormatHighRes)
	want, _ := b.Append(nil, pdu.FormatHighRes)
	if !bytes.Equal(got, want) {
		t.Fatalf("type %v, value %v: got %x, want %x", p.typ, v, got, want)
	}
}

// TestFlips: files with changed bits do no harm, and take no more memory than their length
// justifies.
func TestFlips(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 34))
	var images [][]byte
	for _, name := range recordings {
		images = append(images, recorded(t, name))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	read := 0
	for i := range 10_000 {
		image := bytes.Clone(images[i%len(images)])
		limit := len(image)
		if i%2 == 0 {
			limit = 1000 // where the records are
		}
		for range 1 + r.IntN(8) {
			image[r.IntN(limit)] ^= byte(1 << r.IntN(8))
		}
		f, err := Read(bytes.NewReader(image))
		if err == nil {
			read++
			checkFile(t, f)
		}
		if _, err := Dump(io.Discard, "", bytes.NewReader(image), time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if read < 1000 {
		t.Errorf("only %d files could be read", read)
	}
	// 100 kB each for files of up to 5 kB: mostly the pages of two Readers and the buffer of Dump.
	if n := after.TotalAlloc - before.TotalAlloc; n > 10_000*100_000 {
		t.Errorf("%d bytes were allocated", n)
	}
}

// TestMemory: what hostile files take is bounded by their length.
func TestMemory(t *testing.T) {
	const size = 1 << 20
	for name, image := range map[string][]byte{
		"domains that share their instances": sharedInstances(size),
		"names that share their bytes":       sharedNames(size),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			f, err := Read(bytes.NewReader(image))
			if err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			if f.Flaws == 0 {
				t.Error("no flaws")
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > 16*size {
				t.Errorf("%d bytes were allocated for a file of %d", n, size)
			}
		})
	}
}

// domainsImage makes the beginning of a file of version 2 with a section of domains.
func domainsImage(size, domains int) []byte {
	b := make([]byte, size)
	copy(b, magic)
	native.PutUint32(b[headerVersion:], uint32(version2))
	native.PutUint64(b[headerGeneration1:], 1)
	native.PutUint64(b[headerGeneration2:], 1)
	native.PutUint32(b[headerSections:], 2)
	native.PutUint32(b[headerLen+entryKind:], uint32(sectionInDoms))
	native.PutUint32(b[headerLen+entryCount:], uint32(domains))
	native.PutUint64(b[headerLen+entryOffset:], headerLen+2*entryLen)
	native.PutUint32(b[headerLen+entryLen+entryKind:], uint32(sectionStrings))
	return b
}

// sharedInstances has a thousand domains with the same thousands of instances.
func sharedInstances(size int) []byte {
	b := domainsImage(size, 1000)
	first := headerLen + 2*entryLen + 1000*indomLen
	n := (size - first) / version2.instanceLen()
	for i := range 1000 {
		r := b[headerLen+2*entryLen+i*indomLen:]
		native.PutUint32(r[indomSerial:], uint32(i+1))
		native.PutUint32(r[indomCount:], uint32(n))
		native.PutUint64(r[indomInstances:], uint64(first))
	}
	for i := range n {
		native.PutUint64(b[first+i*version2.instanceLen()+instanceName:], headerLen)
	}
	return b
}

// sharedNames has domains that all have the same long texts.
func sharedNames(size int) []byte {
	n := (size - 1000) / indomLen
	b := domainsImage(size, n)
	for i := range 300 {
		b[size-300+i] = 'x'
	}
	for i := range n {
		r := b[headerLen+2*entryLen+i*indomLen:]
		native.PutUint32(r[indomSerial:], uint32(i+1))
		native.PutUint64(r[indomShort:], uint64(size-299))
		native.PutUint64(r[indomLong:], uint64(size-298))
	}
	return b
}
