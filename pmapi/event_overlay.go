package pmapi

import (
	"context"
	"slices"
	"strings"

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

// eventMetricOf is the metric with a PMID, nil if it is another.
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
	return addEventNames(name, names, err)
}

// addEventNames adds the names of event metrics at and below a name to those of the
// source, whose error is err. The error is nil if there are any now.
func addEventNames(name string, names []string, err error) ([]string, error) {
	for _, m := range eventMetrics {
		below := name == "" || m.name == name || strings.HasPrefix(m.name, name+".")
		if below && (err == nil || pdu.FromError(err) == pdu.ErrName) && !slices.Contains(names, m.name) {
			names, err = append(names, m.name), nil
		}
	}
	return names, err
}

func (o *eventOverlay) Children(ctx context.Context, name string) ([]pmns.Child, error) {
	children, err := o.Source.Children(ctx, name)
	names, err := addEventNames(name, nil, err)
	for _, n := range names {
		rest := n
		if name != "" {
			rest = strings.TrimPrefix(n, name)
			if rest = strings.TrimPrefix(rest, "."); rest == "" {
				continue // the name itself
			}
		}
		first, _, more := strings.Cut(rest, ".")
		if !slices.ContainsFunc(children, func(c pmns.Child) bool { return c.Name == first }) {
			children = append(children, pmns.Child{Name: first, Leaf: !more})
		}
	}
	return children, err
}

// Descs describes the event metrics, and has the source describe the others.
func (o *eventOverlay) Descs(ctx context.Context, ids []pdu.PMID) ([]pdu.Desc, source.Errors, error) {
	others := slices.DeleteFunc(slices.Clone(ids), isEventMetric)
	if len(others) == len(ids) {
		return o.Source.Descs(ctx, ids)
	}
	var descs []pdu.Desc
	var errs source.Errors
	if len(others) > 0 {
		var err error
		if descs, errs, err = o.Source.Descs(ctx, others); err != nil {
			return nil, nil, err
		}
	}
	all := make([]pdu.Desc, len(ids))
	var allErrs source.Errors
	n := 0 // others so far
	for i, id := range ids {
		if m := eventMetricOf(id); m != nil {
			all[i] = m.desc()
			continue
		}
		if all[i] = descs[n]; errs.At(n) != nil {
			allErrs.Set(i, len(ids), errs.At(n))
		}
		n++
	}
	return all, allErrs, nil
}

// Texts has the texts of event metrics, and requests those of others from the source.
func (o *eventOverlay) Texts(ctx context.Context, reqs []pdu.TextReq) ([]string, source.Errors, error) {
	isEvent := func(r pdu.TextReq) bool { return r.Text&pdu.TextPMID != 0 && isEventMetric(pdu.PMID(r.Ident)) }
	others := slices.DeleteFunc(slices.Clone(reqs), isEvent)
	if len(others) == len(reqs) {
		return o.Source.Texts(ctx, reqs)
	}
	var texts []string
	var errs source.Errors
	if len(others) > 0 {
		var err error
		if texts, errs, err = o.Source.Texts(ctx, others); err != nil {
			return nil, nil, err
		}
	}
	all := make([]string, len(reqs))
	var allErrs source.Errors
	n := 0 // others so far
	for i, r := range reqs {
		if isEvent(r) {
			all[i] = eventMetricOf(pdu.PMID(r.Ident)).text(r.Text)
			continue
		}
		if all[i] = texts[n]; errs.At(n) != nil {
			allErrs.Set(i, len(reqs), errs.At(n))
		}
		n++
	}
	return all, allErrs, nil
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

// dropEventErrors makes "no values" of errors about event metrics.
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
