package pdu_test

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pcp-go/pcp/pdu"
)

// finish decodes the result of w in both formats. It checks it with Validate and against w's own
// encoding: sets and blocks in order and without gaps. It returns the low-resolution result.
func finish(t *testing.T, w *pdu.ResultWriter, types map[pdu.PMID]pdu.Type) view {
	t.Helper()
	var views [2]view
	for f := range pdu.Format(2) {
		body := encode(t, w.PDU(f))
		p, err := pdu.Decode(f.Kind(), body)
		if err != nil {
			t.Fatalf("%v: %v", f.Kind(), err)
		}
		r := p.(*pdu.Result)
		if err := r.Validate(); err != nil {
			t.Errorf("%v: %v", f.Kind(), err)
		}
		views[f] = viewResult(r, types)
		if again := encode(t, r); !bytes.Equal(body, again) { // cmp is slow on megabytes
			t.Errorf("%v is not canonical (-written +canonical):\n%s", f.Kind(), cmp.Diff(body, again))
		}
	}
	if diff := cmp.Diff(views[0].Sets, views[1].Sets, cmpopts.EquateErrors()); diff != "" {
		t.Errorf("formats differ (-low +high):\n%s", diff)
	}
	return views[0]
}

// everyType writes a set of each type, ids 0 to 10 by type.
func everyType(w *pdu.ResultWriter) {
	w.Begin(0)
	w.Int32(-5, math.MinInt32)
	w.Begin(1)
	w.Uint32(pdu.NoInst, math.MaxUint32)
	w.Begin(2)
	w.Int64(1, math.MinInt64)
	w.Int64(2, 7)
	w.Begin(3)
	w.Uint64(1, math.MaxUint64)
	w.Begin(4)
	w.Float32(1, 1.56)
	w.Float32(2, float32(math.Inf(-1)))
	w.Begin(5)
	w.Float64(1, -0.1)
	w.Begin(6)
	w.String(1, "")
	w.String(2, "abc")
	w.String(3, "abcde")
	w.Begin(7)
	w.Bytes(pdu.TypeAggregate, 1, []byte{1, 2, 3})
	w.Begin(8)
	w.Bytes(pdu.TypeAggregateStatic, 1, nil)
	w.Begin(9)
	w.Bytes(pdu.TypeEvent, 1, make([]byte, 4))
	w.Begin(10)
	w.Bytes(pdu.TypeHighResEvent, 1, make([]byte, 4))
}

// everyTypeBytes is what everyType writes, with the time 1, 2000 µs.
const everyTypeBytes = `0000018c 00007001 00000000 00000001 000007d0 0000000b
	00000000 00000001 00000000 fffffffb 80000000
	00000001 00000001 00000000 ffffffff ffffffff
	00000002 00000002 00000001 00000001 00000045 00000002 00000048
	00000003 00000001 00000001 00000001 0000004b
	00000004 00000002 00000001 00000001 0000004e 00000002 00000050
	00000005 00000001 00000001 00000001 00000052
	00000006 00000003 00000001 00000001 00000055 00000002 00000057 00000003 00000059
	00000007 00000001 00000001 00000001 0000005c
	00000008 00000001 00000002 00000001 0000005e
	00000009 00000001 00000002 00000001 0000005f
	0000000a 00000001 00000002 00000001 00000061
	0200000c 80000000 00000000 0200000c 00000000 00000007
	0300000c ffffffff ffffffff
	04000008 3fc7ae14 04000008 ff800000
	0500000c bfb99999 9999999a
	06000005 00 "~~~" 06000008 "abc" 00 0600000a "abcde" 00 "~~"
	07000007 010203 "~"
	08000004
	09000008 00000000
	0a000008 00000000`

func typesByPMID() map[pdu.PMID]pdu.Type {
	m := map[pdu.PMID]pdu.Type{}
	for id := range pdu.PMID(11) {
		m[id] = pdu.Type(id)
	}
	return m
}

func TestResultWriterTypes(t *testing.T) {
	w := pdu.ResultWriter{Time: time.Unix(1, 2_000_500)}
	everyType(&w)
	s := newStream(nil)
	if err := pdu.NewConn(s).Write(0, w.PDU(pdu.FormatLowRes)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(unhex(t, everyTypeBytes), s.Bytes()); diff != "" {
		t.Errorf("bytes (-want +got):\n%s", diff)
	}
	want := view{Time: time.Unix(1, 2_000_000), Sets: []setView{
		{0, nil, []pdu.InstID{-5}, []pdu.Atom{pdu.Int32(math.MinInt32)}},
		{1, nil, []pdu.InstID{-1}, []pdu.Atom{pdu.Uint32(math.MaxUint32)}},
		{2, nil, []pdu.InstID{1, 2}, []pdu.Atom{pdu.Int64(math.MinInt64), pdu.Int64(7)}},
		{3, nil, []pdu.InstID{1}, []pdu.Atom{pdu.Uint64(math.MaxUint64)}},
		{4, nil, []pdu.InstID{1, 2}, []pdu.Atom{pdu.Float32(1.56), pdu.Float32(float32(math.Inf(-1)))}},
		{5, nil, []pdu.InstID{1}, []pdu.Atom{pdu.Float64(-0.1)}},
		{6, nil, []pdu.InstID{1, 2, 3}, []pdu.Atom{pdu.String(""), pdu.String("abc"), pdu.String("abcde")}},
		{7, nil, []pdu.InstID{1}, []pdu.Atom{pdu.Aggregate([]byte{1, 2, 3})}},
		{8, nil, []pdu.InstID{1}, []pdu.Atom{{Type: pdu.TypeAggregateStatic}}},
		{9, nil, []pdu.InstID{1}, nil},
		{10, nil, []pdu.InstID{1}, nil},
	}}
	got := finish(t, &w, typesByPMID())
	for i := range 2 { // event arrays are compared by their bytes
		a := got.Sets[9+i].Atoms[0]
		if int(a.Type) != 9+i || string(a.Bytes()) != "\x00\x00\x00\x00" {
			t.Errorf("events: %v %x", a.Type, a.Bytes())
		}
		got.Sets[9+i].Atoms = nil
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

// TestResultWriterAtom: Atom writes the same as the method of the type, and decoding inverts it.
func TestResultWriterAtom(t *testing.T) {
	var a, b pdu.ResultWriter
	everyType(&a)
	r := new(pdu.Result)
	if err := r.Decode(encode(t, a.PDU(pdu.FormatLowRes))); err != nil {
		t.Fatal(err)
	}
	for _, s := range r.All() {
		b.Begin(s.PMID)
		for inst, v := range s.All(pdu.Type(s.PMID)) {
			b.Atom(inst, v)
		}
	}
	if diff := cmp.Diff(encode(t, a.PDU(pdu.FormatHighRes)), encode(t, b.PDU(pdu.FormatHighRes))); diff != "" {
		t.Errorf("(-methods +Atom):\n%s", diff)
	}
}

// TestResultWriterFail: sets fail with their errors, and do not affect other sets.
func TestResultWriterFail(t *testing.T) {
	huge := make([]byte, 1<<24)
	tests := []struct {
		name  string
		write func(w *pdu.ResultWriter)
		want  error
	}{
		{"nothing", func(*pdu.ResultWriter) {}, nil},
		{"at once", func(w *pdu.ResultWriter) { w.Fail(pdu.ErrAgain) }, pdu.ErrAgain},
		{"after values", func(w *pdu.ResultWriter) { w.String(1, "gone"); w.String(2, "gone"); w.Fail(pdu.ErrPMID) }, pdu.ErrPMID},
		{"before values", func(w *pdu.ResultWriter) { w.Fail(pdu.ErrPMID); w.Uint64(1, 1); w.Uint32(2, 1) }, pdu.ErrPMID},
		{"twice, the last counts", func(w *pdu.ResultWriter) { w.Fail(pdu.ErrPMID); w.Fail(pdu.ErrInst) }, pdu.ErrInst},
		{"an errno", func(w *pdu.ResultWriter) { w.Fail(-32) }, pdu.Error(-32)},
		{"with success", func(w *pdu.ResultWriter) { w.Fail(0) }, pdu.ErrGeneric},
		{"with a change", func(w *pdu.ResultWriter) { w.Fail(8) }, pdu.ErrGeneric},
		{"a block after a word", func(w *pdu.ResultWriter) { w.Uint32(1, 1); w.Uint64(2, 2) }, pdu.ErrType},
		{"a word after a block", func(w *pdu.ResultWriter) { w.String(1, "a"); w.Int32(2, 2); w.String(3, "b") }, pdu.ErrType},
		{"bytes of no such type", func(w *pdu.ResultWriter) { w.Bytes(pdu.TypeU32, 1, huge[:4]) }, pdu.ErrType},
		{"an atom of no type", func(w *pdu.ResultWriter) { w.Atom(1, pdu.Atom{Type: pdu.TypeUnknown}) }, pdu.ErrType},
		{"a long string", func(w *pdu.ResultWriter) { w.String(1, string(huge)) }, pdu.ErrTooBig},
		{"a long string's atom", func(w *pdu.ResultWriter) { w.Atom(1, pdu.String(string(huge))) }, pdu.ErrTooBig},
		{"a long aggregate", func(w *pdu.ResultWriter) { w.Atom(1, pdu.Aggregate(huge)) }, pdu.ErrTooBig},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var w pdu.ResultWriter
			w.Begin(100)
			w.String(1, "before")
			w.Begin(7)
			tt.write(&w)
			w.Begin(101)
			w.Float64(1, 2.5)
			want := view{Sets: []setView{
				{100, nil, []pdu.InstID{1}, []pdu.Atom{pdu.String("before")}},
				{7, tt.want, nil, nil},
				{101, nil, []pdu.InstID{1}, []pdu.Atom{pdu.Float64(2.5)}}}}
			if diff := cmp.Diff(want, finish(t, &w, nil), cmpopts.EquateErrors()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestResultWriterLongest writes the longest values that a block holds.
func TestResultWriterLongest(t *testing.T) {
	var w pdu.ResultWriter
	w.Begin(1)
	w.String(1, strings.Repeat("x", 0xffffff-5))
	w.Bytes(pdu.TypeAggregate, 2, make([]byte, 0xffffff-4))
	w.Atom(3, pdu.String(strings.Repeat("x", 0xffffff-5)))
	v := finish(t, &w, nil)
	for i, want := range []int{0xffffff - 5, 0xffffff - 4, 0xffffff - 5} {
		if got := len(v.Sets[0].Atoms[i].Bytes()); got != want {
			t.Errorf("value %d has %d bytes, want %d", i, got, want)
		}
	}
}

// TestResultWriterBlockForms: blocks of both block forms may share a set; the first decides.
func TestResultWriterBlockForms(t *testing.T) {
	var w pdu.ResultWriter
	w.Begin(1)
	w.Bytes(pdu.TypeAggregateStatic, 1, []byte("abcd"))
	w.String(2, "x")
	var r pdu.Result
	if err := r.Decode(encode(t, w.PDU(pdu.FormatLowRes))); err != nil {
		t.Fatal(err)
	}
	var got []pdu.Type
	for _, a := range r.At(0).All(pdu.TypeString) {
		got = append(got, a.Type)
	}
	if diff := cmp.Diff([]pdu.Type{pdu.TypeAggregateStatic, pdu.TypeString}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestResultWriterNoOpenSet: values without an open set are dropped, in every state of the
// writer.
func TestResultWriterNoOpenSet(t *testing.T) {
	values := func(w *pdu.ResultWriter) {
		w.Uint32(1, 1)
		w.Uint64(1, 1)
		w.Float32(1, 1)
		w.String(1, "x")
		w.Bytes(pdu.TypeAggregate, 1, []byte("x"))
		w.Atom(1, pdu.String("x"))
		w.Fail(pdu.ErrPMID)
	}
	set := setView{1, nil, []pdu.InstID{1}, []pdu.Atom{pdu.Uint64(7)}}
	for name, closed := range map[string]func(t *testing.T, w *pdu.ResultWriter) []setView{
		"new": func(*testing.T, *pdu.ResultWriter) []setView { return nil },
		"after Reset": func(_ *testing.T, w *pdu.ResultWriter) []setView {
			w.Begin(1)
			w.Uint64(1, 7)
			w.Reset()
			return nil
		},
		"after Append": func(t *testing.T, w *pdu.ResultWriter) []setView {
			w.Begin(1)
			w.Uint64(1, 7)
			encode(t, w.PDU(pdu.FormatLowRes))
			return []setView{set}
		},
		"after CopySet": func(_ *testing.T, w *pdu.ResultWriter) []setView {
			w.Begin(1)
			w.Uint64(1, 7)
			w.CopySets(w, 0, 1)
			return []setView{set, set}
		},
		"after being copied": func(_ *testing.T, w *pdu.ResultWriter) []setView {
			w.Begin(1)
			w.Uint64(1, 7)
			new(pdu.ResultWriter).CopySets(w, 0, 1)
			return []setView{set}
		},
	} {
		t.Run(name, func(t *testing.T) {
			var w pdu.ResultWriter
			want := closed(t, &w)
			values(&w)
			if w.Len() != len(want) {
				t.Errorf("Len = %d, want %d", w.Len(), len(want))
			}
			if diff := cmp.Diff(want, finish(t, &w, nil).Sets); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestResultWriterSize(t *testing.T) {
	var w pdu.ResultWriter
	everyType(&w)
	if got, want := w.Size(), len(encode(t, w.PDU(pdu.FormatLowRes)))-12; got != want {
		t.Errorf("Size = %d, want %d", got, want)
	}
	w.Reset()
	if w.Size() != 0 || w.Len() != 0 {
		t.Errorf("Size = %d, Len = %d after Reset", w.Size(), w.Len())
	}
}

// TestResultWriterCopySetsInOrder: a merge of several writers in any order equals the result of
// one writer.
func TestResultWriterCopySetsInOrder(t *testing.T) {
	var agents [3]pdu.ResultWriter
	everyType(&agents[0])
	agents[1].Begin(20)
	agents[1].Fail(pdu.ErrNoAgent)
	agents[1].Begin(21)
	agents[1].Begin(22)
	agents[1].String(3, "agent 1")
	agents[2].Begin(30)
	agents[2].Uint64(3, 30)
	agents[2].Begin(31)
	agents[2].Uint32(4, 31)

	var want, got pdu.ResultWriter
	for i := range 11 {
		got.CopySets(&agents[0], 10-i, 10-i+1)
		switch i {
		case 0:
			got.CopySets(&agents[1], 2, 3)
			got.CopySets(&agents[2], 0, 1)
		case 5:
			got.CopySets(&agents[1], 0, 1)
			got.CopySets(&agents[1], 1, 2)
			got.CopySets(&agents[2], 1, 2)
			got.CopySets(&agents[2], 0, 1) // a request may have a metric twice
		}
	}
	r := new(pdu.Result)
	if err := r.Decode(encode(t, agents[0].PDU(pdu.FormatLowRes))); err != nil {
		t.Fatal(err)
	}
	for i := range 11 {
		want.Copy(r.At(10 - i))
		switch i {
		case 0:
			want.Begin(22)
			want.String(3, "agent 1")
			want.Begin(30)
			want.Uint64(3, 30)
		case 5:
			want.Begin(20)
			want.Fail(pdu.ErrNoAgent)
			want.Begin(21)
			want.Begin(31)
			want.Uint32(4, 31)
			want.Begin(30)
			want.Uint64(3, 30)
		}
	}
	if diff := cmp.Diff(finish(t, &want, typesByPMID()), finish(t, &got, typesByPMID()), cmpopts.EquateErrors()); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	for f := range pdu.Format(2) {
		if diff := cmp.Diff(encode(t, want.PDU(f)), encode(t, got.PDU(f))); diff != "" {
			t.Errorf("%v (-want +got):\n%s", f.Kind(), diff)
		}
	}
}

// TestResultWriterCopy: Copy keeps errors, forms and block types, and refuses malformed sets.
func TestResultWriterCopy(t *testing.T) {
	for _, wire := range []string{storeOfString, fetchOfLoad, fetchWithErrors, fetchOfEvents, everyTypeBytes} {
		b := unhex(t, wire)
		r := decodeResult(t, wire)
		w := pdu.ResultWriter{Time: r.Time}
		for _, s := range r.All() {
			w.Copy(s)
		}
		if diff := cmp.Diff(b[pdu.HeaderLen:], encode(t, w.PDU(r.Format))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}

	var r pdu.Result
	shared := `00000000 00000000 00000002 00000001 00000003 00000001
		00000000 00000011 00000001 00000011 00000002 00000011 00000002 00000001 00000001 00000000 00000099 06000040`
	if err := r.Decode(append(unhex(t, shared), make([]byte, 60)...)); err != nil {
		t.Fatal(err)
	}
	var w pdu.ResultWriter
	w.Copy(r.At(0))
	w.Copy(r.At(1))
	want := []setView{{1, pdu.ErrIPC, nil, nil}, {2, pdu.ErrIPC, nil, nil}}
	if diff := cmp.Diff(want, finish(t, &w, nil).Sets, cmpopts.EquateErrors()); diff != "" {
		t.Errorf("malformed (-want +got):\n%s", diff)
	}
}

func TestResultWriterTime(t *testing.T) {
	tests := []struct {
		name      string
		w         pdu.ResultWriter
		low, high string
	}{
		{"none", pdu.ResultWriter{}, `00000000 00000000 00000000`, `00000000 0000000000000000 0000000000000000`},
		{"some", pdu.ResultWriter{Time: time.Unix(0x6b0128cb, 999_999_999)}, `6b0128cb 000f423f 00000000`, `00000000 000000006b0128cb 000000003b9ac9ff`},
		{"before 1970", pdu.ResultWriter{Time: time.Unix(-1, 500_000_000)}, `ffffffff 0007a120 00000000`, `00000000 ffffffffffffffff 000000001dcd6500`},
		{"last of 32 bits", pdu.ResultWriter{Time: time.Unix(math.MaxInt32, 0)}, `7fffffff 00000000 00000000`, `00000000 000000007fffffff 0000000000000000`},
		{"beyond 32 bits", pdu.ResultWriter{Time: time.Unix(math.MaxInt32+1, 0)}, ``, `00000000 0000000080000000 0000000000000000`},
		{"an agent's change", pdu.ResultWriter{Time: time.Unix(5, 5), Changed: pdu.ChangeLabels | pdu.ChangeNames}, `00000018 00000000 00000000`, `00000000 0000000000000018 0000000000000000`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, err := tt.w.Append(make([]byte, pdu.HeaderLen), pdu.FormatLowRes)
			if tt.low == "" {
				if !errors.Is(err, pdu.ErrTooBig) {
					t.Errorf("low resolution: %v, want %v", err, pdu.ErrTooBig)
				}
			} else if diff := cmp.Diff(unhex(t, tt.low), b[pdu.HeaderLen:]); diff != "" {
				t.Errorf("low resolution (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(unhex(t, tt.high), encode(t, tt.w.PDU(pdu.FormatHighRes))); diff != "" {
				t.Errorf("high resolution (-want +got):\n%s", diff)
			}
		})
	}
}

// TestResultWriterCopySets: copying a range of sets gives the same result as copying them one by
// one, from any position and to any position.
func TestResultWriterCopySets(t *testing.T) {
	var from pdu.ResultWriter
	everyType(&from)
	for i := range 12 {
		for j := range 12 {
			var one, many pdu.ResultWriter
			for _, w := range []*pdu.ResultWriter{&one, &many} {
				w.Begin(50)
				for range (i + j) % 3 { // blocks before may be fewer or more than in from
					w.String(1, strings.Repeat("x", 40*i))
				}
			}
			for k := i; k < j; k++ {
				one.CopySets(&from, k, k+1)
			}
			many.CopySets(&from, i, j)
			finish(t, &many, typesByPMID())
			if want, got := encode(t, one.PDU(pdu.FormatHighRes)), encode(t, many.PDU(pdu.FormatHighRes)); !bytes.Equal(want, got) {
				t.Errorf("%d to %d (-one by one +at once):\n%s", i, j, cmp.Diff(want, got))
			}
		}
	}
}

// TestResultWriterResult: a writer's Result equals its decoded encoding.
func TestResultWriterResult(t *testing.T) {
	w := pdu.ResultWriter{Time: time.Unix(1, 2_000_500)}
	everyType(&w)
	got, err := w.Result()
	if err != nil {
		t.Fatal(err)
	}
	want := &pdu.Result{Format: pdu.FormatHighRes}
	must(t, want.Decode(encode(t, w.PDU(pdu.FormatHighRes))))
	w.Reset()
	everyType(&w) // the result owns its memory
	sameResult(t, "a writer's result", want, got)
	if !got.Time.Equal(time.Unix(1, 2_000_500)) {
		t.Errorf("time %v", got.Time)
	}
}
