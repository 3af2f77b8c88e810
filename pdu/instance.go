package pdu

import (
	"encoding/binary"
	"slices"

	"github.com/pcp-go/pcp/internal/wire"
)

// An InstanceReq is INSTANCE_REQ, a request about an instance domain. With Inst
// NoInst and no Name it is for all instances, with an Inst for the name of that
// one, with a Name for its id. The reply is an InstanceReply.
//
//	12  uint32   InDom
//	16  8 bytes  zero, a retired timestamp
//	24  int32    Inst
//	28  int32    length of Name
//	32  bytes    Name, padded
type InstanceReq struct {
	InDom InDom
	Inst  InstID
	Name  string
}

// Kind is KindInstanceReq.
func (InstanceReq) Kind() Kind { return KindInstanceReq }

// Append adds the body to b.
func (p InstanceReq) Append(b []byte) ([]byte, error) {
	b = binary.BigEndian.AppendUint32(b, uint32(p.InDom))
	b = binary.BigEndian.AppendUint64(b, 0)
	b = binary.BigEndian.AppendUint32(b, uint32(p.Inst))
	return appendString(b, p.Name), nil
}

// Decode fills p from a body.
func (p *InstanceReq) Decode(body []byte) error {
	c := wire.New(body, HeaderLen)
	*p = InstanceReq{InDom: InDom(c.Uint32("indom"))}
	c.Skip(8, "timestamp")
	p.Inst = InstID(c.Int32("inst"))
	p.Name = string(readTail(&c, "name"))
	err := c.Done()
	if err != nil {
		*p = InstanceReq{}
	}
	return malformedIn(KindInstanceReq, err)
}

// An InstanceReply is INSTANCE. In the reply to a request by id, the entry has
// the ID NoInst and the name; by name, the id and no name; for all, both.
//
//	12  uint32  InDom: do not rely on it, agents within the C pmcd leave it unset
//	16  int32   number
//	20  …       each: int32 ID · int32 length · name, padded
type InstanceReply struct {
	InDom     InDom
	Instances []Instance
}

// Kind is KindInstance.
func (InstanceReply) Kind() Kind { return KindInstance }

// Append adds the body to b.
func (p InstanceReply) Append(b []byte) ([]byte, error) {
	b = binary.BigEndian.AppendUint32(b, uint32(p.InDom))
	b = binary.BigEndian.AppendUint32(b, uint32(len(p.Instances)))
	for _, i := range p.Instances {
		b = binary.BigEndian.AppendUint32(b, uint32(i.ID))
		b = appendString(b, i.Name)
	}
	return b, nil
}

// Decode fills p from a body, reusing its slice.
func (p *InstanceReply) Decode(body []byte) error { return p.decode(body, copied) }

// DecodeInPlace is like Decode, but the names alias body, which must not change afterwards. See
// Conn.Keep.
func (p *InstanceReply) DecodeInPlace(body []byte) error { return p.decode(body, wire.Alias) }

func (p *InstanceReply) decode(body []byte, text func([]byte) string) error {
	c := wire.New(body, HeaderLen)
	p.InDom = InDom(c.Uint32("indom"))
	n := c.Count(8, "numinst")
	p.Instances = slices.Grow(p.Instances[:0], n)
	for range n {
		i := Instance{ID: InstID(c.Int32("inst"))}
		i.Name = text(c.Padded(int(c.Int32("namelen")), "name"))
		p.Instances = append(p.Instances, i)
	}
	err := c.Done()
	if err != nil {
		*p = InstanceReply{}
	}
	return malformedIn(KindInstance, err)
}

// Reply is the reply to p in the form of the C library, which leaves out what
// the request has: a single instance comes with its name alone if p has an Inst,
// with its id alone if p has a Name. The reply aliases found unless it is one
// instance.
func (p InstanceReq) Reply(found []Instance) InstanceReply {
	if len(found) == 1 {
		switch {
		case p.Inst != NoInst:
			found = []Instance{{ID: NoInst, Name: found[0].Name}}
		case p.Name != "":
			found = []Instance{{ID: found[0].ID}}
		}
	}
	return InstanceReply{InDom: p.InDom, Instances: found}
}
