package pmdatest

import (
	"slices"

	"github.com/pcp-go/pcp/pdu"
)

// checkLasting checks what must not change while a Handler serves.
func (c *checker) checkLasting() {
	if err := c.h.Err(); err != nil {
		c.errorf("Err: %v, after requests", err)
	}
	if again := c.h.Info(); again != c.info {
		c.errorf("Info: %v, then %v after requests: it must not change", c.info, again)
	}
	for _, m := range c.metrics {
		if again, err := c.h.Desc(c.ctx, request(0, nil), m.desc.PMID); err == nil && again != m.desc {
			c.errorf("%s: Desc(%v): %+v, then %+v after other requests: a descriptor must not change", m.name, m.desc.PMID, m.desc, again)
		}
	}
	for _, d := range c.indoms {
		list, err := c.h.Instances(c.ctx, request(0, nil), d.id, pdu.NoInst, "")
		if err != nil {
			continue // checkInstances reports it
		}
		c.sameIDs(d, list, "later in the same run")
	}
}

// sameIDs compares instances with those of an earlier list. Each name must have the same ID, which
// no other name may get.
func (c *checker) sameIDs(d indom, list []pdu.Instance, when string) {
	ids := make(map[string]pdu.InstID, len(d.list))
	for _, i := range d.list {
		ids[i.Name] = i.ID
	}
	for _, i := range list {
		old, was := ids[i.Name]
		switch {
		case was && old != i.ID:
			c.errorf("Instances(%v): %q has the ID %d, and %d %s: an instance keeps its ID; InDom.SetNames sees to that", d.id, i.Name, old, i.ID, when)
		case !was && !c.changing && d.has(i.ID):
			c.errorf("Instances(%v): the ID %d of %q is that of %q %s: an ID is not used again for another instance", d.id, i.ID, d.ids[i.ID], i.Name, when)
		}
	}
}

// checkRestart compares a new Handler with the previous one.
func (c *checker) checkRestart() {
	if c.restart == nil {
		return
	}
	before, lists := c.pmids(), map[pdu.InDom]indom{}
	for _, d := range c.indoms {
		if list, err := c.h.Instances(c.ctx, request(0, nil), d.id, pdu.NoInst, ""); err == nil {
			now := indom{id: d.id, list: slices.Clone(list), ids: map[pdu.InstID]string{}}
			for _, i := range list {
				now.ids[i.ID] = i.Name
			}
			lists[d.id] = now
		}
	}
	c.end()
	c.end = func() {}
	h := c.restart()
	if err := checkable(h); err != nil {
		c.errorf("Restart: %v", err)
		return
	}
	c.h.Handler = h
	c.begin()
	c.refreshTree()
	after := c.pmids()
	for name, id := range before {
		if now, ok := after[name]; !ok && !c.changing {
			c.errorf("%s: it is %v, and missing after a restart", name, id)
		} else if ok && now != id {
			c.errorf("%s: it is %v, and %v after a restart: archives would mix its values with those of another metric; give it an ID with pmda.Item", name, id, now)
		}
	}
	for _, m := range c.metrics {
		if d, err := c.h.Desc(c.ctx, request(0, nil), m.desc.PMID); err == nil && after[m.name] == m.desc.PMID && d != m.desc {
			c.errorf("%s: Desc(%v): %+v, and %+v after a restart", m.name, m.desc.PMID, m.desc, d)
		}
	}
	for id, d := range lists {
		if list, err := c.h.Instances(c.ctx, request(0, nil), id, pdu.NoInst, ""); err == nil {
			c.sameIDs(d, list, "after a restart")
		} else if !c.changing && !c.mayFailInDom(id) {
			c.errorf("Instances(%v): %s after a restart", id, errorText(err))
		}
	}
}

// pmids returns the PMIDs of all names.
func (c *checker) pmids() map[string]pdu.PMID {
	ids := map[string]pdu.PMID{}
	for name, id := range c.names() {
		ids[name] = id
	}
	return ids
}
