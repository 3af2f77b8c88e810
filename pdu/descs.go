package pdu

import (
	"encoding/binary"
	"slices"

	"github.com/pcp-go/pcp/internal/wire"
)

// A DescsReq is DESC_IDS, a request for many descriptors. The reply is a
// DescsReply. It goes to a collector that offered FeatureDescs, never to an agent.
// There is at least one PMID.
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

// A DescsReply is DESCS: a descriptor for each PMID of the request, in order. The PMID of
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
