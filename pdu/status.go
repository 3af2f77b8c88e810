package pdu

import (
	"encoding/binary"

	"github.com/pcp-go/pcp/internal/wire"
)

// A Status is the ERROR PDU: a failure (below zero), success (zero), or, ahead
// of the answer to a fetch, a set of Change bits.
//
//	12  int32  Code
type Status struct {
	Code Error
}

// Kind is KindError.
func (Status) Kind() Kind { return KindError }

// Append adds the body to b.
func (p Status) Append(b []byte) ([]byte, error) {
	return binary.BigEndian.AppendUint32(b, uint32(p.Code)), nil
}

// Decode fills p from a body.
func (p *Status) Decode(body []byte) error {
	c := wire.New(body, HeaderLen)
	*p = Status{Code: Error(c.Int32("code"))}
	return p.done(c.Done())
}

func (p *Status) done(err error) error {
	if err != nil {
		*p = Status{}
	}
	return malformedIn(KindError, err)
}

// Change is the set of state changes that p carries, 0 if it is a failure or a
// success.
func (p Status) Change() Change { return Change(max(p.Code, 0)) }

// Features are what a peer can do or wants, 16 bits of the hello.
type Features uint16

// The feature flags, PDU_FLAG_* of the C library. A collector offers them in
// its Challenge; a client asks for some of the first seven in its Creds, and
// simply uses the last three.
const (
	FeatureSecure        Features = 0x0001 // TLS
	FeatureCompress      Features = 0x0002 // retired
	FeatureAuth          Features = 0x0004 // SASL; of an agent: wants client attributes
	FeatureCredsRequired Features = 0x0008
	FeatureSecureAck     Features = 0x0010
	FeatureNoNSSInit     Features = 0x0020 // retired
	FeatureContainer     Features = 0x0040
	FeatureCertRequired  Features = 0x0080
	FeatureBadLabel      Features = 0x0100 // retired
	FeatureLabels        Features = 0x0200
	FeatureHighRes       Features = 0x0400 // nanosecond fetches
	FeatureDescs         Features = 0x0800 // descriptors in bulk
)

// ProtocolVersion is the only version of the protocol in use.
const ProtocolVersion = 2

const challengeLen = 8

// A Challenge is the first PDU that a collector sends on a connection, an
// extended ERROR: what it offers, or why it refuses. The code of a refusal
// travels in the numbering of PCP 1.x; Append and Decode translate.
//
//	12  int32  Code
//	16  uint8  version, 2 (0 in a refusal)
//	17  uint8  1, "licensed", a relic
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
