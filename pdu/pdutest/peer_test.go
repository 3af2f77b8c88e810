package pdutest_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pdu/pdutest"
)

// A recorder is a testing.TB that keeps the failures.
type recorder struct {
	testing.TB
	mu       sync.Mutex
	failures []string
	cleanup  []func()
}

func (*recorder) Helper()            {}
func (r *recorder) Cleanup(f func()) { r.cleanup = append(r.cleanup, f) }

func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.failures) > 0
}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

// end ends the recorder's test and returns what failed.
func (r *recorder) end() []string {
	for _, f := range r.cleanup {
		f()
	}
	return r.failures
}

// TestServe checks which deviations fail a script.
func TestServe(t *testing.T) {
	write := func(from int32, p pdu.PDU) func(net.Conn) {
		return func(c net.Conn) { _ = pdu.NewConn(c).Write(from, p) }
	}
	nothing := func(net.Conn) {}
	read := func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }
	var w pdu.ResultWriter
	w.Begin(pdu.MakePMID(60, 0, 1))
	w.Float64(1, 2.5)
	w.Begin(pdu.MakePMID(60, 0, 2))
	w.Fail(pdu.ErrInst)
	var other pdu.ResultWriter
	other.Begin(pdu.MakePMID(60, 0, 1))
	other.Float64(1, 3.5)
	other.Begin(pdu.MakePMID(60, 0, 2))
	other.Fail(pdu.ErrInst)

	tests := []struct {
		name   string
		script []pdutest.Step
		near   func(net.Conn)
		want   string // how the failure begins; "" for no failure
	}{
		{"nothing", nil, nothing, ""},
		{"as expected", []pdutest.Step{pdutest.Expect(pdu.DescReq{PMID: 1})}, write(7, pdu.DescReq{PMID: 1}), ""},
		{"as expected, from", []pdutest.Step{pdutest.ExpectFrom(7, pdu.DescReq{PMID: 1})}, write(7, pdu.DescReq{PMID: 1}), ""},
		{"of the kind expected", []pdutest.Step{pdutest.ExpectKind(pdu.KindDescReq)}, write(7, pdu.DescReq{PMID: 1}), ""},
		{"hung up", []pdutest.Step{pdutest.Hangup()}, read, ""},
		{"refused", []pdutest.Step{pdutest.Send(pdu.Challenge{Code: pdu.ErrPermission}), pdutest.Hangup()}, read, ""},

		{"from another", []pdutest.Step{pdutest.ExpectFrom(8, pdu.DescReq{PMID: 1})}, write(7, pdu.DescReq{PMID: 1}),
			"pdutest: step 1 of 1: not what was expected (-want +got):\n- DESC_REQ from 8\n+ DESC_REQ from 7\n"},
		{"another kind", []pdutest.Step{pdutest.Expect(pdu.DescReq{PMID: 1})}, write(0, pdu.TextReq{Ident: 1, Text: 5}),
			"pdutest: step 1 of 1: not what was expected (-want +got):\n- DESC_REQ from 0\n-   &{PMID:0.0.1}\n+ TEXT_REQ from 0\n+   &{Ident:1 Text:oneline,pmid}\n"},
		{"not the kind", []pdutest.Step{pdutest.ExpectKind(pdu.KindDesc)}, write(0, pdu.DescReq{PMID: 1}),
			"pdutest: step 1 of 1: expected DESC, got\n+ DESC_REQ from 0\n+   &{PMID:0.0.1}\n"},
		{"another value", []pdutest.Step{pdutest.Expect(w.PDU(pdu.FormatLowRes))}, write(0, other.PDU(pdu.FormatLowRes)),
			"pdutest: step 1 of 1: not what was expected (-want +got):\n  RESULT from 0\n" +
				"-   60.0.1: 1 values [1]=2.500000e+00\n+   60.0.1: 1 values [1]=3.500000e+00\n"},
		{"malformed", []pdutest.Step{pdutest.Expect(pdu.DescReq{PMID: 1})}, func(c net.Conn) { _, _ = c.Write([]byte("\x00\x00\x00\x0c\x00\x00\x70\x04\x00\x00\x00\x00")) },
			"pdutest: step 1 of 1: not what was expected (-want +got):\n"},
		{"malformed, of any kind", []pdutest.Step{pdutest.ExpectKind(pdu.KindDescReq)}, func(c net.Conn) { _, _ = c.Write([]byte("\x00\x00\x00\x0c\x00\x00\x70\x04\x00\x00\x00\x00")) },
			"pdutest: step 1 of 1: expected DESC_REQ: pdu: decode DESC_REQ: pmid at offset 12"},
		{"more than expected", nil, write(0, pdu.Status{}), "pdutest: after the last step, unexpected\n+ ERROR from 0\n"},
		{"half of a PDU", nil, func(c net.Conn) { _, _ = c.Write(make([]byte, 5)) }, "pdutest: after the last step: pdu: read: unexpected EOF"},
		{"less than expected", []pdutest.Step{pdutest.Send(), pdutest.Expect(pdu.Status{})}, nothing, "pdutest: step 2 of 2: expected ERROR: EOF"},
		{"less than a hello", []pdutest.Step{pdutest.AcceptClient(0)}, func(c net.Conn) { _, _, _ = pdu.NewConn(c).Read() },
			"pdutest: step 1 of 1: expected CREDS: EOF"},
		{"not read", []pdutest.Step{pdutest.AcceptClient(0)}, nothing, "pdutest: step 1 of 1: pdu: write: io: read/write on closed pipe"},
		{"no credentials", []pdutest.Step{pdutest.AcceptClient(0)}, func(c net.Conn) {
			near := pdu.NewConn(c)
			_, _, _ = near.Read()
			_ = near.Write(0, pdu.Creds{Version: 1})
		}, "pdutest: step 1 of 1: expected credentials of version 2, got\n+ CREDS from 0\n"},
		{"impossible to expect", []pdutest.Step{pdutest.Expect(pdu.Fetch{})}, nothing, "pdutest: step 1 of 1: what is expected cannot be: pdu: encode FETCH"},
		{"impossible to send", []pdutest.Step{pdutest.Send(pdu.Fetch{})}, nothing, "pdutest: step 1 of 1: pdu: encode FETCH"},
		{"after the end", []pdutest.Step{pdutest.Hangup(), pdutest.Send(pdu.Status{})}, nothing, "pdutest: step 2 of 2 comes after the end"},
		{"a handler given nonsense", []pdutest.Step{pdutest.Handle(nil)}, write(0, pdutest.Raw(0x700b, nil)), "pdutest: step 1 of 1: pdu: decode TYPE-28683?"},
		{"a reply of a handler that cannot be encoded", []pdutest.Step{pdutest.Handle(func(pdu.Header, pdu.PDU) []pdu.PDU { return []pdu.PDU{pdu.Fetch{}} })},
			write(0, pdu.Status{}), "pdutest: step 1 of 1: pdu: encode FETCH"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := new(recorder)
			tt.near(pdutest.Serve(r, tt.script...))
			failures := r.end()
			switch {
			case tt.want == "" && len(failures) > 0:
				t.Errorf("failed: %q", failures)
			case tt.want != "" && (len(failures) != 1 || !strings.HasPrefix(failures[0], tt.want)):
				t.Errorf("failures %q, want %q…", failures, tt.want)
			}
		})
	}
}

// TestServeFailedBefore: a test that has failed on its own is not blamed for leaving the script.
func TestServeFailedBefore(t *testing.T) {
	r := new(recorder)
	pdutest.Serve(r, pdutest.Expect(pdu.Status{}))
	r.Errorf("the test's own failure")
	if diff := cmp.Diff([]string{"the test's own failure"}, r.end()); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}
}

// TestHellos: every hello of this package meets that of package pdu, and bytes go as given.
func TestHellos(t *testing.T) {
	const want = pdu.FeatureAuth
	for name, tt := range map[string]struct {
		far  pdutest.Step
		near func(c *pdu.Conn) (pdu.Features, error)
		want pdu.Features
	}{
		"client": {pdutest.AcceptClient(want), func(c *pdu.Conn) (pdu.Features, error) { return pdu.ClientHello(c, 9, 0) }, want},
		"host":   {pdutest.AgentHello(want), func(c *pdu.Conn) (pdu.Features, error) { return pdu.AcceptAgent(c, 9) }, want},
	} {
		t.Run(name, func(t *testing.T) {
			c := pdu.NewConn(pdutest.Serve(t, tt.far, pdutest.SendFrom(5, pdu.DescReq{PMID: 1}), pdutest.SendBytes([]byte{1, 2, 3}), pdutest.Hangup()))
			got, err := tt.near(c)
			if err != nil || got != tt.want {
				t.Errorf("%#x, %v; want %#x", got, err, tt.want)
			}
			h, _, err := c.Read()
			if diff := cmp.Diff(pdu.Header{Len: 16, Kind: pdu.KindDescReq, From: 5}, h); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
			if _, _, err := c.Read(); err == nil {
				t.Error("three bytes make a PDU")
			}
		})
	}
}

// TestDescribe: every unexpected PDU can be described.
func TestDescribe(t *testing.T) {
	labels := []pdu.LabelSet{{Inst: 1, JSON: []byte(`{"a":1}`)}}
	tests := []struct {
		pdu  pdu.PDU
		want string
	}{
		{pdu.Fetch{Context: 3, PMIDs: []pdu.PMID{1, 2}}, "FETCH from 0\n  context 3\n  0.0.1\n  0.0.2\n"},
		{pdu.DescsReq{PMIDs: []pdu.PMID{1}}, "DESC_IDS from 0\n  0.0.1\n"},
		{pdu.PMIDList{Status: 1, PMIDs: []pdu.PMID{1}}, "PMNS_IDS from 0\n  status 1\n  0.0.1\n"},
		{pdu.DescsReply{Descs: []pdu.Desc{{PMID: 1}}}, "DESCS from 0\n  {PMID:0.0.1 Type:32 InDom:0.0 Sem:??? Units:}\n"},
		{pdu.InstanceReply{InDom: 1, Instances: []pdu.Instance{{ID: 2, Name: "b"}}}, "INSTANCE from 0\n  0.1\n  {ID:2 Name:b}\n"},
		{pdu.NameList{Names: []string{"a"}, Statuses: []int32{1}}, "PMNS_NAMES from 0\n  error 0, statuses [1]\n  a\n"},
		{pdu.LabelReply{Ident: 1, Class: 2, Sets: labels}, "LABEL from 0\n  ident 0x1, class 0x2\n  1: error 0, {\"a\":1} []\n"},
		{pdu.Attr{Key: pdu.AttrUserID, Value: []byte("0\x00")}, "ATTR from 0\n  userid \"0\\x00\"\n"},
	}
	for _, tt := range tests {
		r := new(recorder)
		_ = pdu.NewConn(pdutest.Serve(r)).Write(0, tt.pdu)
		want := "pdutest: after the last step, unexpected\n"
		for l := range strings.Lines(tt.want) {
			want += "+ " + l
		}
		if diff := cmp.Diff([]string{want}, r.end()); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tt.pdu.Kind(), diff)
		}
	}
}
