package pmlc

import (
	"fmt"

	"github.com/pcp-go/pcp/pdu"
)

// The kinds of PDU of this protocol, besides ERROR, CREDS and RESULT of package pdu.
const (
	KindControl  pdu.Kind = 0x8000
	KindStatusV2 pdu.Kind = 0x8001
	KindRequest  pdu.Kind = 0x8002
	KindStatus   pdu.Kind = 0x8003
)

// The versions of the protocol, which differ in the layout of Status.
const (
	Version2 = 2
	Version3 = 3
)

// kindName is the name of a kind of PDU in errors.
func kindName(k pdu.Kind) string {
	switch k {
	case KindControl:
		return "LOG_CONTROL"
	case KindStatusV2, KindStatus:
		return "LOG_STATUS"
	case KindRequest:
		return "LOG_REQUEST"
	}
	return k.String()
}

// A codecError is a PDU that cannot be, and which of its fields is wrong. It wraps pdu.ErrIPC.
type codecError struct {
	op   string // "decode" or "encode"
	kind pdu.Kind
	err  error
}

func (e *codecError) Error() string {
	return fmt.Sprintf("pmlc: %s %s: %v: %v", e.op, kindName(e.kind), e.err, pdu.ErrIPC)
}

func (e *codecError) Unwrap() []error { return []error{e.err, pdu.ErrIPC} }

// malformed makes a decoder's error of a cursor's; nil stays nil.
func malformed(k pdu.Kind, err error) error {
	if err == nil {
		return nil
	}
	return &codecError{"decode", k, err}
}

// refuse is the error of an encoder.
func refuse(k pdu.Kind, format string, args ...any) error {
	return &codecError{"encode", k, fmt.Errorf(format, args...)}
}
