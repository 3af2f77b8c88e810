package pdu

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/pcp-go/pcp/internal/wire"
)

// The status of a child in a NameList, PMNS_LEAF_STATUS and
// PMNS_NONLEAF_STATUS of the C library.
const (
	Leaf    int32 = 0
	NonLeaf int32 = 1
)

// A NameList is PMNS_NAMES. As a request it is for the PMIDs of full names, and
// the reply is a PMIDList. As a reply it has the full names of a PMID or of a
// traversal, or the components below a name, perhaps with a status each.
//
//	12  int32  number of name bytes, counting a NUL for each that is not there
//	16  int32  number of statuses: 0, or that of the names
//	20  int32  number of names, or an error code
//	24  …      each: [int32 status ·] int32 length · name, padded
type NameList struct {
	Names    []string
	Statuses []int32 // nil, or one per name: Leaf or NonLeaf
	Err      Error   // if below zero, why there are no names; PCP 6.0.3 does not understand it
}

// Kind is KindPMNSNames.
func (NameList) Kind() Kind { return KindPMNSNames }

// Append adds the body to b.
func (p NameList) Append(b []byte) ([]byte, error) {
	if p.Err < 0 {
		b = binary.BigEndian.AppendUint64(b, 0)
		return binary.BigEndian.AppendUint32(b, uint32(p.Err)), nil
	}
	if p.Statuses != nil && len(p.Statuses) != len(p.Names) {
		return b, refuse(KindPMNSNames, ErrIPC, "number of statuses is not that of names")
	}
	size := 0
	for _, s := range p.Names {
		size += len(s) + 1
	}
	if size > math.MaxInt32 {
		return b, refuse(KindPMNSNames, ErrTooBig, "names exceed 2 GiB")
	}
	b = binary.BigEndian.AppendUint32(b, uint32(size))
	b = binary.BigEndian.AppendUint32(b, uint32(len(p.Statuses)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(p.Names)))
	for i, s := range p.Names {
		if p.Statuses != nil {
			b = binary.BigEndian.AppendUint32(b, uint32(p.Statuses[i]))
		}
		b = appendString(b, s)
	}
	return b, nil
}

// Decode fills p from a body, reusing its slices.
func (p *NameList) Decode(body []byte) error { return p.decodeBody(body, copied) }

// DecodeInPlace is like Decode, but the names alias body, which must not change afterwards. See
// Conn.Keep.
func (p *NameList) DecodeInPlace(body []byte) error { return p.decodeBody(body, wire.Alias) }

func (p *NameList) decodeBody(body []byte, text func([]byte) string) error {
	c := wire.New(body, HeaderLen)
	p.decode(&c, text)
	err := c.Done()
	if err != nil {
		*p = NameList{}
	}
	return malformedIn(KindPMNSNames, err)
}

func (p *NameList) decode(c *wire.Cursor, text func([]byte) string) {
	size := int(c.Int32("nstrbytes"))
	statuses := int(c.Int32("numstatus"))
	spare := p.Statuses[:0]
	*p = NameList{Names: p.Names[:0]}
	n := int(c.Int32("numnames"))
	switch {
	case n < 0:
		p.Names, p.Err = nil, Error(n)
		return
	case int64(n)*4 > int64(c.Left()):
		c.Fail("numnames", 4, "%d names in %d bytes", n, c.Left())
		return
	case statuses != 0 && statuses != n:
		c.Fail("numstatus", 8, "%d statuses of %d names", statuses, n)
		return
	case statuses != 0:
		p.Statuses = slices.Grow(spare, n)
	}
	p.Names = slices.Grow(p.Names, n)
	for range n {
		if statuses != 0 {
			p.Statuses = append(p.Statuses, c.Int32("status"))
		}
		s := c.Padded(int(c.Int32("namelen")), "name")
		if size -= len(s) + 1; size < 0 {
			c.Fail("nstrbytes", 0, "names are longer than announced")
			return
		}
		p.Names = append(p.Names, text(s))
	}
}
