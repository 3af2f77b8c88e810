package pmapitest

import (
	"maps"
	"slices"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// known is the metadata that a context has received, in the state of that time or of the latest
// gap.
type known struct {
	ids   map[string]pdu.PMID
	descs map[pdu.PMID]pdu.Desc
	insts map[pdu.InDom][]pdu.Instance // by number
}

func newKnown() known {
	return known{map[string]pdu.PMID{}, map[pdu.PMID]pdu.Desc{}, map[pdu.InDom][]pdu.Instance{}}
}

func (k known) clone() known {
	return known{maps.Clone(k.ids), maps.Clone(k.descs), maps.Clone(k.insts)}
}

// findGap compares the metadata that the context has received with the present metadata, and
// replaces it. An unreported gap becomes part of the new one.
func (c *conn) findGap() *pmapi.Gap {
	g := &pmapi.Gap{Lost: c.lostAt, Restored: c.s.now(), Cause: c.lost}
	if old := c.gap; old != nil {
		g.Lost, g.Cause = old.Lost, old.Cause
		for _, n := range old.Names {
			c.known.ids[n.Name] = n.Was
		}
		for _, d := range old.Descs {
			c.known.descs[pmidOf(d)] = d.Was
		}
		for _, d := range old.InDoms {
			c.known.insts[d.InDom] = d.Was
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.known.ids)) {
		is := pdu.NoPMID
		if m := c.s.byName(name); m != nil {
			is = m.desc.PMID
		}
		if was := c.known.ids[name]; was != is {
			g.Names = append(g.Names, pmapi.NameChange{Name: name, Was: was, Is: is})
			c.known.ids[name] = is
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.known.descs)) {
		is, err := c.s.desc(id)
		switch was := c.known.descs[id]; {
		case err != nil && err != error(pdu.ErrPMID):
			g.Unchecked = append(g.Unchecked, pmapi.Unchecked{What: "descriptor of " + id.String(), Err: err})
		case was != is:
			g.Descs = append(g.Descs, pmapi.DescChange{Was: was, Is: is})
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
			g.Unchecked = append(g.Unchecked, pmapi.Unchecked{What: "instances of " + id.String(), Err: d.err})
		case !slices.Equal(was, is):
			g.InDoms = append(g.InDoms, pmapi.InDomChange{InDom: id, Was: was, Is: is})
			c.known.insts[id] = slices.Clone(is)
		}
	}
	return g
}

func pmidOf(c pmapi.DescChange) pdu.PMID {
	if c.Was.PMID == pdu.NoPMID {
		return c.Is.PMID
	}
	return c.Was.PMID
}
