package archive_test

import (
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// longRecords makes an archive of two volumes with marks and with records, many of them too long
// for SkipNext to read as a whole.
func longRecords(version int, r *rand.Rand) fstest.MapFS {
	files := fstest.MapFS{}
	m := newMaker(files, "a", version, epoch)
	delete(files, "a.index")
	for i := range 40 {
		if i == 25 {
			m.volume(1)
		}
		volume := i / 25
		switch {
		case i%9 == 4:
			m.mark(volume, at(float64(i)))
		case i%5 == 0:
			m.value(volume, at(float64(i)), uint64(i))
		default:
			w := pdu.ResultWriter{Time: at(float64(i))}
			w.Begin(valueMetric.PMID)
			w.Bytes(pdu.TypeAggregate, 0, make([]byte, 10_000+r.IntN(40_000)))
			m.result(volume, &w)
		}
	}
	return files
}

// A skipper moves a cursor, at times without reading the bytes.
type skipper struct {
	*archive.Cursor
	skip bool
}

func (s skipper) move(back bool) error {
	switch {
	case s.skip && back:
		return s.SkipPrev()
	case s.skip:
		return s.SkipNext()
	case back:
		return s.Prev()
	}
	return s.Next()
}

// sameMoves moves two cursors forward and backward. One of them skips at random. Both find the
// same.
func sameMoves(t *testing.T, files fstest.MapFS, r *rand.Rand) {
	t.Helper()
	s, err := archive.Options{FS: files}.Open(t.Context(), "a")
	if err != nil {
		return // damaged
	}
	defer s.Close()
	plain, other := skipper{s.Cursor(), false}, skipper{s.Cursor(), true}
	value := pdu.NewSelection([]pdu.PMID{valueMetric.PMID})
	back, skipped := false, 0
	for range 300 {
		if r.IntN(8) == 0 {
			back = !back
		}
		other.skip = r.IntN(4) > 0
		before := other.Pos()
		want, got := plain.move(back), other.move(back)
		if (want == nil) != (got == nil) || want != nil && want.Error() != got.Error() || plain.Pos() != other.Pos() {
			t.Fatalf("skipped to %v, %v; want %v, %v", other.Pos(), got, plain.Pos(), want)
		}
		if want != nil {
			continue
		}
		a, b := *plain.Record(), *other.Record()
		if b.Raw == nil {
			skipped++
			if found, err := other.Select(value); found || err != nil {
				t.Fatalf("values without the bytes: %v, %v", found, err)
			}
			var copied pdu.Result
			result, err := other.Result()
			if err != nil || other.Decode(&copied) != nil || !result.Time.Equal(a.Time) || !copied.Time.Equal(a.Time) {
				t.Fatalf("result without the bytes at %v and %v, %v; want %v", result.Time, copied.Time, err, a.Time)
			}
			// Without skipping, the same move reads the bytes.
			other.SetPos(before)
			other.skip = false
			if err := other.move(back); err != nil {
				t.Fatal(err)
			}
			b = *other.Record()
		}
		if a.Number < 0 || b.Number < 0 { // nobody has to know
			a.Number, b.Number = 0, 0
		}
		if !slices.Equal(a.Raw, b.Raw) || !a.Time.Equal(b.Time) || a.Kind != b.Kind || a.Offset != b.Offset || a.Number != b.Number || a.File != b.File {
			t.Fatalf("skipped to record %d at %d, %v; want %d at %d, %v", b.Number, b.Offset, b.Time, a.Number, a.Offset, a.Time)
		}
	}
	if skipped == 0 {
		t.Error("no record was skipped")
	}
}

// TestSkip checks that SkipNext and SkipPrev move like Next and Prev, with the same errors for
// damaged or missing records.
func TestSkip(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, version := range []int{2, 3} {
		files := longRecords(version, r)
		for range 10 {
			sameMoves(t, files, r)
		}
		for range 10 {
			damaged := fstest.MapFS{}
			for name, f := range files {
				damaged[name] = f
			}
			whole := files["a.1"].Data
			b := slices.Clone(whole)
			start := map[int]int{2: 132, 3: 808}[version]
			for range r.IntN(3) { // a length, before or after a record
				at := start
				for range r.IntN(6) {
					at += int(be.Uint32(whole[at:]))
				}
				b[at-4*r.IntN(2)+r.IntN(4)] ^= 1 << r.IntN(8)
			}
			if r.IntN(2) == 0 {
				b = b[:len(b)-r.IntN(60_000)]
			}
			damaged["a.1"] = &fstest.MapFile{Data: b}
			sameMoves(t, damaged, r)
		}
	}
}

// TestToAndFro moves a cursor forward and backward. It reads each byte of a file at most 1.25 times
// on average.
func TestToAndFro(t *testing.T) {
	files := fstest.MapFS{}
	m := newMaker(files, "a", 3, epoch)
	delete(files, "a.index")
	for i := range 200 {
		w := pdu.ResultWriter{Time: at(float64(i))}
		w.Begin(valueMetric.PMID)
		w.Bytes(pdu.TypeAggregate, 0, make([]byte, 50_000))
		m.result(0, &w)
	}
	var read atomic.Int64
	s, err := archive.Options{FS: countingFS{files, &read}}.Open(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c := s.Cursor()
	read.Store(0)
	for c.Next() == nil {
		if err := c.Prev(); err != nil {
			t.Fatal(err)
		}
		if err := c.Next(); err != nil {
			t.Fatal(err)
		}
		place := c.Pos()
		if c.Next() != nil {
			break
		}
		c.SetPos(place)
		if err := c.Prev(); err != nil {
			t.Fatal(err)
		}
		c.SetPos(place)
	}
	if size := int64(len(files["a.0"].Data)); read.Load() > size*5/4 {
		t.Errorf("%d bytes were read of a file of %d", read.Load(), size)
	}
}
