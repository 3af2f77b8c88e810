package pdu

import "github.com/pcp-go/pcp/internal/wire"

// An OpError says which step of the protocol failed, on what kind of PDU, and
// why. Of a malformed PDU, Err names the field and its offset from the start of
// the PDU and unwraps to ErrIPC.
type OpError struct {
	Op   string // "decode", "encode", "read", "write" or "hello"
	Kind Kind   // 0 if it is not known
	Err  error
}

func (e *OpError) Error() string {
	s := "pdu: " + e.Op
	if e.Kind != 0 {
		s += " " + e.Kind.String()
	}
	return s + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *OpError) Unwrap() error { return e.Err }

// A malformed body is an IPC failure with a place.
type malformed struct{ at *wire.Error }

func (m malformed) Error() string { return m.at.Error() + ": " + ErrIPC.Error() }

func (malformed) Unwrap() error { return ErrIPC }

// malformedIn turns a cursor's failure into the error of a decoder; nil stays nil.
func malformedIn(k Kind, err error) error {
	if err == nil {
		return nil
	}
	return &OpError{Op: "decode", Kind: k, Err: malformed{err.(*wire.Error)}}
}

// A problem is something that a layout cannot hold.
type problem struct {
	code Error
	text string
}

func (p problem) Error() string { return p.text + ": " + p.code.Error() }

func (p problem) Unwrap() error { return p.code }

func refuse(k Kind, code Error, text string) error {
	return &OpError{Op: "encode", Kind: k, Err: problem{code, text}}
}
