package pdu_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pcp-go/pcp/pdu"
	"pgregory.net/rapid"
)

// TestAppendFormat: a result that is converted to another format equals a ResultWriter's result
// in that format.
func TestAppendFormat(t *testing.T) {
	formats := []pdu.Format{pdu.FormatLowRes, pdu.FormatHighRes, pdu.FormatArchive}
	rapid.Check(t, func(t *rapid.T) {
		var w pdu.ResultWriter
		w.Time = time.Unix(rapid.Int64Range(0, 1<<31-1).Draw(t, "seconds"), rapid.Int64Range(0, 999_999).Draw(t, "microseconds")*1000)
		for range rapid.IntRange(0, 5).Draw(t, "sets") {
			w.Begin(pdu.PMID(rapid.Uint32().Draw(t, "pmid")))
			switch rapid.IntRange(0, 4).Draw(t, "kind") {
			case 0:
				w.Fail(pdu.ErrAgain)
			case 1:
				w.Int32(pdu.NoInst, rapid.Int32().Draw(t, "value"))
			case 2:
				w.Uint64(pdu.NoInst, rapid.Uint64().Draw(t, "value"))
			case 3:
				for i := range rapid.IntRange(0, 4).Draw(t, "values") {
					w.String(pdu.InstID(i), rapid.StringN(0, 9, -1).Draw(t, "text"))
				}
			}
		}
		var bodies [][]byte
		for _, f := range formats {
			b, err := w.Append(make([]byte, pdu.HeaderLen), f)
			if err != nil {
				t.Fatal(err)
			}
			bodies = append(bodies, b)
		}
		for i, from := range formats {
			r := pdu.Result{Format: from}
			if err := r.Decode(bodies[i][pdu.HeaderLen:]); err != nil {
				t.Fatal(err)
			}
			for j, to := range formats {
				got, err := r.AppendFormat(make([]byte, pdu.HeaderLen), to)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(bodies[j], got); diff != "" {
					t.Fatalf("format %v to %v (-writer +AppendFormat):\n%s", from, to, diff)
				}
			}
		}
	})
}

// TestAppendFormatDisorder: a result whose blocks lie in another order, or break the layout, is
// put in order. Only the sets concerned fail.
func TestAppendFormatDisorder(t *testing.T) {
	var w pdu.ResultWriter
	for i := range 3 {
		w.Begin(pdu.PMID(i))
		w.Uint64(pdu.NoInst, uint64(i))
	}
	b, err := w.Append(make([]byte, pdu.HeaderLen), pdu.FormatHighRes)
	if err != nil {
		t.Fatal(err)
	}
	const sets = 32
	b[sets+19]++                             // the first value is where the second one was
	b[sets+20+19]--                          // and the other way round
	b[sets+40+16], b[sets+40+19] = 0x7f, 255 // the third one is nowhere
	r := pdu.Result{Format: pdu.FormatHighRes}
	b[sets+19] += 2 // a block has three words
	b[sets+20+19] -= 2
	if err := r.Decode(b[pdu.HeaderLen:]); err != nil {
		t.Fatal(err)
	}
	out, err := r.AppendFormat(make([]byte, pdu.HeaderLen), pdu.FormatArchive)
	if err != nil {
		t.Fatal(err)
	}
	var q pdu.Result
	q.Format = pdu.FormatArchive
	if err := q.DecodeValid(out[pdu.HeaderLen:]); err != nil {
		t.Fatal(err)
	}
	for i, want := range []uint64{1, 0} {
		if v, err := pdu.As[uint64](q.At(i).Atom(0, pdu.TypeU64)); v != want || err != nil {
			t.Errorf("value %d is %d, %v, want %d", i, v, err, want)
		}
	}
	if err := q.At(2).Err(); err != pdu.ErrIPC {
		t.Errorf("the set whose block is nowhere has %v", err)
	}
}

// TestAppendFormatAllocates: the conversion of a fetched result to another format does not
// allocate.
func TestAppendFormatAllocates(t *testing.T) {
	var w pdu.ResultWriter
	for i := range 100 {
		w.Begin(pdu.PMID(i))
		w.Uint64(pdu.NoInst, uint64(i))
	}
	r, err := w.Result()
	if err != nil {
		t.Fatal(err)
	}
	b, err := r.AppendFormat(make([]byte, pdu.HeaderLen), pdu.FormatArchive)
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { _, _ = r.AppendFormat(b[:pdu.HeaderLen], pdu.FormatArchive) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
