package pdu

import (
	"encoding/binary"

	"github.com/pcp-go/pcp/internal/wire"
)

// A TraverseReq is PMNS_TRAVERSE, a request for the full names of all leaves at
// or below a name. The reply is a NameList.
//
//	12  int32  0
//	16  int32  length of Name
//	20  bytes  Name, padded
type TraverseReq struct {
	Name string // empty for the whole name space
}

// Kind is KindPMNSTraverse.
func (TraverseReq) Kind() Kind { return KindPMNSTraverse }

// Append adds the body to b.
func (p TraverseReq) Append(b []byte) ([]byte, error) {
	return appendString(binary.BigEndian.AppendUint32(b, 0), p.Name), nil
}

// Decode fills p from a body.
func (p *TraverseReq) Decode(body []byte) error {
	c := wire.New(body, HeaderLen)
	c.Skip(4, "subtype")
	*p = TraverseReq{Name: string(readTail(&c, "name"))}
	err := c.Done()
	if err != nil {
		*p = TraverseReq{}
	}
	return malformedIn(KindPMNSTraverse, err)
}
