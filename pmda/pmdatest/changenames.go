package pmdatest

import (
	"sync"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmns"
)

// changeRounds is the number of changes of names, first between requests and then during requests.
const changeRounds = 4

// nameState holds the names at one time.
type nameState struct {
	tree *pmns.Tree
	ids  map[string]pdu.PMID
	desc map[string]pdu.Desc
}

// checkChangedNames changes names with the function of ChangeNames.
func (c *checker) checkChangedNames() {
	if c.rename == nil {
		return
	}
	before := c.nameState()
	for range changeRounds {
		c.told() // receive earlier changes
		c.rename()
		after := c.nameState()
		c.compareNames(before, after)
		before = after
	}
	c.changeDuringRequests()
	c.refreshTree()
	c.checkDynamic()
}

// refreshTree gets the name space again.
func (c *checker) refreshTree() {
	if c.ownTree {
		c.tree = c.h.Namespace()
	}
}

// nameState finds all names.
func (c *checker) nameState() nameState {
	c.refreshTree()
	s := nameState{c.tree, map[string]pdu.PMID{}, map[string]pdu.Desc{}}
	for name, id := range c.names() {
		s.ids[name] = id
		d, err := c.h.Desc(c.ctx, request(0, nil), id)
		if err != nil {
			c.errorf("%s: Desc(%v): %s after names have changed, but the name is in the name space", name, id, errorText(err))
		}
		s.desc[name] = d
	}
	return s
}

// told returns the change that a fetch reports. It fetches an unknown metric.
func (c *checker) told() pdu.Change {
	var w pdu.ResultWriter
	id := c.unknownPMIDs()[0]
	if err := c.h.Fetch(c.ctx, request(0, nil), []pdu.PMID{id}, &w); err != nil && err != errReported {
		c.errorf("%s: %s: it fails only if every metric fails; a set can fail alone", c.h.fetchOf([]pdu.PMID{id}), errorText(err))
	}
	return w.Changed
}

// compareNames compares the names before and after a change.
func (c *checker) compareNames(before, after nameState) {
	changed := len(before.ids) != len(after.ids)
	inUse := map[pdu.PMID]bool{}
	for name, id := range after.ids {
		inUse[id] = true
		old, was := before.ids[name]
		changed = changed || !was || old != id
	}
	if !changed {
		c.errorf("names: none has changed: the function of ChangeNames has no effect, or the Handler does not notice it")
		return
	}
	if first := c.told(); first&pdu.ChangeNames == 0 {
		c.errorf("Fetch: the first after names have changed does not have pdu.ChangeNames in Changed: clients keep the old names")
	} else if again := c.told(); again&pdu.ChangeNames != 0 {
		c.errorf("Fetch: the second after names have changed has pdu.ChangeNames in Changed, too: once is enough")
	}
	r := request(0, nil)
	for name, id := range before.ids {
		if _, stays := after.ids[name]; !stays {
			c.goneName(name, before.tree, id, inUse[id])
		} else if same := after.ids[name] == id; same && after.desc[name] != before.desc[name] {
			c.errorf("%s: Desc(%v): %+v before a change of names, %+v after it: a metric with another descriptor needs another PMID", name, id, before.desc[name], after.desc[name])
		}
	}
	for name, id := range after.ids {
		if d := after.desc[name]; d.PMID != id {
			continue // reported by nameState
		}
		if set := c.fetch(nil, []pdu.PMID{id}); set != nil {
			c.checkSetNow(metric{name, after.desc[name]}, set.At(0))
		}
		_, _ = c.h.Text(c.ctx, r, pdu.TextOfMetric(id), pdu.TextOneLine)
		c.labels(pdu.LabelsOfItem(id), nil)
	}
}

// checkSetNow is checkSet for metrics whose instances may be new.
func (c *checker) checkSetNow(m metric, s pdu.ValueSet) {
	changing := c.changing
	c.changing = true
	defer func() { c.changing = changing }()
	c.checkSet(m, s, nil)
}

// goneName looks up a removed metric.
func (c *checker) goneName(name string, was *pmns.Tree, id pdu.PMID, inUse bool) {
	r := request(0, nil)
	if root, _ := was.Lookup(name); root != id { // it was below a dynamic root
		if now, _ := c.tree.Lookup(name); now == root {
			_, err := c.h.PMID(c.ctx, r, name)
			if code := pdu.FromError(err); code != pdu.ErrNonLeaf {
				c.wantCode(err, pdu.ErrName, "PMID(%q), which has been removed", name)
			}
		}
	}
	if inUse {
		return // it has another name
	}
	_, err := c.h.Desc(c.ctx, r, id)
	c.wantCode(err, pdu.ErrPMID, "%s: Desc(%v) of a metric that has been removed", name, id)
	_, err = c.h.Names(c.ctx, r, id)
	c.wantCode(err, pdu.ErrPMID, "%s: Names(%v) of a metric that has been removed", name, id)
	_, err = c.h.Text(c.ctx, r, pdu.TextOfMetric(id), pdu.TextOneLine)
	c.wantCode(err, pdu.ErrText, "%s: Text(%v) of a metric that has been removed", name, id)
	if set := c.fetch(nil, []pdu.PMID{id}); set != nil {
		c.wantCode(set.At(0).Err(), pdu.ErrPMID, "%s: Fetch: the set of a metric that has been removed", name)
	}
}

// changeDuringRequests changes names while clients request them. Replies may be old, but must be
// consistent.
func (c *checker) changeDuringRequests() {
	end := make(chan struct{})
	var wg sync.WaitGroup
	for n := range 3 {
		wg.Go(func() {
			c.guard(func() {
				for more := true; more; {
					select {
					case <-end:
						more = false
					default:
					}
					c.walkNames(uint32(n))
				}
			})
		})
	}
	c.guard(func() {
		for range changeRounds {
			c.rename()
			c.walkNames(3)
		}
	})
	close(end)
	wg.Wait()
	c.told()
}

// walkNames visits all names once, and describes and fetches their metrics, which may be gone by
// then.
func (c *checker) walkNames(slot uint32) {
	r := request(slot, nil)
	tree := c.tree
	if c.ownTree {
		tree = c.h.Namespace()
	}
	gone := func(err error, code pdu.Error, what string, of any) {
		if got := pdu.FromError(err); err != nil && err != errReported && got != code {
			c.errorf("%s(%v) while names change: %s, want %d (%v) if it has gone", what, of, errorText(err), int32(code), code)
		}
	}
	for name, id := range tree.All() {
		if _, dynamic := id.IsDynamicRoot(); !dynamic {
			_, err := c.h.Desc(c.ctx, r, id)
			gone(err, pdu.ErrPMID, "Desc", id)
			continue
		}
		list, err := c.h.Traverse(c.ctx, r, name)
		gone(err, pdu.ErrName, "Traverse", name)
		seen := map[string]bool{}
		for _, n := range list {
			if seen[n] {
				c.errorf("Traverse(%q) while names change: %q comes twice: a traversal is of one state", name, n)
			}
			seen[n] = true
			id, err := c.h.PMID(c.ctx, r, n)
			if gone(err, pdu.ErrName, "PMID", n); err != nil {
				continue
			}
			d, err := c.h.Desc(c.ctx, r, id)
			if gone(err, pdu.ErrPMID, "Desc", id); err == nil && d.PMID != id {
				c.errorf("%s: Desc(%v) while names change: it is of %v", n, id, d.PMID)
			}
			_, _ = c.fetchFor(r, []pdu.PMID{id})
		}
	}
}
