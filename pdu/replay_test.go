package pdu_test

import (
	"bytes"
	"encoding/binary"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

// A capture is what C programs said to each other.
type capture struct {
	name string
	pdus []pcptest.PDU
}

// captures returns every capture. It fails without any.
func captures(t testing.TB) []capture {
	t.Helper()
	files, err := filepath.Glob("testdata/captures/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []capture
	for _, f := range files {
		pdus, err := pcptest.ReadCapture(f)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, capture{filepath.Base(f), pdus})
	}
	if len(all) == 0 {
		t.Fatal("testdata/captures has no captures; its README says how to record them")
	}
	return all
}

// TestReplay: everything that C programs send is decoded, and encoded again byte for byte. No
// capture needs an exception. An exception would be needed for profiles in another order, and for
// padding and retired fields with unusual contents.
func TestReplay(t *testing.T) {
	seen := map[pdu.Kind]int{}
	used := usedValues{}
	for _, c := range captures(t) {
		t.Run(c.name, func(t *testing.T) {
			types := captureTypes(t, c)
			for i, p := range c.pdus {
				k := pdu.Kind(p.Type())
				body := p.Bytes[pdu.HeaderLen:]
				got, err := pdu.Decode(k, body)
				if err != nil {
					if k <= pdu.KindDescs { // beyond are requests sent to see them refused
						t.Errorf("PDU %d of %q: %v\n%x", i, p.Section, err, p.Bytes)
					}
					continue
				}
				seen[k]++
				checkBody(t, k, body, used)
				if r, ok := got.(*pdu.Result); ok {
					if err := r.Validate(); err != nil {
						t.Errorf("PDU %d of %q: %v", i, p.Section, err)
					}
					checkValues(t, r, types)
				}
				s := newStream(nil)
				if err := pdu.NewConn(s).Write(int32(binary.BigEndian.Uint32(p.Bytes[8:])), got); err != nil {
					t.Errorf("PDU %d of %q: %v", i, p.Section, err)
				} else if !bytes.Equal(p.Bytes, s.Bytes()) {
					t.Errorf("PDU %d of %q (-recorded +encoded):\n%s", i, p.Section, cmp.Diff(p.Bytes, s.Bytes()))
				}
			}
		})
	}
	for _, k := range slices.Sorted(maps.Keys(seen)) {
		t.Logf("%5d %v", seen[k], k)
	}
	for k := pdu.KindError; k <= pdu.KindDescs; k++ {
		if seen[k] == 0 && k != pdu.KindControlReq && k != 0x700b {
			t.Errorf("no capture has a %v", k)
		}
	}
}

// captureTypes are the types of the metrics whose descriptors a capture has.
func captureTypes(t *testing.T, c capture) map[pdu.PMID]pdu.Type {
	types := map[pdu.PMID]pdu.Type{}
	for _, p := range c.pdus {
		k := pdu.Kind(p.Type())
		if k != pdu.KindDesc && k != pdu.KindDescs {
			continue
		}
		got, err := pdu.Decode(k, p.Bytes[pdu.HeaderLen:])
		if err != nil {
			t.Fatal(err)
		}
		switch d := got.(type) {
		case *pdu.DescReply:
			types[d.Desc.PMID] = d.Desc.Type
		case *pdu.DescsReply:
			for _, d := range d.Descs {
				types[d.PMID] = d.Type
			}
		}
	}
	return types
}

// checkValues wants every value to be of its metric's type, and to be whole.
func checkValues(t *testing.T, r *pdu.Result, types map[pdu.PMID]pdu.Type) {
	t.Helper()
	for _, s := range r.All() {
		typ, known := types[s.PMID]
		if !known {
			continue
		}
		for inst, a := range s.All(typ) {
			if a.Type != typ {
				t.Errorf("%v, instance %d: %v, want %v", s.PMID, inst, a.Type, typ)
			}
			if typ != pdu.TypeEvent && typ != pdu.TypeHighResEvent {
				continue
			}
			if _, err := a.Events(); err != nil {
				t.Errorf("%v, instance %d: %v", s.PMID, inst, err)
			}
		}
	}
}
