package pmapi

import (
	"context"
	"slices"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/internal/source"
	"github.com/pcp-go/pcp/pmns"
)

// An eventOverlay adds the two metrics of event records, event.flags and
// event.missed, to a source that does not know them. They have names, descriptors and
// texts, and no values, but no error either. A metric of the source with one of the names
// hides the one here.
type eventOverlay struct{ source.Source }

// An eventMetric is one of the two metrics.
type eventMetric struct {
	name          string
	id            pdu.PMID
	oneLine, help string
}

var eventMetrics = [...]eventMetric{
	{pdu.EventFlagsName, pdu.EventFlagsPMID, "What an event record stands for",
		"The flags of a record of an event array: see pmUnpackEventRecords(3).\nNo agent has values of this metric."},
	{pdu.EventMissedName, pdu.EventMissedPMID, "Number of events that were lost",
		"How many events a record of an event array stands for that came faster\nthan agent or client took them: see pmUnpackEventRecords(3). No agent has\nvalues of this metric."},
}

// eventMetricOf returns the event metric with a PMID, or nil.
func eventMetricOf(id pdu.PMID) *eventMetric {
	for i := range eventMetrics {
		if eventMetrics[i].id == id {
			return &eventMetrics[i]
		}
	}
	return nil
}

func isEventMetric(id pdu.PMID) bool { return id == pdu.EventFlagsPMID || id == pdu.EventMissedPMID }

func (m *eventMetric) desc() pdu.Desc {
	return pdu.Desc{PMID: m.id, Type: pdu.TypeU32, InDom: pdu.NoInDom, Sem: pdu.SemDiscrete}
}

// text is the help text of a kind.
func (m *eventMetric) text(kind pdu.TextKind) string {
	if kind&pdu.TextHelp != 0 {
		return m.help
	}
	return m.oneLine
}

func (o *eventOverlay) Lookup(ctx context.Context, names []string) ([]pdu.PMID, source.Errors, error) {
	ids, errs, err := o.Source.Lookup(ctx, names)
	if err != nil || errs == nil {
		return ids, errs, err
	}
	for i, name := range names {
		if ids[i] != pdu.NoPMID {
			continue
		}
		for _, m := range eventMetrics {
			if m.name == name {
				ids[i], errs[i] = m.id, nil
			}
		}
	}
	return ids, errs, nil
}

func (o *eventOverlay) Names(ctx context.Context, id pdu.PMID) ([]string, error) {
	if m := eventMetricOf(id); m != nil {
		return []string{m.name}, nil
	}
	return o.Source.Names(ctx, id)
}

func (o *eventOverlay) Traverse(ctx context.Context, name string) ([]string, error) {
	names, err := o.Source.Traverse(ctx, name)
	return addNames(name, names, err, eventNames)
}

func (o *eventOverlay) Children(ctx context.Context, name string) ([]pmns.Child, error) {
	children, err := o.Source.Children(ctx, name)
	return addChildren(name, children, err, eventNames)
}

var eventNames = []string{pdu.EventFlagsName, pdu.EventMissedName}

// Descs describes the event metrics, and has the source describe the others.
func (o *eventOverlay) Descs(ctx context.Context, ids []pdu.PMID) ([]pdu.Desc, source.Errors, error) {
	return overlay(ids, isEventMetric, func(id pdu.PMID) (pdu.Desc, error) { return eventMetricOf(id).desc(), nil },
		func(ids []pdu.PMID) ([]pdu.Desc, source.Errors, error) { return o.Source.Descs(ctx, ids) })
}

// Texts has the texts of event metrics, and requests those of others from the source.
func (o *eventOverlay) Texts(ctx context.Context, reqs []pdu.TextReq) ([]string, source.Errors, error) {
	return overlay(reqs, func(r pdu.TextReq) bool { return r.Text&pdu.TextPMID != 0 && isEventMetric(pdu.PMID(r.Ident)) },
		func(r pdu.TextReq) (string, error) { return eventMetricOf(pdu.PMID(r.Ident)).text(r.Text), nil },
		func(reqs []pdu.TextReq) ([]string, source.Errors, error) { return o.Source.Texts(ctx, reqs) })
}

func (o *eventOverlay) Fetch(ctx context.Context, ids []pdu.PMID, profile *pdu.Profile, r *pdu.Result) error {
	if err := o.Source.Fetch(ctx, ids, profile, r); err != nil {
		return err
	}
	for i, id := range ids {
		if isEventMetric(id) && r.At(i).Err() != nil {
			return dropEventErrors(r)
		}
	}
	return nil
}

// FetchSets calls FetchSets of the source below, if it has that method and no event metric is
// requested.
func (o *eventOverlay) FetchSets(ctx context.Context, ids []pdu.PMID, profile *pdu.Profile) (sets source.Sets, t time.Time, err error) {
	below, ok := o.Source.(source.SetFetcher)
	if !ok || slices.ContainsFunc(ids, isEventMetric) {
		return nil, t, nil
	}
	return below.FetchSets(ctx, ids, profile)
}

// dropEventErrors replaces the errors of event metrics by sets without values.
func dropEventErrors(r *pdu.Result) error {
	w := pdu.ResultWriter{Time: r.Time}
	for _, s := range r.All() {
		if eventMetricOf(s.PMID) != nil && s.Err() != nil {
			w.Begin(s.PMID)
		} else {
			w.Copy(s)
		}
	}
	n, err := w.Result()
	if err != nil {
		return err
	}
	n.Format, n.Changed = r.Format, r.Changed
	*r = *n
	return nil
}

func (o *eventOverlay) Dup(ctx context.Context) (source.Source, error) {
	src, err := o.Source.Dup(ctx)
	if err != nil {
		return nil, err
	}
	return &eventOverlay{src}, nil
}

// Unwrap returns the source below.
func (o *eventOverlay) Unwrap() source.Source { return o.Source }
