package pdu

import (
	"encoding/binary"

	"github.com/pcp-go/pcp/internal/wire"
)

// A Status is the ERROR PDU: a failure (Code below zero), success (zero), or,
// ahead of the reply to a fetch, a set of Change bits (above zero).
//
//	12  int32  Code
type Status struct {
	Code Error
}

// Kind is KindError.
func (Status) Kind() Kind { return KindError }

// Append adds the body to b.
func (p Status) Append(b []byte) ([]byte, error) {
	return binary.BigEndian.AppendUint32(b, uint32(p.Code)), nil
}

// Decode fills p from a body.
func (p *Status) Decode(body []byte) error {
	c := wire.New(body, HeaderLen)
	*p = Status{Code: Error(c.Int32("code"))}
	return p.done(c.Done())
}

func (p *Status) done(err error) error {
	if err != nil {
		*p = Status{}
	}
	return malformedIn(KindError, err)
}

// Change is the set of state changes that p carries, 0 if it is a failure or a
// success.
func (p Status) Change() Change { return Change(max(p.Code, 0)) }
