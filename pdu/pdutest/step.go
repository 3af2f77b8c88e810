package pdutest

import (
	"bytes"
	"fmt"
	"io"

	"github.com/pcp-go/pcp/pdu"
)

// Expect waits for a PDU and fails unless its kind and body are those of want,
// byte for byte. It ignores the sender.
func Expect(want pdu.PDU) Step {
	return func(p *Peer) error { return expect(p, nil, want) }
}

// ExpectFrom is Expect that also compares the sender in the header.
func ExpectFrom(from int32, want pdu.PDU) Step {
	return func(p *Peer) error { return expect(p, &from, want) }
}

func expect(p *Peer, from *int32, want pdu.PDU) error {
	b, err := want.Append(make([]byte, pdu.HeaderLen))
	if err != nil {
		return fmt.Errorf("what is expected cannot be: %w", err)
	}
	h, body, err := p.Conn.Read()
	if err != nil {
		return fmt.Errorf("expected %v: %w", want.Kind(), err)
	}
	if h.Kind == want.Kind() && bytes.Equal(body, b[pdu.HeaderLen:]) && (from == nil || *from == h.From) {
		return nil
	}
	sender := h.From
	if from != nil {
		sender = *from
	}
	return fmt.Errorf("not what was expected (-want +got):\n%s", diff(
		describeBody(sender, want.Kind(), b[pdu.HeaderLen:]), describeBody(h.From, h.Kind, body)))
}

// ExpectKind waits for a PDU and fails unless it has the kind and its body decodes.
func ExpectKind(want pdu.Kind) Step {
	return func(p *Peer) error {
		h, got, err := p.Receive()
		if err != nil {
			return fmt.Errorf("expected %v: %w", want, err)
		}
		if h.Kind != want {
			return fmt.Errorf("expected %v, got\n%s", want, lines("+ ", describe(h.From, got)))
		}
		return nil
	}
}

// Send sends PDUs in one write, with sender 0. A PDU of a ResultWriter is encoded
// when the step runs: the test must not change the writer until then.
func Send(pdus ...pdu.PDU) Step { return SendFrom(0, pdus...) }

// SendFrom is Send with a sender in the header. In requests to an agent the sender is the number of
// the client.
func SendFrom(from int32, pdus ...pdu.PDU) Step {
	return func(p *Peer) error {
		for _, q := range pdus {
			if err := p.Conn.Queue(from, q); err != nil {
				return err
			}
		}
		return p.Conn.Flush()
	}
}

// SendBytes sends any bytes, without a header.
func SendBytes(b []byte) Step {
	return func(p *Peer) error {
		_, err := p.Stream.Write(b)
		return err
	}
}

// Handle calls f with every PDU that arrives and sends the PDUs that f returns, with sender 0,
// until the other end closes the connection. f returns nil for no reply, as to PROFILE. Handle
// must be the last step of a script.
func Handle(f func(h pdu.Header, p pdu.PDU) []pdu.PDU) Step {
	return func(p *Peer) error {
		for {
			h, got, err := p.Receive()
			switch {
			case err == io.EOF:
				return errHungUp
			case err != nil:
				return err
			}
			if err := SendFrom(0, f(h, got)...)(p); err != nil {
				return err
			}
		}
	}
}

// Hangup closes the connection. It must be the last step of a script.
func Hangup() Step {
	return func(p *Peer) error {
		if err := p.Stream.Close(); err != nil {
			return err
		}
		return errHungUp
	}
}

// AcceptClient is a collector's hello to a client: it sends the Challenge and
// expects Creds of the protocol's version.
func AcceptClient(offered pdu.Features) Step {
	return func(p *Peer) error {
		if err := p.Conn.Write(0, pdu.Challenge{Version: pdu.ProtocolVersion, Features: offered}); err != nil {
			return err
		}
		h, got, err := p.Receive()
		if err != nil {
			return fmt.Errorf("expected %v: %w", pdu.KindCreds, err)
		}
		if c, ok := got.(*pdu.Creds); !ok || c.Version != pdu.ProtocolVersion {
			return fmt.Errorf("expected credentials of version %d, got\n%s", pdu.ProtocolVersion, lines("+ ", describe(h.From, got)))
		}
		return nil
	}
}

// AgentHello is an agent's hello to a collector, [pdu.AgentHello].
func AgentHello(want pdu.Features) Step {
	return func(p *Peer) error {
		_, err := pdu.AgentHello(p.Conn, 1, want)
		return err
	}
}
