package pdu

import (
	"errors"
	"io"
)

// ClientHello performs the version handshake of a client with a collector. It reads the Challenge
// and replies with Creds that request the features in want. These must be features that need no
// further exchange; the collector does not acknowledge them. pid is the client's process id, which
// the collector may log. ClientHello returns the features that the collector offers. A refusal
// is an *OpError around the collector's code, such as ErrPermission or ErrConnLimit.
func ClientHello(c *Conn, pid int32, want Features) (offered Features, err error) {
	if offered, err = ReadChallenge(c); err != nil {
		return 0, err
	}
	return offered, c.Write(pid, Creds{Version: ProtocolVersion, Features: want})
}

// ReadChallenge is the first half of ClientHello, for a client that must know the offered
// features before it replies with Creds.
func ReadChallenge(c *Conn) (offered Features, err error) {
	h, body, err := c.Read()
	if err != nil {
		return 0, hello(closedEarly(err))
	}
	var ch Challenge
	if h.Kind != KindError {
		return 0, hello(problem{ErrIPC, "the collector did not begin with a challenge but with " + h.Kind.String()})
	}
	if err := ch.Decode(body); err != nil {
		return 0, err
	}
	switch {
	case ch.Code != 0:
		return 0, hello(ch.Code)
	case ch.Version != ProtocolVersion:
		return 0, hello(problem{ErrIPC, "the collector speaks another version of the protocol"})
	}
	return ch.Features, nil
}

// AgentHello performs the version handshake of an agent with its collector, in
// which the agent speaks first: it sends Creds that request the features in want (FeatureAuth
// and FeatureContainer, or none) and waits for the reply. The result is what the
// collector grants.
func AgentHello(c *Conn, pid int32, want Features) (granted Features, err error) {
	if err := c.Write(pid, Creds{Version: ProtocolVersion, Features: want}); err != nil {
		return 0, err
	}
	return readCreds(c)
}

// AcceptAgent performs the version handshake of a collector with an agent, whose
// side is AgentHello: it waits for the agent's Creds and replies. The result is
// the features that the agent requests.
func AcceptAgent(c *Conn, pid int32) (requested Features, err error) {
	requested, err = readCreds(c)
	if err != nil {
		return 0, err
	}
	return requested, c.Write(pid, Creds{Version: ProtocolVersion, Features: requested & FeatureAuth})
}

// readCreds waits for the peer's Creds.
func readCreds(c *Conn) (Features, error) {
	h, body, err := c.Read()
	if err != nil {
		return 0, hello(err)
	}
	if h.Kind != KindCreds {
		return 0, hello(h.Unexpected(KindCreds))
	}
	var creds Creds
	if err := creds.Decode(body); err != nil {
		return 0, err
	}
	if creds.Version != ProtocolVersion {
		return 0, hello(problem{ErrIPC, "no credential of protocol version 2"})
	}
	return creds.Features, nil
}

// Unexpected returns the error for a PDU that is not of the expected kind. It wraps ErrIPC.
func (h Header) Unexpected(want Kind) error {
	return problem{ErrIPC, "expected " + want.String() + ", got " + h.Kind.String()}
}

// hello wraps the error of a failed handshake.
func hello(err error) error { return &OpError{Op: "hello", Err: err} }

// closedEarly replaces io.EOF by ErrIPC, because the handshake is incomplete.
func closedEarly(err error) error {
	if errors.Is(err, io.EOF) {
		return problem{ErrIPC, "the collector closed the connection"}
	}
	return err
}
