package collector

import (
	"errors"
	"io"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda/collector/internal/collectortest"
)

// dumped is the lines of a dump of the trace, without its times.
func (b *fixture) dumped() []string {
	b.t.Helper()
	b.log.Take()
	if err := b.store("control.dumptrace", 1); err != nil {
		b.t.Fatal(err)
	}
	return strings.Split(untimed(strings.Join(b.log.Take(), "\n")), "\n")
}

var times = regexp.MustCompile(`\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}|\d\d:\d\d:\d\d `)

func untimed(s string) string {
	return times.ReplaceAllStringFunc(s, func(t string) string {
		if len(t) == 9 {
			return strings.Repeat(" ", 9)
		}
		return "TIME"
	})
}

// The bits of pmcd's option are the switches that clients can set.
func TestTraceFromTheStart(t *testing.T) {
	for bits, want := range map[Trace]string{0: "0 0 0", 1: "1 0 0", 2: "0 1 0", 3: "1 1 0", 256: "0 0 1", 259: "1 1 1", 4: "0 0 0"} {
		b := newFixture(t, &Server{Trace: bits})
		got := strings.Join(slices.Concat(b.fetch("control.traceconn"), b.fetch("control.tracepdu"), b.fetch("control.tracenobuf")), " ")
		if got != want {
			t.Errorf("Trace %d: %s, want %s", bits, got, want)
		}
	}
}

// What happens to clients and agents is in the trace.
func TestTraceOfConnections(t *testing.T) {
	b := newFixture(t, &Server{})
	b.store("control.traceconn", 1)
	b.store("control.tracepdu", 1)
	if err := b.Add(collectortest.EmptyAgent("a", 7)); err != nil {
		t.Fatal(err)
	}
	conn, err := b.DialContext(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	conn.SetDeadline(time.Now().Add(time.Minute))
	if err := fetchOver(conn, []pdu.PMID{b.pmid("pid"), b.pmid("version")}); err != nil {
		t.Fatal(err)
	}
	conn.Close()
	collectortest.Eventually(t, "end of the client", func() bool { return len(b.clientList()) == 0 })
	want := []string{"",
		"->PMCD event trace: starting at TIME",
		"->         Add PMDA: domain=7, DSO",
		"->         New client: [0] addr=in-process, fd=-1, seq=0",
		"->         Xmit: ERROR PDU, fd=-1, err=0: No error",
		"->         Recv: CREDS PDU, fd=-1, numcreds=1",
		"->         Recv: PROFILE PDU, fd=-1",
		"->         Recv: FETCH PDU, fd=-1, numpmid=2",
		"->         Xmit: RESULT PDU, fd=-1, numpmid=2",
		"->         Recv: RESULT PDU, fd=-1, numpmid=1",
		"->         Xmit: ERROR PDU, fd=-1, err=0: No error",
		"->         End client: [0] fd=-1", ""}
	got := b.dumped()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	b.log.Take()
	if err := b.Remove(7); err != nil {
		t.Fatal(err)
	}
	if log := untimed(strings.Join(b.log.Take(), "\n")); !strings.Contains(log, "->         Drop PMDA: domain=7, DSO") {
		t.Errorf("no dump when an agent has gone: %q", log)
	}
}

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
		b := newFixture(t, &Server{})
		b.store("control.traceconn", 1)
		b.traceFailure(nil, tt.err)
		got := b.dumped()
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
	if fd := descriptor(c); fd < 3 {
		t.Errorf("the descriptor of a socket is %d", fd)
	}
	if name := peerName(c); name != "127.0.0.1" {
		t.Errorf("the peer is %q", name)
	}
	c.Close()
	if fd := descriptor(c); fd != -1 {
		t.Errorf("the descriptor of what is closed is %d", fd)
	}
}

// While nothing is traced a PDU costs no memory.
func TestTraceAllocatesNothing(t *testing.T) {
	b := newFixture(t, &Server{})
	trace := b.tracePDU(nil, nil)
	if n := testing.AllocsPerRun(100, func() { trace(true, pdu.Header{}, nil) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
