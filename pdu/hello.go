package pdu

import (
	"errors"
	"io"
)

// ClientHello opens a client's side of a connection to a collector: it reads the
// Challenge and answers with Creds that ask for want, which may only be features
// that need no exchange of their own after it; the collector does not
// acknowledge. It returns what the collector offers. A refusal is its code, such
// as ErrPermission or ErrConnLimit. pid goes along for the collector's log.
func ClientHello(c *Conn, pid int32, want Features) (offered Features, err error) {
	h, body, err := c.Read()
	if err != nil {
		return 0, hello(eof(err))
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
	return ch.Features, c.Write(pid, Creds{Version: ProtocolVersion, Features: want})
}

// AgentHello opens an agent's side of a connection to a collector, where the
// agent speaks first: it sends Creds that ask for want, FeatureAuth and
// FeatureContainer or none, and waits for the answer. It returns what the
// collector grants.
func AgentHello(c *Conn, pid int32, want Features) (granted Features, err error) {
	if err := c.Write(pid, Creds{Version: ProtocolVersion, Features: want}); err != nil {
		return 0, err
	}
	return readCreds(c)
}

// HostHello opens a collector's side of a connection to an agent: it waits for
// the agent's Creds and answers. It returns what the agent wants.
func HostHello(c *Conn, pid int32) (wanted Features, err error) {
	wanted, err = readCreds(c)
	if err != nil {
		return 0, err
	}
	return wanted, c.Write(pid, Creds{Version: ProtocolVersion, Features: wanted & FeatureAuth})
}

func readCreds(c *Conn) (Features, error) {
	h, body, err := c.Read()
	if err != nil {
		return 0, hello(err)
	}
	if h.Kind != KindCreds {
		return 0, hello(&UnexpectedError{Want: KindCreds, Got: h.Kind})
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

// An UnexpectedError is a PDU of the wrong kind. It is ErrIPC.
type UnexpectedError struct {
	Want, Got Kind
}

func (e *UnexpectedError) Error() string {
	return "expected " + e.Want.String() + ", got " + e.Got.String() + ": " + ErrIPC.Error()
}

// Unwrap returns ErrIPC.
func (*UnexpectedError) Unwrap() error { return ErrIPC }

func hello(err error) error { return &OpError{Op: "hello", Err: err} }

// eof makes an error of the end of a stream where more had to come.
func eof(err error) error {
	if errors.Is(err, io.EOF) {
		return problem{ErrIPC, "the collector closed the connection"}
	}
	return err
}
