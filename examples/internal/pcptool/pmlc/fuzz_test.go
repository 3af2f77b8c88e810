package pmlc

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pcp-go/pcp/pdu"
)

// FuzzPDU decodes bodies of all kinds: what is accepted can be encoded, and then is the same; an
// error leaves nothing.
func FuzzPDU(f *testing.F) {
	for _, tt := range codecTests {
		f.Add(int32(tt.pdu.Kind()), unhex(f, tt.wire))
	}
	for _, tt := range malformedTests {
		f.Add(int32(tt.kind), unhex(f, tt.wire))
	}
	f.Add(int32(pdu.KindResult), unhex(f, "00000000 00000000 00000001 07400005 00000002 00000000 00000000 0000000e 00000001 0a4cb80f"))
	f.Fuzz(func(t *testing.T, kind int32, body []byte) {
		k := pdu.Kind(kind)
		if k == pdu.KindResult {
			states, err := decodeStates(body)
			if err != nil {
				return
			}
			again, err := decodeStates(encode(t, statesPDU(states)))
			if diff := cmp.Diff(states, again); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
			return
		}
		p := newPDU(k)
		if err := p.Decode(body); err != nil {
			if diff := cmp.Diff(newPDU(k), p); k != KindRequest && diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
			return
		}
		b, err := p.Append(make([]byte, pdu.HeaderLen))
		if err != nil {
			if c, ok := p.(*ControlReq); ok && c.State == 1 { // advisory maybe, which is received alone
				return
			}
			t.Fatal(err)
		}
		again := newPDU(k)
		if err := again.Decode(b[pdu.HeaderLen:]); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(p, again); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
