package pdu

import (
	"encoding/binary"

	"github.com/pcp-go/pcp/internal/wire"
)

const challengeLen = 8

// A Challenge is the first PDU that a collector sends on a connection, an
// extended ERROR: what it offers, or why it refuses. The code of a refusal
// travels in the numbering of PCP 1.x; Append and Decode translate.
//
//	12  int32  Code
//	16  uint8  version, 2 (0 in a refusal)
//	17  uint8  obsolete "licensed" flag, always 1
//	18  uint16 Features
type Challenge struct {
	Code     Error
	Version  uint8
	Features Features
}

const licensed = 1

// Kind is KindError.
func (Challenge) Kind() Kind { return KindError }

// Append adds the body to b.
func (p Challenge) Append(b []byte) ([]byte, error) {
	b = binary.BigEndian.AppendUint32(b, uint32(p.Code.v1()))
	if p.Code != 0 {
		return append(b, 0, 0, 0, 0), nil
	}
	b = append(b, p.Version, licensed)
	return binary.BigEndian.AppendUint16(b, uint16(p.Features)), nil
}

// Decode fills p from a body.
func (p *Challenge) Decode(body []byte) error {
	c := wire.New(body, HeaderLen)
	*p = Challenge{Code: fromV1(c.Int32("code")), Version: c.Uint8("version")}
	c.Skip(1, "licensed")
	p.Features = Features(c.Uint16("features"))
	err := c.Done()
	if err != nil || p.Code != 0 {
		*p = Challenge{Code: p.Code}
	}
	if err != nil {
		p.Code = 0
	}
	return malformedIn(KindError, err)
}
