package tool

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
)

// TestPDUDebug: what is printed of replies that are rare, and of logins.
func TestPDUDebug(t *testing.T) {
	var b strings.Builder
	p := &pduDebug{w: &b, pmns: true, indom: true, labels: true, attr: true, located: true}
	labels, err := pdu.ParseLabels(pdu.LabelDomain, `{"agent":"sample"}`, false)
	if err != nil {
		t.Fatal(err)
	}
	labels.Inst = pdu.NoInst
	type message struct {
		out bool
		pdu pdu.PDU
	}
	for _, m := range []message{
		{true, pdu.ChildReq{Name: "a", Status: true}},
		{false, pdu.NameList{Names: []string{"b", "c"}, Statuses: []int32{pdu.Leaf, pdu.NonLeaf}}},
		{true, pdu.ChildReq{Name: "a.b"}},
		{false, pdu.Status{}},
		{true, pdu.NameList{Names: []string{"x"}}},
		{false, pdu.Status{Code: pdu.ErrName}},
		{false, pdu.LabelReply{Ident: 29, Class: pdu.LabelDomain, Sets: []pdu.LabelSet{labels}}},
		{false, pdu.LabelReply{Ident: 0xffffffff, Class: pdu.LabelContext}},
		{false, pdu.Attr{Value: []byte("PLAIN SCRAM-SHA-256")}},
		{true, pdu.Attr{Value: []byte("PLAIN\x00\x00joe\x00secret")}},
		{true, pdu.Attr{Value: []byte("secret")}},
		{true, pdu.Attr{Key: pdu.AttrContainer, Value: []byte("box")}},
	} {
		body, err := m.pdu.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		if m.out {
			p.sending(m.pdu.Kind(), body)
		} else {
			p.received(m.pdu.Kind(), body)
		}
	}
	for kind := pdu.KindError; kind <= pdu.KindDescs; kind++ { // malformed
		p.sending(kind, []byte{1, 2, 3})
		p.received(kind, []byte{1, 2, 3})
	}
	const want = `SendNameReq: from=0 name="a" pdu=PMNS_CHILD subtype=1
__pmDecodeNameList
namelist dump: numnames = 2
  name[0]: "b"
  name[1]: "c"
statuslist dump: numstatus = 2
  status[0]: 0
  status[1]: 1
pmGetChildren(name="a") -> namelist & statuslist dump: numnames = 2
  name[0]: "b" (leaf)
  name[1]: "c" (non-leaf)
SendNameReq: from=0 name="a.b" pdu=PMNS_CHILD subtype=0
pmGetChildren(name="a.b") -> leaf
pmLookupName: request_names -> [0] x
__pmSendNameList
namelist dump: numnames = 1
  name[0]: "x"
pmLookupName: receive_names <- Unknown metric name
pmLookupName(1, ...) -> Unknown metric name
__pmDecodeLabel(ident=29,type=0x2[domain], 1 sets @P)
[0] pmLabelSet dump from P inst=-1 nlabels=1
pmLabelSet P json:
    {"agent":"sample"}
pmLabelSet P index:
    [0] name(2,5) : value(9,8) [domain]
__pmDecodeLabel(ident=-1,type=0x1[context], 0 sets @(nil))
__pmDecodeAttr [len=19]: payload="PLAIN SCRAM-SHA-256"
__pmSendAttr [len=17]: payload="PLAIN.***"
__pmSendAttr [len=6]: payload=".***"
`
	if diff := cmp.Diff(want, strings.ReplaceAll(b.String(), fmt.Sprintf("%p", p), "P")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
