package pmdatest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// A metric is a metric with the descriptor that the Handler returned.
type metric struct {
	name string
	desc pdu.Desc
}

// An indom is an instance domain of a metric, with the instances that the Handler has listed.
type indom struct {
	id   pdu.InDom
	list []pdu.Instance
	ids  map[pdu.InstID]string
}

func (d indom) has(id pdu.InstID) bool {
	_, ok := d.ids[id]
	return ok
}

func (c *checker) checkInfo() {
	if err := c.h.Err(); err != nil {
		c.errorf("Err: %v", err)
	}
	c.begin()
	c.info = c.h.Info()
	if c.info.Name == "" {
		c.errorf("Info: no Name")
	}
	if c.info.Domain < 0 || c.info.Domain > pdu.MaxDomain {
		c.errorf("Info: Domain %d out of range (0..%d)", c.info.Domain, pdu.MaxDomain)
	}
	if again := c.h.Info(); again != c.info {
		c.errorf("Info: %v, then %v: it must not change", c.info, again)
	}
}

// checkUnwrap follows Unwrap, and returns whether that leads to the innermost Handler.
func (c *checker) checkUnwrap() bool {
	_, err := unwrap(c.h.Handler)
	if err != nil {
		c.errorf("Unwrap: %v", err)
	}
	return err == nil
}

// unwrap returns a Handler and those that it wraps, in the order of pmda.As. Unlike pmda.As, it has
// a limit.
func unwrap(h pmda.Handler) ([]pmda.Handler, error) {
	const most = 100
	var all []pmda.Handler
	for range most {
		all = append(all, h)
		w, ok := h.(interface{ Unwrap() pmda.Handler })
		if !ok {
			return all, nil
		}
		if h = w.Unwrap(); h == nil {
			return all, errors.New("nil, want the wrapped Handler")
		}
	}
	return all, fmt.Errorf("more than %d Handlers: it must return the wrapped Handler, not the wrapper", most)
}

// checkNames checks the name space, which the other rules need.
func (c *checker) checkNames() {
	if c.tree == nil {
		c.tree, c.ownTree = c.h.Namespace(), true
		if again := c.h.Namespace(); again != c.tree {
			c.errorf("Namespace: another pointer at the second call: collectors merge all names anew each time; keep the tree until it changes")
		}
	}
	if c.tree.Len() == 0 {
		c.errorf("no names: Namespace is nil or empty; give the names with the option Names")
	}
	for name, id := range c.tree.All() {
		domain := id.Domain()
		if d, dynamic := id.IsDynamicRoot(); dynamic {
			domain = d
		}
		if domain != c.info.Domain {
			c.errorf("%s: PMID %v is not of the agent's domain %d", name, id, c.info.Domain)
		}
	}
}

// checkPMIDs compares the PMIDs with those of the option PMIDs.
func (c *checker) checkPMIDs() {
	if c.pinned == nil {
		return
	}
	pinned := map[string]pdu.PMID{}
	for line := range strings.Lines(*c.pinned) {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		id, err := pdu.ParsePMID(words[len(words)-1])
		if len(words) != 2 || err != nil {
			c.errorf("line %q: want a name and a PMID", strings.TrimSpace(line))
			continue
		}
		pinned[words[0]] = id
	}
	for name, id := range c.tree.All() {
		want, ok := pinned[name]
		delete(pinned, name)
		if _, dynamic := id.IsDynamicRoot(); dynamic {
			continue
		}
		switch {
		case !ok:
			c.errorf("%s is not pinned: add the line\n%s %v", name, name, id)
		case id != want:
			c.errorf("%s has the PMID %v, want %v: archives and clients know it by that; set Metric.ID", name, id, want)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(pinned)) {
		c.errorf("%s %v is pinned, but there is no such metric: remove its line if it is gone on purpose", name, pinned[name])
	}
}

// checkDescs describes every metric, and fills c.metrics and c.indoms.
func (c *checker) checkDescs() {
	r := request(0, nil)
	for name, id := range c.names() {
		if _, ok := c.nameOf[id]; !ok {
			c.nameOf[id] = name
		}
		d, err := c.h.Desc(c.ctx, r, id)
		if err != nil {
			c.errorf("%s: Desc(%v): %s, but the name is in the name space", name, id, errorText(err))
			continue
		}
		c.checkDesc(name, id, d)
		if again, err := c.h.Desc(c.ctx, r, id); err != nil || again != d {
			c.errorf("%s: Desc(%v): %+v, then %+v (%s): a descriptor must not change", name, id, d, again, errorText(err))
		}
		c.metrics = append(c.metrics, metric{name, d})
		if d.InDom != pdu.NoInDom && !slices.ContainsFunc(c.indoms, func(o indom) bool { return o.id == d.InDom }) {
			c.indoms = append(c.indoms, indom{id: d.InDom})
		}
	}
	for _, id := range c.unknownPMIDs() {
		_, err := c.h.Desc(c.ctx, r, id)
		c.wantCode(err, pdu.ErrPMID, "Desc(%v) of an unknown metric", id)
	}
}

func (c *checker) checkDesc(name string, id pdu.PMID, d pdu.Desc) {
	if d.PMID != id {
		c.errorf("%s: Desc(%v) is of %v", name, id, d.PMID)
	}
	if d.Type != pdu.TypeNoSupport && (d.Type < pdu.Type32 || d.Type > pdu.TypeHighResEvent) {
		c.errorf("%s: Desc(%v): no metric has type %d (%v)", name, id, int32(d.Type), d.Type)
	}
	switch d.Sem {
	case pdu.SemCounter, pdu.SemInstant, pdu.SemDiscrete:
	default:
		if d.Type == pdu.TypeNoSupport {
			break // such descriptors say nothing else
		}
		c.errorf("%s: Desc(%v): no semantics have number %d", name, id, int32(d.Sem))
	}
	if d.InDom != pdu.NoInDom && (uint32(d.InDom)>>31 != 0 || d.InDom.Domain() != c.info.Domain) {
		c.errorf("%s: Desc(%v): InDom %v is not of the agent's domain %d; a singular metric has pdu.NoInDom", name, id, d.InDom, c.info.Domain)
	}
}

// names yields the names of the name space. For a dynamic root it yields those that the Handler
// returns.
func (c *checker) names() func(yield func(string, pdu.PMID) bool) {
	return func(yield func(string, pdu.PMID) bool) {
		for name, id := range c.tree.All() {
			if _, dynamic := id.IsDynamicRoot(); !dynamic {
				if !yield(name, id) {
					return
				}
				continue
			}
			list, err := c.h.Traverse(c.ctx, request(0, nil), name)
			if err != nil {
				continue // checkDynamic reports it
			}
			for _, n := range list {
				id, err := c.h.PMID(c.ctx, request(0, nil), n)
				// A dynamic name may be that of a metric of another agent.
				if err == nil && id.Domain() == c.info.Domain && !yield(n, id) {
					return
				}
			}
		}
	}
}

// unknownPMIDs returns some PMIDs of the agent's domain that have no name. Collectors do not send
// those of other domains to an agent.
func (c *checker) unknownPMIDs() []pdu.PMID {
	used := map[pdu.PMID]bool{}
	for _, id := range c.names() {
		used[id] = true
	}
	var ids []pdu.PMID
	for _, cluster := range []int{0, 1, pdu.MaxCluster} {
		for item := pdu.MaxItem; item >= 0; item-- {
			if id := pdu.MakePMID(c.info.Domain, cluster, item); !used[id] {
				ids = append(ids, id)
				break
			}
		}
	}
	return ids
}

// unknownInDom returns an instance domain of the agent that no metric has. It does not return
// pdu.NoInDom, because that makes agents of the C library loop forever.
func (c *checker) unknownInDom() pdu.InDom {
	serial := pdu.MaxInDomSerial
	for slices.ContainsFunc(c.indoms, func(o indom) bool { return o.id.Serial() == serial }) {
		serial--
	}
	return pdu.MakeInDom(c.info.Domain, serial)
}

// checkInstances lists every instance domain, looks up the instances, and fills the lists of
// c.indoms.
func (c *checker) checkInstances() {
	r := request(0, nil)
	for n := range c.indoms {
		d := &c.indoms[n]
		list, err := c.h.Instances(c.ctx, r, d.id, pdu.NoInst, "")
		if err != nil {
			if !c.mayFailInDom(d.id) {
				c.errorf("Instances(%v): %s, but metrics have that domain", d.id, errorText(err))
			}
			continue
		}
		d.list, d.ids = slices.Clone(list), map[pdu.InstID]string{}
		c.checkList(*d)
		for _, i := range d.list {
			c.lookUp(d.id, i)
		}
		c.lookUpUnknown(*d)
	}
	id := c.unknownInDom()
	_, err := c.h.Instances(c.ctx, r, id, pdu.NoInst, "")
	c.wantCode(err, pdu.ErrInDom, "Instances(%v) of an unknown domain", id)
}

// checkList checks names and IDs, and fills d.ids.
func (c *checker) checkList(d indom) {
	names := map[string]string{}
	for _, i := range d.list {
		short, _, _ := strings.Cut(i.Name, " ")
		if i.Name == "" || i.ID == pdu.NoInst {
			c.errorf("Instances(%v): instance %d %q needs a name and an ID other than %d", d.id, i.ID, i.Name, pdu.NoInst)
		} else if !pmda.ValidInstanceName(i.Name) {
			c.errorf("Instances(%v): instance %d %q: a name must not begin with a space or have control characters", d.id, i.ID, i.Name)
		}
		if other, ok := d.ids[i.ID]; ok {
			c.errorf("Instances(%v): %q and %q have the same ID %d", d.id, other, i.Name, i.ID)
		}
		if other, ok := names[short]; ok {
			c.errorf("Instances(%v): %q and %q are the same up to the first space", d.id, other, i.Name)
		}
		d.ids[i.ID], names[short] = i.Name, i.Name
	}
}

// lookUp requests a listed instance by ID, by name and by the short name.
func (c *checker) lookUp(id pdu.InDom, i pdu.Instance) {
	r := request(0, nil)
	got, err := c.h.Instances(c.ctx, r, id, i.ID, "")
	switch {
	case err != nil && c.changing && pdu.FromError(err) == pdu.ErrInst:
		return // it has gone
	case err != nil:
		c.errorf("Instances(%v, %d): %s, but it is listed", id, i.ID, errorText(err))
	case len(got) != 1 || got[0].Name != i.Name:
		c.errorf("Instances(%v, %d): got %v, want one with the name %q", id, i.ID, got, i.Name)
	}
	short, _, _ := strings.Cut(i.Name, " ")
	for _, name := range slices.Compact([]string{i.Name, short}) {
		if name == "" {
			continue // an empty name means the list
		}
		got, err := c.h.Instances(c.ctx, r, id, pdu.NoInst, name)
		switch {
		case err != nil && c.changing && pdu.FromError(err) == pdu.ErrInst:
		case err != nil:
			c.errorf("Instances(%v, %q): %s, but %q is listed", id, name, errorText(err), i.Name)
		case len(got) != 1 || got[0].ID != i.ID:
			c.errorf("Instances(%v, %q): got %v, want one with the ID %d", id, name, got, i.ID)
		}
	}
}

// lookUpUnknown requests instances that are not listed.
func (c *checker) lookUpUnknown(d indom) {
	r := request(0, nil)
	_, err := c.h.Instances(c.ctx, r, d.id, d.unknown(), "")
	c.wantCode(err, pdu.ErrInst, "Instances(%v, %d) of an unknown ID", d.id, d.unknown())
	const name = "no such instance of pmdatest"
	_, err = c.h.Instances(c.ctx, r, d.id, pdu.NoInst, name)
	c.wantCode(err, pdu.ErrInst, "Instances(%v, %q) of an unknown name", d.id, name)
	if len(d.list) > 0 {
		i := d.list[0]
		_, err = c.h.Instances(c.ctx, r, d.id, i.ID, i.Name)
		c.wantCode(err, pdu.ErrInst, "Instances(%v, %d, %q) with both", d.id, i.ID, i.Name)
	}
}

// unknown returns an ID that is not listed.
func (d indom) unknown() pdu.InstID {
	id := pdu.InstID(1<<31 - 2)
	for d.has(id) {
		id--
	}
	return id
}
