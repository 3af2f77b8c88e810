package pdu_test

import (
	"bytes"
	"fmt"
	"io"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pcp-go/pcp/pdu"
)

// usedValues has a decoded value of each kind, to decode into again.
type usedValues map[pdu.Kind]codec

// checkBody checks the invariants of any body of any kind. A refusal is a protocol error and
// leaves the value empty. An accepted body can be walked over and encoded, and the encoding
// decodes to the same value, both in a new value and in a used one.
func checkBody(t fataler, k pdu.Kind, body []byte, used usedValues) {
	t.Helper()
	p, err := pdu.Decode(k, body)
	if err != nil {
		if p != nil || !breaksProtocol(err) {
			t.Fatalf("%v: refused with %v, %v", k, p, err)
		}
		return
	}
	if p.Kind() != k {
		t.Fatalf("%v decodes to a %v", k, p.Kind())
	}
	if r, ok := p.(*pdu.Result); ok {
		if !checkResult(t, r) {
			return
		}
	}
	if l, ok := p.(*pdu.LabelReply); ok {
		walkLabels(l)
	}
	enc, err := p.Append(make([]byte, pdu.HeaderLen))
	if err != nil {
		t.Fatalf("%v: decoded, but cannot be encoded: %v", k, err)
	}
	again, err := pdu.Decode(k, enc[pdu.HeaderLen:])
	if err != nil {
		t.Fatalf("%v: encoded, but cannot be decoded again: %v", k, err)
	}
	sameValue(t, "decoded again", p, again)

	key := k
	if _, ok := p.(*pdu.Challenge); ok {
		key = -1 // the other kind of ERROR
	}
	if u := used[key]; u != nil {
		if err := u.Decode(body); err != nil {
			t.Fatalf("%v: a used value refuses: %v", k, err)
		}
		sameValue(t, "a used value", p, u)
	}
	if used != nil {
		used[key] = p.(codec)
	}
}

func sameValue(t fataler, what string, p, q pdu.PDU) {
	t.Helper()
	if r, ok := p.(*pdu.Result); ok {
		sameResult(t, what, r, q.(*pdu.Result))
		return
	}
	if diff := cmp.Diff(p, q, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("%v: %s differs (-want +got):\n%s", p.Kind(), what, diff)
	}
}

// everyTypeNumber are the types that a descriptor may claim, and some more.
var everyTypeNumber = []pdu.Type{pdu.TypeNoSupport, pdu.Type32, pdu.TypeU32, pdu.Type64, pdu.TypeU64, pdu.TypeFloat, pdu.TypeDouble,
	pdu.TypeString, pdu.TypeAggregate, pdu.TypeAggregateStatic, pdu.TypeEvent, pdu.TypeHighResEvent, 11, pdu.TypeUnknown}

// sameResult compares all values, as every type.
func sameResult(t fataler, what string, a, b *pdu.Result) {
	t.Helper()
	at := a.Time
	if a.Format != b.Format && b.Format == pdu.FormatLowRes {
		if at = at.Truncate(time.Microsecond); at.Equal(time.Unix(0, 0)) {
			at = time.Time{}
		}
	}
	if !at.Equal(b.Time) || a.Len() != b.Len() {
		t.Fatalf("%s: %d sets at %v, want %d at %v", what, b.Len(), b.Time, a.Len(), a.Time)
	}
	for i, s := range a.All() {
		z := b.At(i)
		if s.PMID != z.PMID || s.Err() != z.Err() || s.Len() != z.Len() {
			t.Fatalf("%s: set %d: %v with %d values, %v; want %v with %d, %v", what, i, z.PMID, z.Len(), z.Err(), s.PMID, s.Len(), s.Err())
		}
		for j := range s.Len() {
			if s.Inst(j) != z.Inst(j) {
				t.Fatalf("%s: set %d: instance %d, want %d", what, i, z.Inst(j), s.Inst(j))
			}
			for _, typ := range everyTypeNumber {
				if v, w := s.Atom(j, typ), z.Atom(j, typ); !v.Equal(w) {
					t.Fatalf("%s: set %d, instance %d, as %v: %v, want %v", what, i, s.Inst(j), typ, w, v)
				}
			}
		}
	}
}

// checkResult walks over a result and copies it; it reports whether the blocks
// are good. They decide whether it can be encoded.
func checkResult(t fataler, r *pdu.Result) bool {
	t.Helper()
	var w pdu.ResultWriter
	w.Time = r.Time
	for _, s := range r.All() {
		for _, typ := range everyTypeNumber {
			for _, a := range s.All(typ) {
				walkAtom(a)
			}
		}
		w.Copy(s)
	}
	for f := range pdu.Format(2) {
		b, err := w.Append(make([]byte, pdu.HeaderLen), f)
		if err != nil {
			if f == pdu.FormatLowRes && r.Format == pdu.FormatHighRes {
				continue // a time beyond 32 bits
			}
			t.Fatalf("a copy cannot be encoded: %v", err)
		}
		c := pdu.Result{Format: f}
		if err := c.Decode(b[pdu.HeaderLen:]); err != nil {
			t.Fatalf("a copy cannot be decoded: %v", err)
		}
		if err := c.Validate(); err != nil {
			t.Fatalf("a copy is not valid: %v", err)
		}
		if r.Validate() == nil {
			sameResult(t, "a copy as "+f.Kind().String(), r, &c)
		}
	}
	err := r.Validate()
	if _, e := r.Append(make([]byte, pdu.HeaderLen)); (e == nil) != (err == nil) {
		t.Fatalf("Validate says %v, Append %v", err, e)
	}
	return err == nil
}

// walkAtom reads everything in a value.
func walkAtom(a pdu.Atom) {
	_, _ = pdu.As[float64](a)
	_, _ = pdu.As[string](a)
	_ = a.String()
	events, err := a.Events()
	if err != nil {
		return
	}
	for e := range events.All() {
		for _, v := range e.Params() {
			_ = v.String()
		}
	}
}

// walkLabels reads all labels.
func walkLabels(l *pdu.LabelReply) {
	for _, s := range l.Sets {
		for v := range s.All() {
			_, _ = s.Lookup(v.Name)
			_ = v.Text()
		}
		_ = s.String()
		_, _ = pdu.MergeLabels(nil, s)
	}
}

// checkStream holds what must be true of any stream of bytes: however they
// arrive, the same PDUs come out, and waits end.
func checkStream(t fataler, wire []byte) {
	t.Helper()
	read := func(r io.Reader) ([]frame, string) {
		c := pdu.NewConn(readWriter{r, io.Discard})
		c.MaxLen = 1 << 20
		waiting := false
		c.Partial = func(w bool) {
			if w == waiting {
				t.Fatalf("Partial(%v) twice", w)
			}
			waiting = w
		}
		frames, err := readAll(c)
		if waiting {
			t.Fatalf("a wait has not ended")
		}
		return frames, err.Error()
	}
	want, wantErr := read(bytes.NewReader(wire))
	got, gotErr := read(iotest.OneByteReader(bytes.NewReader(wire)))
	if gotErr != wantErr || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("one byte at a time: %v, %s; at once: %v, %s", got, gotErr, want, wantErr)
	}
	n := 0
	for _, f := range want {
		if f.Header.Len != len(f.Body)+pdu.HeaderLen {
			t.Fatalf("a body of %d bytes for %+v", len(f.Body), f.Header)
		}
		n += f.Header.Len
	}
	if n > len(wire) {
		t.Fatalf("%d bytes read of %d", n, len(wire))
	}
}
