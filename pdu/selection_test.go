package pdu_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"pgregory.net/rapid"
)

// A selectionModel is a Selection and the metrics and profiles that it selects.
type selectionModel struct {
	sel      *pdu.Selection
	ids      []pdu.PMID
	profiles []pdu.InDomProfile
	out      pdu.Result
}

func newSelectionModel(ids []pdu.PMID, profiles []pdu.InDomProfile) *selectionModel {
	return &selectionModel{sel: pdu.NewSelection(ids), ids: ids, profiles: profiles}
}

// first is the first set of a metric.
func first(r *pdu.Result, id pdu.PMID) (pdu.ValueSet, bool) {
	for _, s := range r.All() {
		if s.PMID == id {
			return s, true
		}
	}
	return pdu.ValueSet{PMID: id}, false
}

// check compares what a Selection finds in a body with what Result decodes. The Selection may
// miss a flaw that Result finds, but it never returns an invalid value.
func (m *selectionModel) check(t fataler, f pdu.Format, body []byte) {
	t.Helper()
	r := pdu.Result{Format: f}
	bad := r.DecodeValid(body)
	found, err := m.sel.Find(f, body)
	if err != nil {
		if bad == nil || !errors.Is(err, pdu.ErrIPC) || found {
			t.Fatalf("Find: %v, %v; DecodeValid: %v", found, err, bad)
		}
		return
	}
	at := time.Unix(5, 6)
	if err := m.sel.Result(&m.out, at, nil); err != nil && m.sel.InOrder() {
		t.Fatalf("the sets are in order, but Result: %v", err)
	}
	err = m.sel.Result(&m.out, at, m.profiles)
	if err != nil {
		if bad == nil || !errors.Is(err, pdu.ErrIPC) || m.out.Len() != 0 {
			t.Fatalf("Result: %d sets, %v; DecodeValid: %v", m.out.Len(), err, bad)
		}
		return
	}
	if err := m.out.Validate(); err != nil || m.out.Len() != len(m.ids) || !m.out.Time.Equal(at) {
		t.Fatalf("%d sets at %v, want %d: %v", m.out.Len(), m.out.Time, len(m.ids), err)
	}
	checkResult(t, &m.out)
	if bad != nil {
		return
	}
	var w pdu.ResultWriter
	want := slices.ContainsFunc(m.ids, func(id pdu.PMID) bool { _, ok := first(&r, id); return ok })
	for i, id := range m.ids {
		s, _ := first(&r, id)
		e := pdu.InDomProfile{}
		if m.profiles != nil {
			e = m.profiles[i]
		}
		w.CopySelected(s, e)
		if got := m.sel.At(i); got.PMID != s.PMID || got.Len() != s.Len() || got.Err() != s.Err() {
			t.Fatalf("At(%d) is %v with %d values, %v", i, got.PMID, got.Len(), got.Err())
		}
	}
	if found != want {
		t.Fatalf("Find is %v, want %v", found, want)
	}
	w.Time = at
	model, err := w.Result()
	if err != nil {
		t.Fatalf("%v", err)
	}
	sameResult(t, "selected", model, &m.out)
}

// selectable draws a result of metrics from 1 to 6, of the types in the order of their numbers.
func selectable(t *rapid.T) *pdu.ResultWriter {
	w := &pdu.ResultWriter{Time: time.Unix(100, 0)}
	for range rapid.IntRange(0, 8).Draw(t, "sets") {
		id := rapid.IntRange(1, 6).Draw(t, "pmid")
		w.Begin(pdu.PMID(id))
		for i := range rapid.SampledFrom([]int{0, 1, 1, 2, 3, 9}).Draw(t, "values") {
			w.Atom(pdu.InstID(i), anyAtom(t, pdu.Type(id)))
		}
		if rapid.IntRange(0, 5).Draw(t, "failed") == 0 {
			w.Fail(anyCode.Draw(t, "code"))
		}
	}
	return w
}

// TestSelectionProperty: a Selection finds the same values as Result in every format, no matter
// which results it has read before.
func TestSelectionProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfN(rapid.Map(rapid.IntRange(1, 8), func(i int) pdu.PMID { return pdu.PMID(i) }), 1, 8).Draw(t, "ids")
		var profiles []pdu.InDomProfile
		if rapid.Bool().Draw(t, "profiles") {
			for range ids {
				insts := slices.Sorted(slices.Values(rapid.SliceOfNDistinct(rapid.Map(rapid.IntRange(0, 3), func(i int) pdu.InstID { return pdu.InstID(i) }), 0, 2, rapid.ID[pdu.InstID]).Draw(t, "insts")))
				profiles = append(profiles, pdu.InDomProfile{Exclude: rapid.Bool().Draw(t, "exclude"), Insts: insts})
			}
		}
		m := newSelectionModel(ids, profiles)
		for range rapid.IntRange(1, 4).Draw(t, "results") {
			f := pdu.Format(rapid.IntRange(0, 2).Draw(t, "format"))
			b, err := selectable(t).Append(make([]byte, pdu.HeaderLen), f)
			if err != nil {
				t.Fatal(err)
			}
			body := b[pdu.HeaderLen:]
			m.check(t, f, body)
			m.check(t, f, mutate(t, body))
			m.check(t, f, body)
		}
	})
}

// TestSelectionInOrder: writers write sets in order. If sets are well-formed but out of order,
// Result still has their values.
func TestSelectionInOrder(t *testing.T) {
	var w pdu.ResultWriter
	w.Begin(1)
	for i := range 9 {
		w.Uint64(pdu.InstID(i), uint64(i))
	}
	w.Begin(2)
	for i, text := range []string{"short", "", "a longer one"} {
		w.String(pdu.InstID(i), text)
	}
	w.Begin(3)
	w.Int32(pdu.NoInst, 5)
	w.Begin(4)
	w.Fail(pdu.ErrPermission)
	b, err := w.Append(make([]byte, pdu.HeaderLen), pdu.FormatArchive)
	if err != nil {
		t.Fatal(err)
	}
	const firstValue = 12 + 4 + 8 + 4 // of metric 1: after the time, the number of sets, and the head and form of the set
	for _, tt := range []struct {
		name    string
		inOrder bool
		change  func(body []byte)
	}{
		{"as written", true, func([]byte) {}},
		{"two are exchanged", false, func(body []byte) {
			a, b := body[firstValue+4:firstValue+8], body[firstValue+12:firstValue+16]
			one := string(a)
			copy(a, b)
			copy(b, one)
		}},
		{"one is shared", false, func(body []byte) { copy(body[firstValue+8*8+4:], body[firstValue+7*8+4:firstValue+8*8]) }},
		{"one is beyond the end", false, func(body []byte) { binary.BigEndian.PutUint32(body[firstValue+4:], 1<<20) }},
		{"another form", false, func(body []byte) { body[firstValue-1] = 3 }},
	} {
		body := slices.Clone(b[pdu.HeaderLen:])
		tt.change(body)
		for _, ids := range [][]pdu.PMID{{1, 2, 3, 4, 5}, {2, 1, 2}, {1}} {
			m := newSelectionModel(ids, nil)
			m.check(t, pdu.FormatArchive, body)
			if got := m.sel.InOrder(); got != tt.inOrder {
				t.Errorf("%s, metrics %v: in order is %v", tt.name, ids, got)
			}
		}
		if m := newSelectionModel([]pdu.PMID{3, 4}, nil); tt.inOrder {
			if _, err := m.sel.Find(pdu.FormatArchive, body); err != nil || !m.sel.InOrder() {
				t.Errorf("without blocks: in order is %v, %v", m.sel.InOrder(), err)
			}
		}
	}
}

// FuzzSelection has two bodies of a format, which may have the same shape.
func FuzzSelection(f *testing.F) {
	var w pdu.ResultWriter
	everyType(&w)
	var ids []pdu.PMID
	for format := range pdu.Format(3) {
		b, err := w.Append(make([]byte, pdu.HeaderLen), format)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(format), b[pdu.HeaderLen:], b[pdu.HeaderLen:])
	}
	r, err := w.Result()
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range r.All() {
		if !slices.Contains(ids, s.PMID) {
			ids = append(ids, s.PMID)
		}
	}
	slices.Reverse(ids)
	ids = append(ids, ids[3])
	f.Fuzz(func(t *testing.T, format uint8, a, b []byte) {
		m := newSelectionModel(ids, nil)
		for _, body := range [][]byte{a, b, a} {
			m.check(t, pdu.Format(format%3), body)
		}
	})
}

// TestSelectionShared: sets that share a long block do not make a result longer than the body by
// more than a factor.
func TestSelectionShared(t *testing.T) {
	const sets = 1000
	var w pdu.ResultWriter
	var ids []pdu.PMID
	for i := range sets {
		ids = append(ids, pdu.PMID(i+1))
		w.Begin(ids[i])
		w.Bytes(pdu.TypeAggregate, 0, make([]byte, 1<<16*(1-min(i, 1))))
	}
	b, err := w.Append(make([]byte, pdu.HeaderLen), pdu.FormatLowRes)
	if err != nil {
		t.Fatal(err)
	}
	body := b[pdu.HeaderLen:]
	const head, set = 12, 20
	for i := range sets {
		copy(body[head+i*set+16:], body[head+16:head+20]) // the first block for all
	}
	m := newSelectionModel(ids, nil)
	m.check(t, pdu.FormatLowRes, body)
	if m.out.Len() != 0 {
		t.Errorf("a result of %d sets", m.out.Len())
	}
	// A Selection that lists a metric twice returns its set twice.
	m = newSelectionModel([]pdu.PMID{1, 1}, nil)
	m.check(t, pdu.FormatLowRes, body)
	if m.out.Len() != 2 || m.out.At(1).Len() != 1 {
		t.Errorf("a result of %d sets", m.out.Len())
	}
}

// TestSelectionBeyond: a block that reaches beyond the end is detected also if others are copied
// after it.
func TestSelectionBeyond(t *testing.T) {
	var w pdu.ResultWriter
	for id := range pdu.PMID(2) {
		w.Begin(id)
		w.Uint64(0, 7)
	}
	b, err := w.Append(make([]byte, pdu.HeaderLen), pdu.FormatLowRes)
	if err != nil {
		t.Fatal(err)
	}
	body := b[pdu.HeaderLen:]
	body[len(body)-9] = 16 // the length of the last block, which is 12
	m := newSelectionModel([]pdu.PMID{1, 0}, nil)
	m.check(t, pdu.FormatLowRes, body)
	if m.out.Len() != 0 {
		t.Errorf("a result of %d sets", m.out.Len())
	}
}

// TestSelectionManySets: only one shape is kept for results with very many sets, so that long
// results do not fill the memory.
func TestSelectionManySets(t *testing.T) {
	const sets = 1 << 16
	body := make([]byte, 12+8*sets)
	binary.BigEndian.PutUint32(body[8:], sets)
	sel := pdu.NewSelection([]pdu.PMID{1 << 20})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range uint32(8) {
		binary.BigEndian.PutUint32(body[12:], i) // the first metric
		if found, err := sel.Find(pdu.FormatLowRes, body); found || err != nil {
			t.Fatal(found, err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > int64(4*len(body)) {
		t.Errorf("%d bytes are kept of bodies of %d", kept, len(body))
	}
	runtime.KeepAlive(sel)
}

// TestSelectionAllocs: a Selection does not allocate once it knows the shapes, even if they
// alternate.
func TestSelectionAllocs(t *testing.T) {
	var bodies [][]byte
	for n := range 3 {
		var w pdu.ResultWriter
		for i := range 100 {
			w.Begin(pdu.PMID(1 + n + i))
			w.Uint64(0, uint64(i))
		}
		b, err := w.Append(make([]byte, pdu.HeaderLen), pdu.FormatArchive)
		if err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, b[pdu.HeaderLen:])
	}
	m := newSelectionModel([]pdu.PMID{99, 5, 50}, nil)
	n := 0
	read := func() {
		_, err := m.sel.Find(pdu.FormatArchive, bodies[n%3])
		if err := errors.Join(err, m.sel.Result(&m.out, time.Unix(1, 0), nil)); err != nil {
			t.Fatal(err)
		}
		n++
	}
	for range 3 {
		read()
	}
	if n := testing.AllocsPerRun(300, read); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkSelection finds and copies metrics of a result of 1,010 metrics and 2,000 values.
func BenchmarkSelection(b *testing.B) {
	var w pdu.ResultWriter
	var ids []pdu.PMID
	for i := range 1010 {
		ids = append(ids, pdu.PMID(i+1))
		w.Begin(ids[i])
		values := 1
		if i >= 1000 {
			values = 100
		}
		for j := range values {
			w.Uint64(pdu.InstID(j), uint64(i*j))
		}
	}
	out, err := w.Append(make([]byte, pdu.HeaderLen), pdu.FormatArchive)
	if err != nil {
		b.Fatal(err)
	}
	body := out[pdu.HeaderLen:]
	for _, n := range []int{1, 10, len(ids)} {
		var chosen []pdu.PMID
		for i := range n {
			chosen = append(chosen, ids[i*len(ids)/n])
		}
		sel := pdu.NewSelection(chosen)
		b.Run(fmt.Sprintf("find/metrics=%d", n), func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if found, err := sel.Find(pdu.FormatArchive, body); !found || err != nil {
					b.Fatal(found, err)
				}
			}
		})
		b.Run(fmt.Sprintf("result/metrics=%d", n), func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			var r pdu.Result
			if _, err := sel.Find(pdu.FormatArchive, body); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if err := sel.Result(&r, time.Unix(1, 0), nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("decode", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		r := pdu.Result{Format: pdu.FormatArchive}
		for b.Loop() {
			if err := r.DecodeValid(body); err != nil {
				b.Fatal(err)
			}
		}
	})
}
