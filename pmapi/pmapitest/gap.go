package pmapitest

import (
	"maps"
	"slices"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// known holds the metadata that a context has received, as of then or of the last gap.
type known struct {
	ids   map[string]pdu.PMID
	descs map[pdu.PMID]pdu.Desc
	insts map[pdu.InDom][]pdu.Instance // sorted by number
}

func newKnown() known {
	return known{map[string]pdu.PMID{}, map[pdu.PMID]pdu.Desc{}, map[pdu.InDom][]pdu.Instance{}}
}

func (k known) clone() known {
	return known{maps.Clone(k.ids), maps.Clone(k.descs), maps.Clone(k.insts)}
}

// findGap compares the metadata that the context has received with the current metadata, and
// replaces it. An unreported gap becomes part of the new one.
func (c *conn) findGap() *pmapi.Gap {
	g := &pmapi.Gap{Lost: c.lostAt, Restored: c.s.now(), Cause: c.lost,
		Names: map[string]pmapi.GapChange[pdu.PMID]{}, Descs: map[pdu.PMID]pmapi.GapChange[pdu.Desc]{},
		InDoms: map[pdu.InDom]pmapi.GapChange[[]pdu.Instance]{}, Unchecked: map[string]error{}}
	if old := c.gap; old != nil {
		g.Lost, g.Cause = old.Lost, old.Cause
		for name, n := range old.Names {
			c.known.ids[name] = n.Was
		}
		for id, d := range old.Descs {
			c.known.descs[id] = d.Was
		}
		for id, d := range old.InDoms {
			c.known.insts[id] = d.Was
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.known.ids)) {
		is := pdu.NoPMID
		if m := c.s.byName(name); m != nil {
			is = m.desc.PMID
		}
		if was := c.known.ids[name]; was != is {
			g.Names[name] = pmapi.GapChange[pdu.PMID]{Was: was, Is: is}
			c.known.ids[name] = is
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.known.descs)) {
		is, err := c.s.desc(id)
		switch was := c.known.descs[id]; {
		case err != nil && err != error(pdu.ErrPMID):
			g.Unchecked["descriptor of "+id.String()] = err
		case was != is:
			g.Descs[id] = pmapi.GapChange[pdu.Desc]{Was: was, Is: is}
			c.known.descs[id] = is
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.known.insts)) {
		var is []pdu.Instance
		d := c.s.indom(id)
		if d != nil {
			is = sorted(d.list)
		}
		switch was := c.known.insts[id]; {
		case d != nil && d.err != nil:
			g.Unchecked["instances of "+id.String()] = d.err
		case !slices.Equal(was, is):
			g.InDoms[id] = pmapi.GapChange[[]pdu.Instance]{Was: was, Is: is}
			c.known.insts[id] = slices.Clone(is)
		}
	}
	return g
}
