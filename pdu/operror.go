package pdu

import (
	"github.com/pcp-go/pcp/internal/ctxwait"
	"github.com/pcp-go/pcp/internal/wire"
)

// An OpError is the failure of an operation on a PDU. Of a malformed PDU, Err
// names the field and its offset from the start of the PDU and unwraps to ErrIPC.
type OpError struct {
	Op   string // "decode", "encode", "read", "write" or "hello"
	Kind Kind   // 0 if it is not known
	Err  error
}

// Error is the operation, the kind if it is known, and the cause.
func (e *OpError) Error() string {
	s := "pdu: " + e.Op
	if e.Kind != 0 {
		s += " " + e.Kind.String()
	}
	return s + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *OpError) Unwrap() error { return e.Err }

// Timeout reports whether a deadline of the stream passed.
func (e *OpError) Timeout() bool { return ctxwait.TimedOut(e.Err) }

// malformed is an ErrIPC with the place in a body that is wrong.
type malformed struct{ at *wire.Error }

func (m malformed) Error() string { return m.at.Error() + ": " + ErrIPC.Error() }

func (malformed) Unwrap() error { return ErrIPC }

// malformedIn makes a decoder's error of a cursor's; nil stays nil.
func malformedIn(k Kind, err error) error {
	if err == nil {
		return nil
	}
	return &OpError{Op: "decode", Kind: k, Err: malformed{err.(*wire.Error)}}
}

// A problem is an Error with a text that describes the problem.
type problem struct {
	code Error
	text string
}

func (p problem) Error() string { return p.text + ": " + p.code.Error() }

func (p problem) Unwrap() error { return p.code }

// refuse is the error of an encoder.
func refuse(k Kind, code Error, text string) error {
	return &OpError{Op: "encode", Kind: k, Err: problem{code, text}}
}
