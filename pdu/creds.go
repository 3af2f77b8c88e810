package pdu

import (
	"encoding/binary"

	"github.com/pcp-go/pcp/internal/wire"
)

// Creds is CREDS: a client's reply to the Challenge, or what either side of a
// connection between collector and agent sends first. Every credential is a word
// whose first byte is its type; only the type of the version is in use.
//
//	12  int32   number, 1 to 1024
//	16  …       each: uint8 type 1 · uint8 Version · uint16 Features
type Creds struct {
	Version  uint8 // 0: no version credential
	Features Features
	Others   []uint32 // credentials of other types, and of version 0
}

const (
	credVersion = 1
	maxCreds    = 1024
)

// Kind is KindCreds.
func (Creds) Kind() Kind { return KindCreds }

// Append adds the body to b.
func (p Creds) Append(b []byte) ([]byte, error) {
	n := len(p.Others)
	if p.Version != 0 {
		n++
	}
	if n < 1 || n > maxCreds {
		return b, refuse(KindCreds, ErrIPC, "number of credentials not in 1..1024")
	}
	if p.Version == 0 && p.Features != 0 {
		return b, refuse(KindCreds, ErrIPC, "features without a version")
	}
	b = binary.BigEndian.AppendUint32(b, uint32(n))
	if p.Version != 0 {
		b = append(b, credVersion, p.Version)
		b = binary.BigEndian.AppendUint16(b, uint16(p.Features))
	}
	for _, w := range p.Others {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	return b, nil
}

// Decode fills p from a body. Of several version credentials the last counts.
func (p *Creds) Decode(body []byte) error {
	c := wire.New(body, HeaderLen)
	*p = Creds{}
	n := c.Count(4, "numcreds")
	if n < 1 || n > maxCreds {
		c.Fail("numcreds", 4, "%d out of range (1..%d)", n, maxCreds)
	}
	for range n {
		w := c.Uint32("credential")
		if w>>24 != credVersion || uint8(w>>16) == 0 {
			p.Others = append(p.Others, w)
			continue
		}
		p.Version, p.Features = uint8(w>>16), Features(w)
	}
	err := c.Done()
	if err != nil {
		*p = Creds{}
	}
	return malformedIn(KindCreds, err)
}
