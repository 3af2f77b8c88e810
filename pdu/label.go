package pdu

import (
	"encoding/binary"
	"math"

	"github.com/pcp-go/pcp/internal/wire"
)

// A LabelReq is LABEL_REQ, a request for labels. The reply is a LabelReply.
// Send it only to a collector that offered FeatureLabels.
//
//	12  uint32  Ident
//	16  int32   Class
type LabelReq struct {
	Ident uint32 // the identifier that LabelClass names for the class
	Class LabelClass
}

// Kind is KindLabelReq.
func (LabelReq) Kind() Kind { return KindLabelReq }

// Append adds the body to b.
func (p LabelReq) Append(b []byte) ([]byte, error) {
	b = binary.BigEndian.AppendUint32(b, p.Ident)
	return binary.BigEndian.AppendUint32(b, uint32(p.Class)), nil
}

// Decode fills p from a body.
func (p *LabelReq) Decode(body []byte) error {
	c := wire.New(body, HeaderLen)
	*p = LabelReq{Ident: c.Uint32("ident"), Class: LabelClass(c.Int32("type"))}
	err := c.Done()
	if err != nil {
		*p = LabelReq{}
	}
	return malformedIn(KindLabelReq, err)
}

// A LabelReply is LABEL, the reply to a LabelReq. All classes but LabelInstances have at most one
// set; no set means no labels.
//
//	12  uint32  Ident
//	16  int32   Class
//	20  uint32  0
//	24  int32   number of sets
//	28  …       each: int32 Inst · int32 number of labels, or Err · int32 offset of
//	            the JSON from the start of the PDU · int32 its length · labels of 8 bytes
//	    bytes   the JSON texts, not padded
type LabelReply struct {
	Ident uint32
	Class LabelClass
	Sets  []LabelSet
}

// Kind is KindLabel.
func (LabelReply) Kind() Kind { return KindLabel }

const (
	labelSetLen = 16
	labelLen    = 8
)

// Append adds the body to b.
func (p LabelReply) Append(b []byte) ([]byte, error) {
	start := len(b) - HeaderLen
	b = binary.BigEndian.AppendUint32(b, p.Ident)
	b = binary.BigEndian.AppendUint32(b, uint32(p.Class))
	b = binary.BigEndian.AppendUint64(b, uint64(uint32(len(p.Sets))))
	json := len(b) - start
	for i := range p.Sets {
		if err := p.Sets[i].validate(); err != nil {
			return b, &OpError{Op: "encode", Kind: KindLabel, Err: err}
		}
		json += labelSetLen + labelLen*len(p.Sets[i].indexed())
	}
	for i := range p.Sets {
		if json > math.MaxInt32 {
			return b, refuse(KindLabel, ErrTooBig, "labels exceed 2 GiB")
		}
		b = p.Sets[i].append(b, json)
		json += len(p.Sets[i].JSON)
	}
	for i := range p.Sets {
		b = append(b, p.Sets[i].JSON...)
	}
	return b, nil
}

// indexed returns the labels to encode. A set with an error has no labels on the wire.
func (s *LabelSet) indexed() []Label {
	if s.Err < 0 {
		return nil
	}
	return s.Labels
}

// append adds all of a set but its text, which will lie at an offset.
func (s *LabelSet) append(b []byte, json int) []byte {
	n := Error(len(s.indexed()))
	if s.Err < 0 {
		n = s.Err
	}
	b = binary.BigEndian.AppendUint32(b, uint32(s.Inst))
	b = binary.BigEndian.AppendUint32(b, uint32(n))
	b = binary.BigEndian.AppendUint32(b, uint32(json))
	b = binary.BigEndian.AppendUint32(b, uint32(len(s.JSON)))
	for _, l := range s.indexed() {
		b = binary.BigEndian.AppendUint16(b, l.NameOff)
		b = append(b, l.NameLen, byte(l.Flags))
		b = binary.BigEndian.AppendUint16(b, l.ValueOff)
		b = binary.BigEndian.AppendUint16(b, l.ValueLen)
	}
	return b
}

// Decode fills p from a body, which the texts alias. Texts that share bytes are
// refused once they add up to more than the PDU.
func (p *LabelReply) Decode(body []byte) error {
	c := wire.New(body, HeaderLen)
	p.Ident = c.Uint32("ident")
	p.Class = LabelClass(c.Int32("type"))
	c.Skip(4, "padding")
	n := c.Count(labelSetLen, "nsets")
	p.Sets = nil
	if n > 0 {
		p.Sets = make([]LabelSet, n)
	}
	end, size := 0, 0
	for i := range p.Sets {
		end = max(end, p.Sets[i].decode(&c, body))
		if size += len(p.Sets[i].JSON); size > len(body) {
			c.Fail("json", 0, "texts overlap")
			break
		}
	}
	end = max(end, c.Offset())
	// Only the texts follow, and at most the padding of the last.
	if len(body)+HeaderLen > wire.Pad4(end) {
		c.Skip(max(0, end-c.Offset()), "json")
		c.Fail("end", 0, "%d bytes after the last JSON text", len(body)+HeaderLen-end)
	}
	err := c.Err()
	if err != nil {
		*p = LabelReply{}
	}
	return malformedIn(KindLabel, err)
}

// decode reads a set and returns the offset where its text ends. It returns 0 for a set without
// text and ignores the offset of such a set.
func (s *LabelSet) decode(c *wire.Cursor, body []byte) int {
	s.Inst = InstID(c.Int32("inst"))
	n := c.Int32("nlabels")
	off, length := int(c.Int32("json offset")), int(c.Int32("json length"))
	if n < 0 {
		s.Err, n = Error(n), 0
	}
	if n > maxLabels {
		c.Fail("nlabels", 12, "%d, limit %d", n, maxLabels)
		return 0
	}
	switch at := off - HeaderLen; {
	case length == 0:
		off = 0
	case length < 0 || length > MaxLabelJSON || at < c.Offset()-HeaderLen || at > len(body) || length > len(body)-at:
		c.Fail("json", 8, "%d bytes at offset %d of a PDU of %d", length, off, len(body)+HeaderLen)
		return 0
	default:
		s.JSON = body[at : at+length : at+length]
	}
	if int(n)*labelLen > c.Left() {
		c.Fail("nlabels", 12, "%d labels in %d bytes", n, c.Left())
		return 0
	}
	if n > 0 {
		s.Labels = make([]Label, n)
	}
	for i := range s.Labels {
		l := Label{NameOff: c.Uint16("name"), NameLen: c.Uint8("namelen"), Flags: LabelFlags(c.Uint8("flags"))}
		l.ValueOff, l.ValueLen = c.Uint16("value"), c.Uint16("valuelen")
		if int(l.NameOff)+int(l.NameLen) > length || int(l.ValueOff)+int(l.ValueLen) > length {
			c.Fail("label", labelLen, "outside %d bytes of JSON", length)
			return 0
		}
		s.Labels[i] = l
	}
	return off + length
}
