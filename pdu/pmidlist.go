package pdu

import (
	"encoding/binary"
	"slices"

	"github.com/pcp-go/pcp/internal/wire"
)

// A PMIDList is PMNS_IDS. As a request it is for the names of its one PMID, and
// the reply is a NameList. As the reply to a NameList it has one PMID per name,
// in order, NoPMID where a name is unknown, and Status is the number of known
// names or an error.
//
//	12  int32   Status
//	16  int32   number
//	20  uint32  PMIDs
type PMIDList struct {
	Status int32
	PMIDs  []PMID
}

// Kind is KindPMNSIDs.
func (PMIDList) Kind() Kind { return KindPMNSIDs }

// Append adds the body to b.
func (p PMIDList) Append(b []byte) ([]byte, error) {
	b = binary.BigEndian.AppendUint32(b, uint32(p.Status))
	return appendPMIDs(b, p.PMIDs), nil
}

// Decode fills p from a body, reusing its slice.
func (p *PMIDList) Decode(body []byte) error {
	c := wire.New(body, HeaderLen)
	p.Status = c.Int32("status")
	p.PMIDs = readPMIDs(&c, p.PMIDs, 0)
	err := c.Done()
	if err != nil {
		*p = PMIDList{}
	}
	return malformedIn(KindPMNSIDs, err)
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
