package pdu_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pcp-go/pcp/pdu"
)

// A writtenTo is a stream that only keeps what is written to it.
type writtenTo struct{ bytes.Buffer }

// TestWriteParts: a result in parts is sent like the result of one writer with copies of the same
// sets, for any order of the parts, and for long and short pieces.
func TestWriteParts(t *testing.T) {
	when := time.Unix(1700000000, 123456000)
	for _, long := range []int{1, 200, 300_000} {
		for _, f := range []pdu.Format{pdu.FormatLowRes, pdu.FormatHighRes} {
			t.Run(fmt.Sprint(long, f.Kind()), func(t *testing.T) {
				a, b, merged := new(pdu.ResultWriter), new(pdu.ResultWriter), &pdu.ResultWriter{Time: when}
				for i, w := range []*pdu.ResultWriter{a, b, a, b, a, b} {
					w.Begin(pdu.MakePMID(1, 0, i))
					switch i {
					case 0, 1:
						w.String(pdu.NoInst, string(bytes.Repeat([]byte{'x'}, long+i)))
					case 2:
						w.Uint32(1, 7)
					case 3:
						w.Fail(pdu.ErrPMID)
					default:
						w.Uint64(1, 8)
						w.Float64(2, 9)
					}
				}
				parts := []pdu.ResultPart{{a, 0, 1}, {b, 0, 2}, {a, 1, 3}, {b, 2, 3}}
				for _, p := range parts {
					merged.CopySets(p.Writer, p.From, p.To)
				}
				var want, got writtenTo
				if err := pdu.NewConn(&want).Write(5, merged.PDU(f)); err != nil {
					t.Fatal(err)
				}
				err := pdu.NewConn(&got).WriteParts(5, when, f, slices.Values(parts))
				if err != nil || !bytes.Equal(got.Bytes(), want.Bytes()) {
					t.Errorf("%v: %d bytes differ from the %d of one writer", err, got.Len(), want.Len())
				}
			})
		}
	}
}

// A purse is a Memory with so many bytes.
type purse struct {
	left  int
	asked []int
}

func (p *purse) Reserve(n int) error {
	p.asked = append(p.asked, n)
	if p.left -= n; p.left < 0 {
		return pdu.ErrAgain
	}
	return nil
}

// TestResultWriterMemory: a writer requests memory before it grows, and the granted memory holds
// the result. After a refusal every further set has the error.
func TestResultWriterMemory(t *testing.T) {
	insts, values := make([]pdu.InstID, 100), make([]uint64, 100)
	var source pdu.ResultWriter
	source.Begin(1)
	source.Numbers(pdu.TypeU64, insts, values)
	long := string(make([]byte, 10_000))
	for name, add := range map[string]func(w *pdu.ResultWriter){
		"words":  func(w *pdu.ResultWriter) { w.Uint32(1, 2) },
		"eights": func(w *pdu.ResultWriter) { w.Uint64(1, 2) },
		"many":   func(w *pdu.ResultWriter) { w.Numbers(pdu.TypeU64, insts, values) },
		"text":   func(w *pdu.ResultWriter) { w.String(1, long) },
		"copies": func(w *pdu.ResultWriter) { w.CopySets(&source, 0, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			p := &purse{left: 1 << 20}
			w := pdu.ResultWriter{Memory: p}
			w.Begin(1)
			granted, most := 0, 0
			for range 1 << 20 {
				add(&w)
				if w.Err() != nil {
					break
				}
				granted = 1<<20 - p.left
				if size := w.Size(); size > max(granted, pdu.FreeSize)+300 {
					t.Fatalf("%d bytes with %d granted", size, granted)
				}
				most = w.Size()
			}
			if err := w.Err(); !errors.Is(err, pdu.ErrAgain) || granted > 1<<20 || most < 1<<19 {
				t.Errorf("%v, with %d of %d bytes in use", err, most, granted)
			}
			if len(p.asked) > 200 {
				t.Errorf("asked %d times", len(p.asked))
			}
			size := w.Size()
			w.Begin(2)
			w.Uint32(pdu.NoInst, 1)
			w.Begin(3)
			w.Numbers(pdu.TypeU64, insts, values)
			w.Begin(4)
			if w.Size() > size+3*8+4 {
				t.Errorf("still growing: %d bytes after %d", w.Size(), size)
			}
			w.Reset()
			if w.Err() != nil || w.Memory != nil {
				t.Error("Reset keeps why it failed")
			}
		})
	}
	t.Run("limit", func(t *testing.T) {
		w := pdu.ResultWriter{Limit: 100_000}
		for i := range 10_000 {
			w.Begin(pdu.PMID(i))
			w.Numbers(pdu.TypeU64, insts, values)
		}
		if err := w.Err(); err != pdu.ErrTooBig || w.Size() > 250_000 {
			t.Errorf("%v, %d bytes", err, w.Size())
		}
	})
	t.Run("nothing for a small one", func(t *testing.T) {
		p := &purse{}
		w := pdu.ResultWriter{Memory: p}
		w.Begin(1)
		w.Numbers(pdu.TypeU64, insts, values)
		if w.Err() != nil || p.asked != nil {
			t.Errorf("%v: asked for %v", w.Err(), p.asked)
		}
	})
}

// TestLongResultGrows: a long result fits into the granted memory, grows a few times, and keeps
// its values.
func TestLongResultGrows(t *testing.T) {
	const sets = 100_000
	p := &purse{left: 64 << 20}
	w, plain := pdu.ResultWriter{Memory: p}, pdu.ResultWriter{}
	capacity, grown := 0, 0
	for i := range sets {
		for _, to := range []*pdu.ResultWriter{&w, &plain} {
			to.Begin(pdu.PMID(i))
			to.Uint64(1, uint64(i))
			to.String(2, "a text")
		}
		if w.Size() < 1<<20 {
			capacity = w.Cap()
			continue
		}
		if granted := 64<<20 - p.left; w.Cap() > granted+granted/4 {
			t.Fatalf("room for %d bytes with %d granted", w.Cap(), granted)
		}
		if w.Cap() != capacity {
			capacity = w.Cap()
			grown++
		}
	}
	if grown > 8 {
		t.Errorf("grew %d times from 1 MiB to %d bytes", grown, w.Size())
	}
	got, err := w.Result()
	if err != nil {
		t.Fatal(err)
	}
	want, err := plain.Result()
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range got.All() {
		if v := want.At(i); s.PMID != v.PMID || s.Len() != 2 || s.Atom(0, 0).String() != v.Atom(0, 0).String() || s.Atom(1, 0).String() != v.Atom(1, 0).String() {
			t.Fatalf("set %d differs", i)
		}
	}
}

// TestGrowFor: a writer grows only once, by the right amount, for the copy of a long decoded
// result.
func TestGrowFor(t *testing.T) {
	var w pdu.ResultWriter
	for i := range 1000 {
		w.Begin(pdu.PMID(i))
		w.Uint64(pdu.NoInst, 1)
	}
	r, err := w.Result()
	if err != nil {
		t.Fatal(err)
	}
	p := &purse{left: 1 << 20}
	to := pdu.ResultWriter{Memory: p}
	if err := to.GrowFor(r); err != nil {
		t.Fatal(err)
	}
	for _, s := range r.All() {
		to.Copy(s)
	}
	if diff := cmp.Diff([]int{w.Size()}, p.asked); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
	if err := (&pdu.ResultWriter{Memory: &purse{}}).GrowFor(r); err != pdu.ErrAgain {
		t.Errorf("without memory: %v", err)
	}
}

// TestFill makes results of a writer directly, and by way of its bytes.
func TestFill(t *testing.T) {
	var filled pdu.Result // is used again and again
	rapid.Check(t, func(t *rapid.T) {
		w := selectable(t)
		w.Time = time.Unix(int64(rapid.Int32().Draw(t, "seconds")), 1000)
		filled.Format = rapid.SampledFrom([]pdu.Format{pdu.FormatLowRes, pdu.FormatHighRes, pdu.FormatArchive}).Draw(t, "format")
		body, err := w.Append(make([]byte, pdu.HeaderLen), filled.Format)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Fill(&filled); err != nil {
			t.Fatal(err)
		}
		want := pdu.Result{Format: filled.Format}
		if err := want.Decode(body[pdu.HeaderLen:]); err != nil {
			t.Fatal(err)
		}
		same, err := filled.Append(nil)
		if err != nil || !bytes.Equal(same, body[pdu.HeaderLen:]) {
			t.Fatal("other bytes", err)
		}
		if !filled.Time.Equal(w.Time) || filled.Len() != want.Len() {
			t.Fatal(filled.Time, filled.Len(), want.Len())
		}
		for i := range want.Len() {
			if got, s := filled.At(i), want.At(i); got.PMID != s.PMID || got.Len() != s.Len() {
				t.Fatal(i, got.PMID, got.Len(), s.PMID, s.Len())
			}
		}
	})
	var w pdu.ResultWriter
	w.Begin(1)
	w.Time = time.Unix(1<<40, 0) // too late for this format
	filled.Format = pdu.FormatLowRes
	if err := w.Fill(&filled); !errors.Is(err, pdu.ErrTooBig) || filled.Len() != 0 {
		t.Error(err, filled.Len())
	}
}
