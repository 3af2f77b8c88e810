package pdu

import (
	"encoding/binary"

	"github.com/pcp-go/pcp/internal/wire"
)

// A Fetch is FETCH, a request for the values of metrics, or HIGHRES_FETCH for a
// collector that offered FeatureHighRes. The reply is a Result with one set per
// PMID, in order, perhaps preceded by a Status with Change bits. The profile of
// Context must have been sent before. There is at least one PMID.
//
//	12  int32    Context
//	16  8 bytes  zero, a retired timestamp
//	24  int32    number
//	28  uint32   PMIDs
type Fetch struct {
	HighRes bool // the kind, not part of the body
	Context int32
	PMIDs   []PMID
}

// Kind is KindFetch or KindHighResFetch.
func (p Fetch) Kind() Kind {
	if p.HighRes {
		return KindHighResFetch
	}
	return KindFetch
}

// Append adds the body to b.
func (p Fetch) Append(b []byte) ([]byte, error) {
	if len(p.PMIDs) == 0 {
		return b, refuse(p.Kind(), ErrTooSmall, "no PMIDs")
	}
	b = binary.BigEndian.AppendUint32(b, uint32(p.Context))
	b = binary.BigEndian.AppendUint64(b, 0)
	return appendPMIDs(b, p.PMIDs), nil
}

// Decode fills p from a body, reusing its slice; HighRes stays as it is.
func (p *Fetch) Decode(body []byte) error {
	c := wire.New(body, HeaderLen)
	p.Context = c.Int32("context")
	c.Skip(8, "timestamp")
	p.PMIDs = readPMIDs(&c, p.PMIDs, 1)
	err := c.Done()
	if err != nil {
		*p = Fetch{HighRes: p.HighRes}
	}
	return malformedIn(p.Kind(), err)
}
