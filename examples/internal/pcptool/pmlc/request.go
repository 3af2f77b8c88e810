package pmlc

import (
	"encoding/binary"

	"github.com/pcp-go/pcp/internal/wire"
	"github.com/pcp-go/pcp/pdu"
)

// A Request is LOG_REQUEST, a request without further data.
//
//	12  int32  the request
//
// A logger ignores what comes after that.
type Request int32

// The requests.
const (
	RequestNewVolume Request = 1 // to begin a new volume; the reply is an ERROR with its number
	RequestStatus    Request = 2 // the reply is Status
	RequestSync      Request = 3 // to write what is buffered; the reply is an ERROR 0
	// RequestQA and the numbers after it make a logger misbehave, for tests of clients. QA 0 stops
	// that. QA 1 delays the next reply by 5 seconds. There are no others.
	RequestQA Request = 100
)

// Kind is KindRequest.
func (Request) Kind() pdu.Kind { return KindRequest }

// Append adds the body to b.
func (r Request) Append(b []byte) ([]byte, error) {
	return binary.BigEndian.AppendUint32(b, uint32(r)), nil
}

// Decode sets r from a body.
func (r *Request) Decode(body []byte) error {
	c := wire.New(body, pdu.HeaderLen)
	*r = Request(c.Int32("request"))
	return malformed(KindRequest, c.Err())
}
