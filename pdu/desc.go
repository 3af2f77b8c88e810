package pdu

import (
	"encoding/binary"

	"github.com/pcp-go/pcp/internal/wire"
)

const descLen = 20

// append adds the 20 bytes of a descriptor:
//
//	0   uint32  PMID     8   uint32  InDom    16  uint32  Units
//	4   int32   Type     12  int32   Sem
func (d Desc) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(d.PMID))
	b = binary.BigEndian.AppendUint32(b, uint32(d.Type))
	b = binary.BigEndian.AppendUint32(b, uint32(d.InDom))
	b = binary.BigEndian.AppendUint32(b, uint32(d.Sem))
	return binary.BigEndian.AppendUint32(b, uint32(d.Units))
}

func readDesc(c *wire.Cursor) Desc {
	return Desc{
		PMID:  PMID(c.Uint32("pmid")),
		Type:  Type(c.Int32("type")),
		InDom: InDom(c.Uint32("indom")),
		Sem:   Sem(c.Int32("sem")),
		Units: Units(c.Uint32("units")),
	}
}

// A DescReq is DESC_REQ, a request for the descriptor of a metric. The reply is
// a DescReply.
//
//	12  uint32  PMID
type DescReq struct {
	PMID PMID
}

// Kind is KindDescReq.
func (DescReq) Kind() Kind { return KindDescReq }

// Append adds the body to b.
func (p DescReq) Append(b []byte) ([]byte, error) {
	return binary.BigEndian.AppendUint32(b, uint32(p.PMID)), nil
}

// Decode fills p from a body.
func (p *DescReq) Decode(body []byte) error {
	c := wire.New(body, HeaderLen)
	*p = DescReq{PMID(c.Uint32("pmid"))}
	err := c.Done()
	if err != nil {
		*p = DescReq{}
	}
	return malformedIn(KindDescReq, err)
}

// A DescReply is DESC, a descriptor.
//
//	12  20 bytes  Desc
type DescReply struct {
	Desc Desc
}

// Kind is KindDesc.
func (DescReply) Kind() Kind { return KindDesc }

// Append adds the body to b.
func (p DescReply) Append(b []byte) ([]byte, error) { return p.Desc.append(b), nil }

// Decode fills p from a body.
func (p *DescReply) Decode(body []byte) error {
	c := wire.New(body, HeaderLen)
	*p = DescReply{readDesc(&c)}
	err := c.Done()
	if err != nil {
		*p = DescReply{}
	}
	return malformedIn(KindDesc, err)
}
