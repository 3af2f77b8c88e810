package pdu

import (
	"encoding/binary"

	"github.com/pcp-go/pcp/internal/wire"
)

// A TextReq is TEXT_REQ, a request for a help text. The reply is a TextReply.
//
//	12  uint32  Ident
//	16  int32   Text
type TextReq struct {
	Ident uint32 // a PMID or an InDom, as Text says
	Text  TextKind
}

// Kind is KindTextReq.
func (TextReq) Kind() Kind { return KindTextReq }

// Append adds the body to b. TextDirect is a client's own flag and does not
// travel; Decode ignores it.
func (p TextReq) Append(b []byte) ([]byte, error) {
	b = binary.BigEndian.AppendUint32(b, p.Ident)
	return binary.BigEndian.AppendUint32(b, uint32(p.Text&^TextDirect)), nil
}

// Decode fills p from a body.
func (p *TextReq) Decode(body []byte) error {
	c := wire.New(body, HeaderLen)
	*p = TextReq{Ident: c.Uint32("ident"), Text: TextKind(c.Int32("type")) &^ TextDirect}
	err := c.Done()
	if err != nil {
		*p = TextReq{}
	}
	return malformedIn(KindTextReq, err)
}

// A TextReply is TEXT, the reply to a TextReq. An empty Text means that the text is missing.
//
//	12  uint32  Ident: do not rely on it, C agents swap its bytes
//	16  int32   length
//	20  bytes   Text, padded
type TextReply struct {
	Ident uint32
	Text  string
}

// Kind is KindText.
func (TextReply) Kind() Kind { return KindText }

// Append adds the body to b.
func (p TextReply) Append(b []byte) ([]byte, error) {
	b = binary.BigEndian.AppendUint32(b, p.Ident)
	return appendString(b, p.Text), nil
}

// Decode fills p from a body.
func (p *TextReply) Decode(body []byte) error { return p.decode(body, copied) }

// DecodeInPlace is like Decode, but the text aliases body, which must not change afterwards. See
// Conn.Keep.
func (p *TextReply) DecodeInPlace(body []byte) error { return p.decode(body, wire.Alias) }

func (p *TextReply) decode(body []byte, text func([]byte) string) error {
	c := wire.New(body, HeaderLen)
	*p = TextReply{Ident: c.Uint32("ident")}
	p.Text = text(readTail(&c, "text"))
	err := c.Done()
	if err != nil {
		*p = TextReply{}
	}
	return malformedIn(KindText, err)
}
