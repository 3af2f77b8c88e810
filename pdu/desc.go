package pdu

import (
	"encoding/binary"
	"slices"

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

// A DescReq asks for the descriptor of a metric: DESC_REQ, answered by
// DescReply.
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

// A DescsReq asks a collector for descriptors in bulk: DESC_IDS, answered by
// DescsReply. Send it only where FeatureDescs was offered, and never to an
// agent. There is at least one PMID.
//
//	12  int32   -1
//	16  int32   number
//	20  uint32  PMIDs
type DescsReq struct {
	PMIDs []PMID
}

// Kind is KindDescIDs.
func (DescsReq) Kind() Kind { return KindDescIDs }

// Append adds the body to b.
func (p DescsReq) Append(b []byte) ([]byte, error) {
	if len(p.PMIDs) == 0 {
		return b, refuse(KindDescIDs, ErrTooSmall, "no PMIDs")
	}
	b = binary.BigEndian.AppendUint32(b, 0xffffffff)
	return appendPMIDs(b, p.PMIDs), nil
}

// Decode fills p from a body, reusing its slice.
func (p *DescsReq) Decode(body []byte) error {
	c := wire.New(body, HeaderLen)
	if n := c.Int32("marker"); n != -1 {
		c.Fail("marker", 4, "%d is not -1", n)
	}
	p.PMIDs = readPMIDs(&c, p.PMIDs, 1)
	err := c.Done()
	if err != nil {
		p.PMIDs = nil
	}
	return malformedIn(KindDescIDs, err)
}

// A DescsReply is DESCS: a descriptor for each PMID asked, in order. The PMID of
// one that failed is NoPMID and its rest is meaningless.
//
//	12  int32         number
//	16  20 bytes each Descs
type DescsReply struct {
	Descs []Desc
}

// Kind is KindDescs.
func (DescsReply) Kind() Kind { return KindDescs }

// Append adds the body to b.
func (p DescsReply) Append(b []byte) ([]byte, error) {
	b = binary.BigEndian.AppendUint32(b, uint32(len(p.Descs)))
	for _, d := range p.Descs {
		b = d.append(b)
	}
	return b, nil
}

// Decode fills p from a body, reusing its slice.
func (p *DescsReply) Decode(body []byte) error {
	c := wire.New(body, HeaderLen)
	n := c.Count(descLen, "numdescs")
	p.Descs = slices.Grow(p.Descs[:0], n)
	for range n {
		p.Descs = append(p.Descs, readDesc(&c))
	}
	err := c.Done()
	if err != nil {
		p.Descs = nil
	}
	return malformedIn(KindDescs, err)
}

// appendPMIDs adds a count and the PMIDs.
func appendPMIDs(b []byte, ids []PMID) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(ids)))
	for _, id := range ids {
		b = binary.BigEndian.AppendUint32(b, uint32(id))
	}
	return b
}

// readPMIDs inverts appendPMIDs into the space of ids; fewer than least fail.
func readPMIDs(c *wire.Cursor, ids []PMID, least int) []PMID {
	n := c.Count(4, "number of PMIDs")
	if n < least {
		c.Fail("number of PMIDs", 4, "%d, want at least %d", n, least)
	}
	b := c.Bytes(4*n, "PMIDs")
	ids = slices.Grow(ids[:0], n)
	for ; len(b) >= 4; b = b[4:] {
		ids = append(ids, PMID(binary.BigEndian.Uint32(b)))
	}
	return ids
}
