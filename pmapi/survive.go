package pmapi

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// handed is what a context that survives has handed out, and how it was then or at
// the latest gap. Whoever has the context's turn may use it. A nil one holds
// nothing.
type handed struct {
	ids    map[string]pdu.PMID // pdu.NoPMID: no more
	descs  map[pdu.PMID]pdu.Desc
	insts  map[pdu.InDom][]pdu.Instance // by number
	gap    *Gap                         // to be reported
	latest *Gap                         // the same, reported or not
	lostAt time.Time
	cause  error
}

func newHanded() *handed {
	return &handed{ids: map[string]pdu.PMID{}, descs: map[pdu.PMID]pdu.Desc{}, insts: map[pdu.InDom][]pdu.Instance{}}
}

func (h *handed) clone() *handed {
	n := *h
	n.ids, n.descs, n.insts = maps.Clone(h.ids), maps.Clone(h.descs), maps.Clone(h.insts)
	return &n
}

func (h *handed) addNames(names []string, ids []pdu.PMID) {
	if h == nil {
		return
	}
	for i, n := range names {
		if ids[i] != pdu.NoPMID {
			h.ids[n] = ids[i]
		}
	}
}

func (h *handed) addDescs(descs []pdu.Desc) {
	if h == nil {
		return
	}
	for _, d := range descs {
		if d.PMID != pdu.NoPMID {
			h.descs[d.PMID] = d
		}
	}
}

func (h *handed) addInstances(d pdu.InDom, list []pdu.Instance) {
	if h != nil {
		h.insts[d] = sorted(list)
	}
}

// sorted is a copy of instances by number.
func sorted(list []pdu.Instance) []pdu.Instance {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b pdu.Instance) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// lost notes when and why the connection was lost, the first time.
func (h *handed) lost(cause error) {
	if h.lostAt.IsZero() {
		h.lostAt, h.cause = time.Now(), cause
	}
}

// takeGap is the gap that has not been reported yet, or nil.
func (h *handed) takeGap() *Gap {
	if h == nil {
		return nil
	}
	g := h.gap
	h.gap = nil
	return g
}

// note takes a gap for the present state.
func (h *handed) note(g *Gap) {
	for _, c := range g.Names {
		h.ids[c.Name] = c.Is
	}
	for _, c := range g.Descs {
		h.descs[c.pmid()] = c.Is
	}
	for _, c := range g.InDoms {
		h.insts[c.InDom] = slices.Clone(c.Is) // the caller may change the other
	}
	h.gap, h.latest, h.lostAt, h.cause = g, g, time.Time{}, nil
}

// recall goes back before the gap that has not been reported yet, which becomes
// part of the next.
func (h *handed) recall() {
	for _, c := range h.gap.Names {
		h.ids[c.Name] = c.Was
	}
	for _, c := range h.gap.Descs {
		h.descs[c.pmid()] = c.Was
	}
	for _, c := range h.gap.InDoms {
		h.insts[c.InDom] = c.Was
	}
	h.lostAt, h.cause = h.gap.Lost, h.gap.Cause
}

// check asks on a new connection for all that was handed out, and returns how that
// is now, with the gap. An error is one of the connection. The caller has the turn.
func (c *Context) check(ctx context.Context, l *link) (*handed, error) {
	h := c.handed.clone()
	if h.gap != nil {
		h.recall()
	}
	h.lost(errAsked) // if it was not
	g := &Gap{Lost: h.lostAt, Cause: h.cause}
	l.begin(ctx, c.dialer.RequestTimeout)
	defer l.waiting.End()
	for _, compare := range []func(*link, *Gap) error{h.compareNames, h.compareDescs, h.compareInDoms} {
		if err := compare(l, g); err != nil {
			return nil, l.ended(ctx, err)
		}
	}
	g.Back = time.Now()
	h.note(g)
	return h, nil
}

func (h *handed) compareNames(l *link, g *Gap) error {
	names := slices.Sorted(maps.Keys(h.ids))
	ids, codes, err := l.lookup(names)
	if err != nil {
		return err
	}
	for i, n := range names {
		switch was := h.ids[n]; {
		case codes[i] != 0 && codes[i] != pdu.ErrName && codes[i] != pdu.ErrNonLeaf:
			g.missing("name "+n, codes[i])
		case was != ids[i]:
			g.Names = append(g.Names, NameChange{n, was, ids[i]})
		}
	}
	return nil
}

func (h *handed) compareDescs(l *link, g *Gap) error {
	ids := slices.Sorted(maps.Keys(h.descs))
	descs, codes, err := l.descs(ids, 1)
	if err != nil {
		return err
	}
	for i, id := range ids {
		switch was := h.descs[id]; {
		case codes[i] != 0 && codes[i] != pdu.ErrPMID && codes[i] != pdu.ErrNoAgent:
			g.missing("descriptor of "+id.String(), codes[i])
		case was != descs[i]:
			g.Descs = append(g.Descs, DescChange{was, descs[i]})
		}
	}
	return nil
}

func (h *handed) compareInDoms(l *link, g *Gap) error {
	domains := slices.Sorted(maps.Keys(h.insts))
	for _, d := range domains {
		if err := l.queue(pdu.InstanceReq{InDom: d, Inst: pdu.NoInst}); err != nil {
			return err
		}
	}
	return l.answers(len(domains), pdu.KindInstance, func(i int, body []byte, err error) error {
		p := instanceReply{of: pdu.InstanceReq{InDom: domains[i], Inst: pdu.NoInst}}
		if err == nil {
			err = p.Decode(body)
		}
		switch was, is := h.insts[domains[i]], sorted(p.Instances); {
		case err != nil && err != error(pdu.ErrInDom) && err != error(pdu.ErrNoAgent):
			g.missing("instances of "+domains[i].String(), err)
		case !slices.Equal(was, is):
			g.InDoms = append(g.InDoms, InDomChange{domains[i], was, is})
		}
		return nil
	})
}
