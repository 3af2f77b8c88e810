package pdu_test

import (
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
)

// TestHello checks what each side of the handshake reads, sends and returns.
func TestHello(t *testing.T) {
	client := func(c *pdu.Conn) (pdu.Features, error) { return pdu.ClientHello(c, 0x751e, pdu.FeatureCertRequired) }
	agent := func(c *pdu.Conn) (pdu.Features, error) { return pdu.AgentHello(c, 0x359, pdu.FeatureAuth) }
	host := func(c *pdu.Conn) (pdu.Features, error) { return pdu.AcceptAgent(c, 0x355) }
	const (
		clientCreds = `00000014 0000700c 0000751e 00000001 01020080`
		agentCreds  = `00000014 0000700c 00000359 00000001 01020004`
		hostCreds   = `00000014 0000700c 00000355 00000001 01020004`
	)
	tests := []struct {
		name  string
		hello func(*pdu.Conn) (pdu.Features, error)
		in    string
		out   string
		want  pdu.Features
		err   error
		text  string
	}{
		{"client", client, `00000014 00007000 00000000 00000000 02010e44`, clientCreds, allFeatures, nil, ""},
		{"client of a secure collector", client, `00000014 00007000 00000000 00000000 02010e55`, clientCreds,
			allFeatures | pdu.FeatureSecure | pdu.FeatureSecureAck, nil, ""},
		{"client refused", client, `00000014 00007000 00000000 fffffbee 00000000`, ``, 0, pdu.ErrPermission,
			"pdu: hello: No permission to perform requested operation"},
		{"client refused by limit", client, `00000014 00007000 00000000 fffffbed 00000000`, ``, 0, pdu.ErrConnLimit,
			"pdu: hello: PMCD connection limit for this host exceeded"},
		{"client refused by errno", client, `00000014 00007000 00000000 fffffff4 00000000`, ``, 0, pdu.Error(-12),
			"pdu: hello: Cannot allocate memory"},
		{"client, another version", client, `00000014 00007000 00000000 00000000 03010e44`, ``, 0, pdu.ErrIPC,
			"pdu: hello: the collector speaks another version of the protocol: IPC protocol failure"},
		{"client, plain error", client, `00000010 00007000 00000000 00000000`, ``, 0, pdu.ErrIPC,
			"pdu: decode ERROR: version at offset 16: needs 1 bytes, 0 left: IPC protocol failure"},
		{"client, wrong PDU", client, `00000014 0000700c 0000751e 00000001 01020000`, ``, 0, pdu.ErrIPC,
			"pdu: hello: the collector did not begin with a challenge but with CREDS: IPC protocol failure"},
		{"client, end", client, ``, ``, 0, pdu.ErrIPC,
			"pdu: hello: the collector closed the connection: IPC protocol failure"},
		{"client, end within", client, `00000014 00007000`, ``, 0, io.ErrUnexpectedEOF,
			"pdu: hello: pdu: read: unexpected EOF"},

		{"agent", agent, `00000014 0000700c 00000355 00000001 01020004`, agentCreds, pdu.FeatureAuth, nil, ""},
		{"agent, nothing granted", agent, `00000014 0000700c 00000355 00000001 01020000`, agentCreds, 0, nil, ""},
		{"agent, wrong PDU", agent, `00000010 00007000 00000000 ffffcfa3`, agentCreds, 0, pdu.ErrIPC,
			"pdu: hello: expected CREDS, got ERROR: IPC protocol failure"},
		{"agent, end", agent, ``, agentCreds, 0, io.EOF, "pdu: hello: EOF"},
		{"agent, malformed", agent, `00000010 0000700c 00000355 00000001`, agentCreds, 0, pdu.ErrIPC, ""},

		{"host", host, `00000014 0000700c 00000359 00000001 01020044`, hostCreds,
			pdu.FeatureAuth | pdu.FeatureContainer, nil, ""},
		{"host, no version", host, `00000014 0000700c 00000359 00000001 02020000`, ``, 0, pdu.ErrIPC,
			"pdu: hello: no credential of protocol version 2: IPC protocol failure"},
		{"host, another version", host, `00000014 0000700c 00000359 00000001 01010000`, ``, 0, pdu.ErrIPC,
			"pdu: hello: no credential of protocol version 2: IPC protocol failure"},
		{"host, end", host, ``, ``, 0, io.EOF, "pdu: hello: EOF"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStream(unhex(t, tt.in))
			got, err := tt.hello(pdu.NewConn(s))
			if got != tt.want {
				t.Errorf("features %#x, want %#x", got, tt.want)
			}
			if !errors.Is(err, tt.err) || err == nil != (tt.err == nil) {
				t.Errorf("error %v, want %v", err, tt.err)
			}
			if err != nil && tt.text != "" && err.Error() != tt.text {
				t.Errorf("error %q, want %q", err, tt.text)
			}
			if diff := cmp.Diff(unhex(t, tt.out), s.Bytes()); diff != "" {
				t.Errorf("sent (-want +got):\n%s", diff)
			}
		})
	}
}

// TestHelloWriteError has a peer that refuses writes.
func TestHelloWriteError(t *testing.T) {
	for name, hello := range map[string]func(*pdu.Conn) (pdu.Features, error){
		"client": func(c *pdu.Conn) (pdu.Features, error) { return pdu.ClientHello(c, 1, 0) },
		"agent":  func(c *pdu.Conn) (pdu.Features, error) { return pdu.AgentHello(c, 1, 0) },
		"host":   func(c *pdu.Conn) (pdu.Features, error) { return pdu.AcceptAgent(c, 1) },
	} {
		in := `00000014 00007000 00000000 00000000 02010e44`
		if name != "client" {
			in = `00000014 0000700c 00000355 00000001 01020004`
		}
		if _, err := hello(pdu.NewConn(readWriter{newStream(unhex(t, in)), brokenWriter{}})); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
