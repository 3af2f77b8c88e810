package sample

import (
	"context"
	"slices"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmns"
)

// A handler wraps the handler of the tables, for replies that tables cannot make.
type handler struct {
	pmda.Handler
	s *sample
}

// begin counts a request and its reply.
func (h handler) begin(r *pmda.Request) { h.s.count(r.Client, 1, 1) }

// Namespace returns the name space. Some of its metrics have several names, which tables do not
// support.
func (h handler) Namespace() *pmns.Tree { return h.s.namespace(h.s.agent.Domain) }

// Fetch fails as a whole if one of the metrics fails. It still fetches the metrics before that one.
func (h handler) Fetch(ctx context.Context, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
	s := h.s
	s.countProfile(r)
	h.begin(r)
	if err := s.prepareFetch(r, ids); err != nil {
		return err
	}
	s.refreshMirage()
	s.refreshDodgey()
	if slices.Contains(ids, s.id(itemMirage)) || slices.Contains(ids, s.id(itemMirageLongLong)) {
		s.startMirage()
	}
	for len(ids) > 0 {
		n := 0
		for n < len(ids) && h.inTables(ctx, r, ids[n]) {
			n++
		}
		if n > 0 {
			if err := h.Handler.Fetch(ctx, r, ids[:n], w); err != nil {
				return err
			}
			ids = ids[n:]
			continue
		}
		if s.failsWhole(ids[0]) {
			return pdu.Error(s.errorCode)
		}
		w.Begin(ids[0])
		s.fetchSpecial(r, ids[0], w)
		h.fetchDynamic(ctx, r, ids[0], w)
		ids = ids[1:]
	}
	return w.Err()
}

// inTables reports whether a metric has its values from the tables.
func (h handler) inTables(ctx context.Context, r *pmda.Request, id pdu.PMID) bool {
	switch id {
	case h.s.id(itemNeedProfile):
		return h.s.hasProfile(r)
	case h.s.id(itemBogusBin):
		return false
	}
	if h.s.hasDynamicValues(id) || h.s.failsWhole(id) {
		return false
	}
	_, err := h.Handler.Desc(ctx, r, id)
	return err == nil
}

// fetchSpecial fetches metrics that are not in the tables. Unknown metrics have no values, as in
// PCP's agent.
func (s *sample) fetchSpecial(r *pmda.Request, id pdu.PMID, w *pdu.ResultWriter) {
	switch id {
	case s.id(itemNeedProfile):
		w.Fail(pdu.ErrProfile)
	case s.id(itemBogusBin):
		s.bogusBins(r, w)
	case s.id(itemUnknown):
		w.Fail(pdu.ErrPMID)
	}
}

// id returns the PMID of an item.
func (s *sample) id(item int) pdu.PMID { return pdu.MakePMID(s.agent.Domain, 0, item) }

// Desc returns the descriptor of a metric, which for some metrics changes.
func (h handler) Desc(ctx context.Context, r *pmda.Request, id pdu.PMID) (pdu.Desc, error) {
	h.begin(r)
	if d, err, ok := h.s.descDynamic(id); ok {
		return d, err
	}
	if d, err, ok := h.s.descFailing(id); ok {
		return d, err
	}
	return h.Handler.Desc(ctx, r, id)
}

// Instances lists a domain or looks up an instance.
func (h handler) Instances(ctx context.Context, r *pmda.Request, d pdu.InDom, inst pdu.InstID, name string) ([]pdu.Instance, error) {
	h.begin(r)
	if i, ok := h.s.lookUpGhost(d, inst, name); ok {
		return []pdu.Instance{i}, nil
	}
	h.s.refreshInDom(d)
	return h.Handler.Instances(ctx, r, d, inst, shortName(name))
}

// Text returns a help text.
func (h handler) Text(ctx context.Context, r *pmda.Request, of pdu.TextTarget, kind pdu.TextKind) (string, error) {
	h.begin(r)
	return h.Handler.Text(ctx, r, of, kind)
}

// Store follows the rules of PCP's agent.
func (h handler) Store(ctx context.Context, r *pmda.Request, values *pdu.Result) error {
	h.begin(r)
	return h.s.store(values)
}
