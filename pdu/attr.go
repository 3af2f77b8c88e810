package pdu

import (
	"encoding/binary"
	"strconv"

	"github.com/pcp-go/pcp/internal/wire"
)

// An Attribute numbers a property of a client connection.
type Attribute int32

// The attributes that agents see, PCP_ATTR_* of the C library. The other numbers up to 16 have
// names too, such as "protocol" for 1. An Attr of Attribute 0 has SASL data.
const (
	AttrUsername  Attribute = 5  // name of the authenticated user
	AttrUserID    Attribute = 11 // user of the client process, in decimal
	AttrGroupID   Attribute = 12 // group of the client process, in decimal
	AttrProcessID Attribute = 14 // client process, in decimal
	AttrContainer Attribute = 15 // name of the container whose metrics the client wants
)

var attrNames = [...]string{"", "protocol", "secure", "compress", "userauth", "username", "authname",
	"password", "method", "realm", "unixsock", "userid", "groupid", "local", "processid", "container", "exclusive"}

// String returns the attribute's name, as __pmAttrKeyStr_r(3) does.
func (a Attribute) String() string {
	if a > 0 && int(a) < len(attrNames) {
		return attrNames[a]
	}
	return "attribute " + strconv.Itoa(int(a))
}

const (
	maxAttrLen = 4096 // of an attribute's value, exclusive
	maxSASLLen = 2048 // of a SASL payload, exclusive
)

// An Attr carries an attribute: ATTR, also called AUTH. To an agent the value
// ends with a NUL, from a client it does not; Value is as on the wire.
//
//	12  int32  Key
//	16  bytes  Value, to the end, not padded
type Attr struct {
	Key   Attribute
	Value []byte
}

// Kind is KindAttr.
func (Attr) Kind() Kind { return KindAttr }

func (p Attr) tooLong() bool {
	return len(p.Value) >= maxAttrLen || p.Key == 0 && len(p.Value) >= maxSASLLen
}

// Append adds the body to b.
func (p Attr) Append(b []byte) ([]byte, error) {
	if p.tooLong() {
		return b, refuse(KindAttr, ErrTooBig, "value too long")
	}
	b = binary.BigEndian.AppendUint32(b, uint32(p.Key))
	return append(b, p.Value...), nil
}

// Decode fills p from a body, which Value aliases.
func (p *Attr) Decode(body []byte) error {
	c := wire.New(body, HeaderLen)
	*p = Attr{Key: Attribute(c.Int32("attribute"))}
	p.Value = c.Bytes(c.Left(), "value")
	if p.tooLong() {
		c.Fail("value", len(p.Value), "%d bytes are too long", len(p.Value))
	}
	err := c.Done()
	if err != nil {
		*p = Attr{}
	}
	return malformedIn(KindAttr, err)
}
