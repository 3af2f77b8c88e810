package pmdatest

import (
	"maps"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/pdu"
)

const noName = "no_such.metric.of.pmdatest"

// checkDynamic compares the ways to find names below dynamic roots.
func (c *checker) checkDynamic() {
	for name, id := range c.tree.All() {
		if _, dynamic := id.IsDynamicRoot(); dynamic {
			c.dynamicRoot(name)
			c.noSuchName(name + "." + noName)
		} else {
			c.staticName(name, id)
		}
	}
	c.noSuchName(noName)
	for _, id := range c.unknownPMIDs() {
		_, err := c.h.Names(c.ctx, request(0, nil), id)
		c.wantCode(err, pdu.ErrPMID, "Names(%v) of an unknown metric", id)
	}
}

// noSuchName looks up an unknown name.
func (c *checker) noSuchName(name string) {
	r := request(0, nil)
	_, err := c.h.PMID(c.ctx, r, name)
	c.wantCode(err, pdu.ErrName, "PMID(%q)", name)
	_, err = c.h.Children(c.ctx, r, name)
	c.wantCode(err, pdu.ErrName, "Children(%q)", name)
	_, err = c.h.Traverse(c.ctx, r, name)
	c.wantCode(err, pdu.ErrName, "Traverse(%q)", name)
}

// staticName requests the names of a metric in the name space. Each name that the agent returns
// must be a name of that metric.
func (c *checker) staticName(name string, id pdu.PMID) {
	names, err := c.h.Names(c.ctx, request(0, nil), id)
	if err != nil {
		c.wantCode(err, pdu.ErrPMID, "Names(%v), which is %s", id, name)
		return
	}
	for _, n := range names {
		if got, err := c.lookup(n); err != nil || got != id {
			c.errorf("Names(%v): %q, but that name is %v (%s)", id, n, got, errorText(err))
		}
	}
}

// lookup finds a name as a collector does.
func (c *checker) lookup(name string) (pdu.PMID, error) {
	id, err := c.tree.Lookup(name)
	if _, dynamic := id.IsDynamicRoot(); err == nil && dynamic {
		return c.h.PMID(c.ctx, request(0, nil), name)
	}
	return id, err
}

// dynamicRoot compares the names at and below a dynamic root.
func (c *checker) dynamicRoot(root string) {
	r := request(0, nil)
	list, err := c.h.Traverse(c.ctx, r, root)
	if err != nil {
		c.errorf("Traverse(%q): %s, but it is a dynamic root", root, errorText(err))
		return
	}
	s := subtree{map[string]bool{}, map[string]bool{}, map[string]bool{}}
	for _, name := range list {
		if s.metrics[name] {
			c.errorf("Traverse(%q): %q comes twice", root, name)
		}
		s.add(name)
		c.dynamicName(root, name)
	}
	if again, err := c.h.Traverse(c.ctx, r, root); !c.changing && (err != nil || !sameNames(list, again)) {
		c.errorf("Traverse(%q): %q, then %q (%s): if names change by themselves, say so with Changing", root, list, again, errorText(err))
	}
	c.children(root, s, 0)
	for _, name := range slices.Sorted(maps.Keys(s.metrics)) {
		if !s.found[name] && name != root {
			c.errorf("Children: %q cannot be reached from the dynamic root %q level by level, but Traverse gives it", name, root)
		}
	}
}

// A subtree holds the names at and below a dynamic root.
type subtree struct {
	metrics map[string]bool // full names that Traverse returns
	inner   map[string]bool // full names above those
	found   map[string]bool // metrics that are found with Children
}

func (s subtree) add(metric string) {
	s.metrics[metric] = true
	for i := strings.LastIndexByte(metric, '.'); i > 0 && !s.inner[metric[:i]]; i = strings.LastIndexByte(metric[:i], '.') {
		s.inner[metric[:i]] = true
	}
}

// sameNames compares lists regardless of their order.
func sameNames(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// dynamicName looks up the metric of a name, and the names of the metric.
func (c *checker) dynamicName(root, name string) {
	r := request(0, nil)
	if name != root && !strings.HasPrefix(name, root+".") {
		c.errorf("Traverse(%q): %q is not below it: names are full", root, name)
	}
	id, err := c.h.PMID(c.ctx, r, name)
	switch {
	case err != nil && c.changing && pdu.FromError(err) == pdu.ErrName:
		return // it has gone
	case err != nil:
		c.errorf("PMID(%q): %s, but Traverse gives it", name, errorText(err))
		return
	case id.Domain() < 1 || id.Domain() > pdu.MaxDomain:
		c.errorf("PMID(%q): %v is of no agent: metrics of this one have domain %d", name, id, c.info.Domain)
		return
	case id.Domain() == c.info.Domain:
		c.namesOf(id, name)
	} // otherwise the metric is of another agent, which knows its names
	// pminfo(1) and other tools traverse any name of the user, even that of a metric.
	if self, err := c.h.Traverse(c.ctx, r, name); err != nil || !slices.Equal(self, []string{name}) {
		c.errorf("Traverse(%q): %q (%s), want the name itself, since it is a metric", name, self, errorText(err))
	}
	if below, err := c.h.Children(c.ctx, r, name); err != nil && pdu.FromError(err) != pdu.ErrName || len(below) > 0 {
		c.errorf("Children(%q): %v (%s), want none, since it is a metric", name, below, errorText(err))
	}
}

// namesOf requests the names of a metric. The known name must be among them.
func (c *checker) namesOf(id pdu.PMID, name string) {
	names, err := c.h.Names(c.ctx, request(0, nil), id)
	if err != nil || !slices.Contains(names, name) {
		c.errorf("Names(%v): %q (%s), want %q among them", id, names, errorText(err), name)
	}
	for _, n := range names {
		if other, err := c.lookup(n); err != nil || other != id {
			c.errorf("Names(%v): %q, but that name is %v (%s)", id, n, other, errorText(err))
		}
	}
}

// children descends level by level, and records the metrics that it finds.
func (c *checker) children(name string, s subtree, depth int) {
	if s.metrics[name] {
		return // dynamicName has checked it
	}
	r := request(0, nil)
	if depth > 0 {
		id, err := c.h.PMID(c.ctx, r, name)
		if code := pdu.FromError(err); code != pdu.ErrNonLeaf && code != pdu.ErrName {
			c.errorf("PMID(%q): %v (%s), but there are names below it: want pdu.ErrNonLeaf", name, id, errorText(err))
		}
	}
	below, err := c.h.Children(c.ctx, r, name)
	if err != nil {
		c.errorf("Children(%q): %s, but Traverse gives names below it", name, errorText(err))
		return
	}
	seen := map[string]bool{}
	for _, n := range below {
		full := name + "." + n.Name
		isName, isInner := s.metrics[full], s.inner[full]
		switch {
		case seen[n.Name]:
			c.errorf("Children(%q): %q comes twice", name, n.Name)
		case strings.Contains(n.Name, ".") || !isName && !isInner:
			c.errorf("Children(%q): %q is no component below it", name, n.Name)
		case n.Leaf != isName:
			c.errorf("Children(%q): %q has Leaf %v, but Traverse says otherwise", name, n.Name, n.Leaf)
		case isName:
			s.found[full] = true
		default:
			c.traverseInner(full, s)
			c.children(full, s, depth+1)
		}
		seen[n.Name] = true
	}
}

// traverseInner traverses an inner name, and compares the result with the metrics of the root.
func (c *checker) traverseInner(name string, s subtree) {
	list, err := c.h.Traverse(c.ctx, request(0, nil), name)
	var want []string
	for m := range s.metrics {
		if strings.HasPrefix(m, name+".") {
			want = append(want, m)
		}
	}
	if !c.changing && (err != nil || !sameNames(list, want)) {
		c.errorf("Traverse(%q): %q (%s), want %q as the root has them", name, list, errorText(err), want)
	}
}
