package pmlc

import (
	"encoding/binary"
	"time"

	"github.com/pcp-go/pcp/archive/logger"
	"github.com/pcp-go/pcp/internal/logconf"
	"github.com/pcp-go/pcp/internal/wire"
	"github.com/pcp-go/pcp/pdu"
)

// A ControlReq is LOG_CONTROL: it asks for the state of metrics, or changes it.
//
//	12  int32  11 mandatory, 12 advisory, 13 to enquire
//	16  int32  0 off, 1 maybe, 2 on
//	20  int32  interval in milliseconds, 0 for once
//	24  int32  number of metrics
//	28  for each metric
//	      uint32 PMID
//	      int32  number of instances, 0 for all
//	      for each instance: int32 instance, int32 unused
//
// A logger ignores what comes after that, and takes a negative number of instances for 0. Advisory
// requests with logger.Maybe do not exist, but loggers accept them.
type ControlReq struct {
	Enquire bool // to change nothing; the next three fields mean nothing then
	Control logger.Control
	State   logger.State
	// Interval is in whole milliseconds, and at most logconf.MaxInterval.
	Interval time.Duration
	Targets  []logger.Target
}

// The first word of LOG_CONTROL.
const (
	wireMandatory = 11
	wireAdvisory  = 12
	wireEnquire   = 13
)

const (
	targetLen   = 8 // PMID and number of instances
	instanceLen = 8
)

// Kind is KindControl.
func (*ControlReq) Kind() pdu.Kind { return KindControl }

// Append adds the body to b.
func (p *ControlReq) Append(b []byte) ([]byte, error) {
	control, state, delta := uint32(wireEnquire), uint32(0), uint32(0)
	if !p.Enquire {
		switch {
		case p.Control > logger.Mandatory || p.State > logger.On:
			return b, refuse(KindControl, "control %d, state %d", uint8(p.Control), uint8(p.State))
		case p.Control == logger.Advisory && p.State == logger.Maybe:
			return b, refuse(KindControl, "advisory maybe")
		case p.Interval < 0 || p.Interval > logconf.MaxInterval:
			return b, refuse(KindControl, "interval %v not in 0..%v", p.Interval, logconf.MaxInterval)
		case p.State == logger.On && p.Interval > 0 && p.Interval < time.Millisecond:
			return b, refuse(KindControl, "interval %v below a millisecond", p.Interval)
		}
		control, state, delta = wireAdvisory, uint32(p.State), uint32(p.Interval/time.Millisecond)
		if p.Control == logger.Mandatory {
			control = wireMandatory
		}
	}
	if len(p.Targets) == 0 {
		return b, refuse(KindControl, "no metrics")
	}
	b = binary.BigEndian.AppendUint32(b, control)
	b = binary.BigEndian.AppendUint32(b, state)
	b = binary.BigEndian.AppendUint32(b, delta)
	b = binary.BigEndian.AppendUint32(b, uint32(len(p.Targets)))
	for _, t := range p.Targets {
		b = binary.BigEndian.AppendUint32(b, uint32(t.PMID))
		b = binary.BigEndian.AppendUint32(b, uint32(len(t.Insts)))
		for _, i := range t.Insts {
			b = binary.BigEndian.AppendUint32(b, uint32(i))
			b = binary.BigEndian.AppendUint32(b, 0)
		}
	}
	return b, nil
}

// Decode fills p from a body. It keeps nothing of body.
func (p *ControlReq) Decode(body []byte) error {
	c := wire.New(body, pdu.HeaderLen)
	*p = ControlReq{}
	control, state := c.Int32("control"), c.Int32("state")
	p.Interval = time.Duration(c.Int32("interval")) * time.Millisecond
	switch control {
	case wireMandatory:
		p.Control = logger.Mandatory
	case wireAdvisory:
	case wireEnquire:
		p.Enquire, p.Interval, state = true, 0, 0
	default:
		c.Fail("control", 12, "unknown control %d", control)
	}
	if state < 0 || state > int32(logger.On) {
		c.Fail("state", 8, "unknown state %d", state)
	}
	if p.Interval < 0 || p.Interval > logconf.MaxInterval {
		c.Fail("interval", 4, "%v not in 0..%v", p.Interval, logconf.MaxInterval)
	}
	p.State = logger.State(state)
	n := c.Count(targetLen, "numpmid")
	if n < 1 {
		c.Fail("numpmid", 4, "no metrics")
	} else {
		p.Targets = make([]logger.Target, n)
	}
	for i := range p.Targets {
		p.Targets[i] = decodeTarget(&c)
	}
	err := c.Err()
	if err != nil {
		*p = ControlReq{}
	}
	return malformed(KindControl, err)
}

func decodeTarget(c *wire.Cursor) logger.Target {
	t := logger.Target{PMID: pdu.PMID(c.Uint32("pmid"))}
	n := int(c.Int32("numval"))
	if n <= 0 {
		return t
	}
	if n > c.Left()/instanceLen {
		c.Fail("numval", 4, "%d instances in %d bytes", n, c.Left())
		return t
	}
	t.Insts = make([]pdu.InstID, n)
	for i := range t.Insts {
		t.Insts[i] = pdu.InstID(c.Int32("instance"))
		c.Skip(4, "value")
	}
	return t
}
