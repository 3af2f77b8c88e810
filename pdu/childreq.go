package pdu

import (
	"encoding/binary"

	"github.com/pcp-go/pcp/internal/wire"
)

// A ChildReq is PMNS_CHILD, a request for the names directly below a name. The
// reply is a NameList of single components.
//
//	12  int32  1 if Status
//	16  int32  length of Name
//	20  bytes  Name, padded
type ChildReq struct {
	Name   string // empty for the root
	Status bool   // the reply says which names are leaves
}

// Kind is KindPMNSChild.
func (ChildReq) Kind() Kind { return KindPMNSChild }

// Append adds the body to b.
func (p ChildReq) Append(b []byte) ([]byte, error) {
	var sub uint32
	if p.Status {
		sub = 1
	}
	return appendString(binary.BigEndian.AppendUint32(b, sub), p.Name), nil
}

// Decode fills p from a body.
func (p *ChildReq) Decode(body []byte) error {
	c := wire.New(body, HeaderLen)
	*p = ChildReq{Status: c.Int32("subtype") != 0}
	p.Name = string(readTail(&c, "name"))
	err := c.Done()
	if err != nil {
		*p = ChildReq{}
	}
	return malformedIn(KindPMNSChild, err)
}
