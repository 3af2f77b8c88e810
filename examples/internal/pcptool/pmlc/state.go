package pmlc

import (
	"time"

	"github.com/pcp-go/pcp/archive/logger"
	"github.com/pcp-go/pcp/pdu"
)

// The bits of a value of the reply to LOG_CONTROL, above which is the interval in milliseconds.
const (
	bitOn        = 1 << 0
	bitMandatory = 1 << 1
	bitAvailable = 1 << 2
	bitInLog     = 1 << 3

	intervalShift = 4
)

// stateWord is the state of an instance as a value of the reply.
func stateWord(v logger.ValueState) uint32 {
	w := uint32(v.Interval/time.Millisecond) << intervalShift
	for _, b := range [...]struct {
		set bool
		bit uint32
	}{{v.On, bitOn}, {v.Mandatory, bitMandatory}, {v.Available, bitAvailable}, {v.InLog, bitInLog}} {
		if b.set {
			w |= b.bit
		}
	}
	return w
}

// instanceState is the state of an instance that a value of the reply stands for.
func instanceState(inst pdu.InstID, w uint32) logger.ValueState {
	return logger.ValueState{
		Inst:      inst,
		On:        w&bitOn != 0,
		Mandatory: w&bitMandatory != 0,
		Available: w&bitAvailable != 0,
		InLog:     w&bitInLog != 0,
		Interval:  time.Duration(w>>intervalShift) * time.Millisecond,
	}
}

// maxStates is the length of the longest reply to LOG_CONTROL.
const maxStates = 16 << 20

// statesPDU is the reply to LOG_CONTROL.
func statesPDU(states []logger.MetricState) pdu.PDU {
	w := pdu.ResultWriter{Limit: maxStates}
	for _, m := range states {
		w.Begin(m.PMID)
		if m.Err != nil {
			w.Fail(pdu.FromError(m.Err))
		}
		for _, v := range m.Values {
			w.Uint32(v.Inst, stateWord(v))
		}
	}
	return w.PDU(pdu.FormatLowRes)
}

// decodeStates reads the reply to LOG_CONTROL. A metric that has other values than numbers is
// malformed.
func decodeStates(body []byte) ([]logger.MetricState, error) {
	var r pdu.Result
	if err := r.DecodeValid(body); err != nil {
		return nil, err
	}
	var states []logger.MetricState
	for _, s := range r.All() {
		m := logger.MetricState{PMID: s.PMID, Err: s.Err()}
		for inst, a := range s.All(pdu.TypeU32) {
			w, err := pdu.As[uint32](a)
			if err != nil {
				return nil, malformed(pdu.KindResult, err)
			}
			m.Values = append(m.Values, instanceState(inst, w))
		}
		states = append(states, m)
	}
	return states, nil
}
