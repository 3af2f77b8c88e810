package pdu

import (
	"iter"
)

// The metrics that stand for an event record's flags and for its number of
// missed events. Every client knows them, although no collector does; their
// values are of TypeU32.
const (
	EventFlagsPMID  PMID = 511<<22 | 1 // 511.0.1, event.flags
	EventMissedPMID PMID = 511<<22 | 2 // 511.0.2, event.missed
)

// The names of EventFlagsPMID and EventMissedPMID.
const (
	EventFlagsName  = "event.flags"
	EventMissedName = "event.missed"
)

// Values yields the contents of the record, as metrics with one value each: EventFlagsPMID if the
// record has flags, EventMissedPMID if it stands for missed events, then the parameters in their
// order. Together with Atom.Events and EventArray.All,
//
//	events, err := a.Events()
//	…
//	for record := range events.All() {
//		for metric, value := range record.Values() {
//
// it is the counterpart of pmUnpackEventRecords(3) and
// pmUnpackHighResEventRecords(3), which make a result of each record. The atoms
// alias the array.
func (r EventRecord) Values() iter.Seq2[PMID, Atom] {
	return func(yield func(PMID, Atom) bool) {
		if r.Flags != 0 && !yield(EventFlagsPMID, Uint32(uint32(r.Flags))) {
			return
		}
		if r.Flags == EventMissed && !yield(EventMissedPMID, Uint32(uint32(r.Missed))) {
			return
		}
		r.Params()(yield)
	}
}
