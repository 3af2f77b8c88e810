package pmapi

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/pcp-go/pcp/internal/wording"
	"github.com/pcp-go/pcp/pdu"
)

// An Event is an event record that Context.Events yields. It has a time, flags, and either
// parameters or the number of missed events. It is valid until the next iteration of the loop;
// Clone makes a copy that stays valid.
type Event struct {
	pdu.EventRecord
	Instance pdu.Instance // of the metric; pdu.NoInst and no name if the metric has no instances
	names    *paramNames
}

// Events yields the event records of a metric of type EVENT or HIGHRES_EVENT. It fetches at once
// and then at every multiple of the interval, and yields each record once, in the order of the
// instances and of their records. With the option Instance it yields the records of one instance,
// otherwise those of all.
//
//	for e, err := range c.Events(ctx, "bash.xtrace.records", time.Second) {
//		switch {
//		case err != nil:
//			log.Print(err) // and go on: a *pmapi.Gap if the connection was lost for a while
//		case e.Flags == pdu.EventMissed:
//			log.Printf("%d events were missed", e.Missed)
//		default:
//			for name, value := range e.Params() {
//
// An agent may report missed events, as a record among the others. An error comes without a record.
// It is an error of Group.Every, of the metric, such as pdu.ErrName, or of one instance whose
// records are malformed. The loop goes on after an error, and ends as that of Every does.
//
// On archives the interval does not matter: the records are those of the archive from the position
// on, in the direction of the mode.
//
// A collector sends each record to a client only once. If another request on the same context
// fetches the metric, the records of its reply are missing here. Agents collect records for a
// client from its first fetch on. The counterpart of pmFetch(3) with pmUnpackEventRecords(3) and
// pmUnpackHighResEventRecords(3), and of pmevent(1).
func (c *Context) Events(ctx context.Context, metric string, interval time.Duration, opts ...ItemOption) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if c.archive() != nil {
			interval = 0
		}
		g := c.Group()
		r := new(eventRecords)
		add[uint32](g, r, metric, "", opts) // a type is required, but values are not converted
		for _, err := range g.Every(ctx, interval) {
			if err == nil {
				err = r.err()
			}
			if err != nil {
				if !yield(Event{}, err) {
					return
				}
				continue
			}
			if !r.yield(yield) {
				return
			}
		}
	}
}

// Clone returns a copy that stays valid after the iteration.
func (e Event) Clone() Event {
	e.EventRecord = e.EventRecord.Clone()
	return e
}

// Params yields the parameters in their order, with the names of their metrics. A metric whose name
// is not known has its PMID instead, such as "29.0.127". EventRecord.Params has the PMIDs.
func (e Event) Params() iter.Seq2[string, pdu.Atom] {
	return func(yield func(string, pdu.Atom) bool) {
		for id, a := range e.EventRecord.Params() {
			name := id.String()
			if e.names != nil && len(e.names.known[id]) > 0 {
				name = e.names.known[id][0]
			}
			if !yield(name, a) {
				return
			}
		}
	}
}

// EventValue returns the first value of a metric in a record, converted to a T by pdu.As. The
// metric is a parameter, by a name or by its PMID such as "29.0.127", or event.flags or
// event.missed. Errors: pdu.ErrValue if the record lacks the metric; those of pdu.As.
func EventValue[T pdu.Scalar](e Event, metric string) (T, error) {
	for id, a := range e.Values() {
		if e.names.isName(id, metric) {
			return pdu.As[T](a)
		}
	}
	var none T
	return none, fmt.Errorf("event record without %s: %w", metric, pdu.ErrValue)
}

// paramNames are the names of the metrics of parameters.
type paramNames struct{ known map[pdu.PMID][]string }

// maxParamNames limits the metrics of parameters whose names are looked up, each in a separate
// request. Other metrics have their PMIDs instead.
const maxParamNames = 4096

func (n *paramNames) isName(id pdu.PMID, name string) bool {
	switch id {
	case pdu.EventFlagsPMID:
		return name == pdu.EventFlagsName
	case pdu.EventMissedPMID:
		return name == pdu.EventMissedName
	}
	return n != nil && slices.Contains(n.known[id], name) || id.String() == name
}

// eventRecords has the records of a metric in a Group.
type eventRecords struct {
	groupMetric
	set   pdu.ValueSet // of the latest fetch
	only  int          // the index of the instance that is selected
	names *paramNames
}

// Err is why there are no records.
func (r *eventRecords) Err() error { return r.err() }

func (r *eventRecords) setDesc(d, _ pdu.Desc) error {
	r.names = &paramNames{known: map[pdu.PMID][]string{}}
	if r.opts.hasInstance {
		if err := r.findInstance(); err != nil {
			return err
		}
	}
	if r.opts.hasScale || r.opts.where != nil {
		return fmt.Errorf("event records have no options but Instance: %w", pdu.ErrArg)
	}
	return checkEvents(d)
}

// checkEvents returns an error unless a metric has event records.
func checkEvents(d pdu.Desc) error {
	if d.Type != pdu.TypeEvent && d.Type != pdu.TypeHighResEvent {
		return fmt.Errorf("type %s has no event records: %w", wording.Type(d.Type), pdu.ErrType)
	}
	return nil
}

func (r *eventRecords) resetRates() {}

func (r *eventRecords) setValues(ctx context.Context, s pdu.ValueSet) error {
	r.set = pdu.ValueSet{}
	if r.hasFailed(s) {
		r.setMissing(s)
		return nil
	}
	r.only = 0
	if r.opts.hasInstance {
		index, ok := r.selectValue(s, 0)
		if !ok && r.noInst {
			return nil
		}
		if r.setCode(0); !ok {
			return nil // no records at present
		}
		r.only = index
	} else if r.domain != nil {
		// These records cannot be fetched again, so an error only means that a name is missing.
		_ = r.domain.ensureNames(ctx, s, false)
	}
	r.setCode(0)
	r.set = s
	r.lookupNames(ctx)
	return nil
}

// lookupNames looks up the names of new parameters. If a lookup fails, the PMID takes the place of
// the name, because these records cannot be fetched again.
func (r *eventRecords) lookupNames(ctx context.Context) {
	for i := range r.set.Len() {
		records, err := r.set.Atom(i, r.desc.Type).Events()
		if err != nil {
			continue // yield reports it
		}
		for record := range records.All() {
			for id := range record.Params() {
				if _, ok := r.names.known[id]; ok || len(r.names.known) >= maxParamNames {
					continue
				}
				names, err := r.g.c.Names(ctx, id)
				if err != nil && !isReply(err) {
					return
				}
				r.names.known[id] = names
			}
		}
	}
}

// yield passes the records of the latest fetch to a loop. It reports whether the loop goes on.
func (r *eventRecords) yield(yield func(Event, error) bool) bool {
	for i := range r.set.Len() {
		if r.opts.hasInstance && i != r.only {
			continue
		}
		e := Event{Instance: pdu.Instance{ID: r.set.Inst(i)}, names: r.names}
		if r.domain != nil {
			e.Instance.Name = r.domain.names[e.Instance.ID]
		}
		records, err := r.set.Atom(i, r.desc.Type).Events()
		if err != nil {
			if !yield(Event{}, r.g.c.fail("fetch", r.label(e.Instance.Name), err)) {
				return false
			}
			continue
		}
		for e.EventRecord = range records.All() {
			if !yield(e, nil) {
				return false
			}
		}
	}
	return true
}

func (r *eventRecords) initColumns(*memberColumns) {}

func (r *eventRecords) addToColumns(*memberColumns) {}
