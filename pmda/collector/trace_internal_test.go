package collector

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/pdu"
)

func TestTraceFailures(t *testing.T) {
	read := func(err error) error { return &pdu.OpError{Op: "read", Err: err} }
	tests := []struct {
		name string
		err  error
		want string
	}{
		{"no failure", nil, ""},
		{"not of the connection", errors.New("refused"), ""},
		{"end", read(io.ErrUnexpectedEOF), "Premature EOF: expecting NO PDU, fd=-1"},
		{"time-out", read(os.ErrDeadlineExceeded), "Recv timeout: expecting NO PDU, fd=-1"},
		{"garbage", read(pdu.ErrIPC), "Recv error: expecting NO PDU, fd=-1, err=-12366: "},
		{"write", &pdu.OpError{Op: "write", Kind: pdu.KindDesc, Err: pdu.ErrIPC}, "Send DESC PDU failed: fd=-1, err=-12366: "},
	}
	for _, tt := range tests {
		b := NewFixture(t, &Server{})
		b.Store("control.traceconn", 1)
		b.traceFailure(nil, tt.err)
		got := b.Dumped()
		if tt.want == "" {
			if len(got) != 3 {
				t.Errorf("%s: %q", tt.name, got)
			}
			continue
		}
		if len(got) < 3 || !strings.HasPrefix(got[2], "->         "+tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestTraceOfPDUs(t *testing.T) {
	pmid := pdu.MakePMID(2, 0, 23)
	d := pdu.MakeInDom(2, 3)
	tests := []struct {
		p    pdu.PDU
		want string
	}{
		{pdu.Status{Code: pdu.ErrPMID}, ", err=-12358: Unknown or illegal metric identifier"},
		{pdu.SetProfile{}, ""},
		{&pdu.Fetch{PMIDs: []pdu.PMID{pmid, pmid, pmid}}, ", numpmid=3"},
		{pdu.DescReq{PMID: pmid}, ", pmid=2.0.23"},
		{pdu.DescReply{Desc: pdu.Desc{PMID: pmid}}, ", pmid=2.0.23"},
		{pdu.InstanceReq{InDom: d, Inst: pdu.NoInst}, ", indom=2.3"},
		{pdu.InstanceReply{InDom: d}, ", indom=2.3"},
		{pdu.TextReq{Ident: uint32(pmid), Text: pdu.TextPMID | pdu.TextHelp}, ", id=0x800017"},
		{pdu.TextReply{Ident: uint32(pmid), Text: "x"}, ", id=0x800017"},
		{pdu.Creds{Version: 2}, ", numcreds=1"},
		{pdu.PMIDList{PMIDs: []pdu.PMID{pmid}}, ", numpmid=1"},
		{pdu.NameList{Names: []string{"a", "b"}}, ", numpmid=2"},
		{pdu.ChildReq{Name: "a"}, ""},
		{pdu.DescsReq{PMIDs: []pdu.PMID{pmid}}, ", numpmid=1"},
		{pdu.DescsReply{Descs: make([]pdu.Desc, 2)}, ", numpmid=2"},
	}
	for _, tt := range tests {
		b, err := tt.p.Append(make([]byte, pdu.HeaderLen))
		if err != nil {
			t.Fatal(err)
		}
		if got := pduDetail(tt.p.Kind(), b[pdu.HeaderLen:]); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.p.Kind(), got, tt.want)
		}
	}
	if got := pduDetail(pdu.KindDesc, []byte("short")); got != ", err=-12366: IPC protocol failure" {
		t.Errorf("a malformed PDU: %q", got)
	}
}

func TestDescriptor(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	p := &process{stream: &pipes{r: r, w: w}}
	in, out := p.descriptors()
	if in < 3 || out < 3 || in == out {
		t.Errorf("the descriptors of pipes are %d and %d", in, out)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if name := peerName(c); name != "127.0.0.1" {
		t.Errorf("the peer is %q", name)
	}
}

// TestTraceAllocatesNothing checks that a PDU allocates nothing while nothing is traced.
func TestTraceAllocatesNothing(t *testing.T) {
	b := NewFixture(t, &Server{})
	trace := b.tracePDU(nil)
	if n := testing.AllocsPerRun(100, func() { trace(true, pdu.Header{}, nil) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
