package sample

import (
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

const (
	itemUnknown    = 54
	itemNoSupport  = 55
	itemErrorCheck = 75
)

// registerFailing adds metrics without values and metrics with errors.
func (s *sample) registerFailing() {
	add(s, 9, pmda.Metric[int32]{Name: "noinst", Value: failing[int32](pmda.NoValue)})
	add(s, itemNoSupport, pmda.Metric[int32]{Name: "bad.nosupport", Value: failing[int32](pdu.ErrAppVersion)})
	add(s, 138, pmda.Metric[int32]{Name: "bad.novalues", Value: failing[int32](pmda.NoValue)})
	add(s, 154, pmda.Metric[int32]{Name: "bad.fetch.again", Sem: pdu.SemDiscrete, Value: failing[int32](pdu.ErrAgain)})
	add(s, 74, pmda.Metric[int32]{Name: "error_code", Value: variable(&s.errorCode)})
	storeWord(s, 74, storesInto(&s.errorCode))
	add(s, itemErrorCheck, pmda.Metric[int32]{Name: "error_check", Value: constant(int32(0))})
}

// failsWhole reports whether a metric fails the rest of a fetch too.
func (s *sample) failsWhole(id pdu.PMID) bool { return s.errorCode < 0 && id == s.id(itemErrorCheck) }

// descFailing returns the descriptor of a metric that fails, otherwise false.
func (s *sample) descFailing(id pdu.PMID) (pdu.Desc, error, bool) {
	switch id {
	case s.id(itemErrorCheck):
		return pdu.Desc{}, pdu.Error(s.errorCode), s.failsWhole(id)
	case s.id(itemNoSupport):
		return pdu.Desc{PMID: id, Type: pdu.TypeNoSupport, InDom: pdu.NoInDom}, nil, true
	}
	return pdu.Desc{}, nil, false
}
