package pdu

import (
	"encoding/binary"

	"github.com/pcp-go/pcp/internal/wire"
)

// A SetProfile is PROFILE: it replaces the profile of one of a client's
// contexts. It has no reply.
//
//	12  int32  Context, 0 or more
//	16  int32  1 if the profile excludes by default
//	20  int32  number of entries
//	24  int32  0
//	28  …      each: uint32 InDom · int32 Exclude · int32 number of instances · int32 0
//	    …      the instances of all entries
type SetProfile struct {
	Context int32
	Profile Profile
}

// Kind is KindProfile.
func (SetProfile) Kind() Kind { return KindProfile }

// Append adds the body to b.
func (p SetProfile) Append(b []byte) ([]byte, error) {
	if p.Context < 0 {
		return b, refuse(KindProfile, ErrNoContext, "negative context")
	}
	flag := func(b []byte, exclude bool) []byte {
		if exclude {
			return append(b, 0, 0, 0, 1)
		}
		return append(b, 0, 0, 0, 0)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(p.Context))
	b = flag(b, p.Profile.Exclude)
	b = binary.BigEndian.AppendUint64(b, uint64(len(p.Profile.InDoms))<<32)
	for _, e := range p.Profile.InDoms {
		b = binary.BigEndian.AppendUint32(b, uint32(e.InDom))
		b = flag(b, e.Exclude)
		b = binary.BigEndian.AppendUint64(b, uint64(len(e.Insts))<<32)
	}
	for _, e := range p.Profile.InDoms {
		for _, i := range e.Insts {
			b = binary.BigEndian.AppendUint32(b, uint32(i))
		}
	}
	return b, nil
}

// Decode fills p from a body. It allocates new memory.
func (p *SetProfile) Decode(body []byte) error {
	c := wire.New(body, HeaderLen)
	*p = SetProfile{Context: c.Int32("context")}
	if p.Context < 0 {
		c.Fail("context", 4, "negative")
	}
	p.Profile.decode(&c)
	err := c.Done()
	if err != nil {
		*p = SetProfile{}
	}
	return malformedIn(KindProfile, err)
}

func (p *Profile) decode(c *wire.Cursor) {
	p.Exclude = c.Int32("state") != 0
	n := c.Count(0, "numprof")
	if n == 0 && c.Left() == 0 {
		return // 7.x lets the word of padding be missing
	}
	c.Skip(4, "padding")
	if n > c.Left()/16 {
		c.Fail("numprof", 8, "%d entries in %d bytes", n, c.Left())
		return
	}
	if n == 0 {
		return
	}
	p.InDoms = make([]InDomProfile, n)
	counts := make([]int32, n)
	for i := range p.InDoms {
		e := &p.InDoms[i]
		e.InDom = InDom(c.Uint32("indom"))
		e.Exclude = c.Int32("state") != 0
		counts[i] = c.Int32("numinst")
		c.Skip(4, "padding")
	}
	for i, n := range counts {
		if int64(n)*4 > int64(c.Left()) || n < 0 {
			c.Fail("instances", 0, "%d instances in %d bytes", n, c.Left())
			return
		}
		if n == 0 {
			continue
		}
		insts := make([]InstID, n)
		for j := range insts {
			insts[j] = InstID(c.Int32("inst"))
		}
		p.InDoms[i].Insts = insts
	}
	p.normalise()
}
