package pmapi

import (
	"iter"

	"github.com/pcp-go/pcp/pdu"
)

// The metrics that stand for an event record's flags and for its number of
// missed events. They exist everywhere, with values of pdu.TypeU32, under the
// names event.flags and event.missed.
const (
	EventFlagsPMID  = pdu.PMID(pdu.DynamicDomain)<<22 | 1 // 511.0.1
	EventMissedPMID = pdu.PMID(pdu.DynamicDomain)<<22 | 2 // 511.0.2
)

// EventValues yields what an event record says, as metrics with one value each:
// EventFlagsPMID if there are flags, EventMissedPMID if the record stands for
// missed events, then the parameters in their order. Together with the records of
// pdu.EventArray, which pdu.Atom's Events gives,
//
//	events, err := a.Events()
//	…
//	for record := range events.All() {
//		for metric, value := range pmapi.EventValues(record) {
//
// it is the counterpart of pmUnpackEventRecords(3) and
// pmUnpackHighResEventRecords(3): a result per record, each with a time and
// value sets. The atoms alias the array.
func EventValues(r pdu.EventRecord) iter.Seq2[pdu.PMID, pdu.Atom] {
	return func(yield func(pdu.PMID, pdu.Atom) bool) {
		if r.Flags != 0 && !yield(EventFlagsPMID, pdu.Uint32(uint32(r.Flags))) {
			return
		}
		if r.Flags == pdu.EventMissed && !yield(EventMissedPMID, pdu.Uint32(uint32(r.Missed))) {
			return
		}
		for id, a := range r.All() {
			if !yield(id, a) {
				return
			}
		}
	}
}
