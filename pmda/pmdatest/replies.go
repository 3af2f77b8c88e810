package pmdatest

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// checkText requests all help texts.
func (c *checker) checkText() {
	for _, m := range c.metrics {
		c.textsOf(pdu.TextOfMetric(m.desc.PMID), m.name)
	}
	for _, d := range c.indoms {
		c.textsOf(pdu.TextOfInDom(d.id), "instance domain "+d.id.String())
	}
	r := request(0, nil)
	for _, kind := range []pdu.TextKind{pdu.TextOneLine, pdu.TextHelp} {
		for _, id := range c.unknownPMIDs() {
			_, err := c.h.Text(c.ctx, r, pdu.TextOfMetric(id), kind)
			c.wantCode(err, pdu.ErrText, "Text(%v, %v) of an unknown metric", id, kind)
		}
		id := c.unknownInDom()
		_, err := c.h.Text(c.ctx, r, pdu.TextOfInDom(id), kind)
		c.wantCode(err, pdu.ErrText, "Text(%v, %v) of an unknown instance domain", id, kind)
	}
}

// textsOf requests both texts of a metric or instance domain.
func (c *checker) textsOf(of pdu.TextTarget, what string) {
	for _, kind := range []pdu.TextKind{pdu.TextOneLine, pdu.TextHelp} {
		s, err := c.h.Text(c.ctx, request(0, nil), of, kind)
		line := kind == pdu.TextOneLine
		switch {
		case err != nil && (line && c.texts || pdu.FromError(err) != pdu.ErrText):
			c.errorf("%s: Text(%v): %s", what, kind, errorText(err))
		case line && strings.ContainsAny(s, "\n\x00"), strings.Contains(s, "\x00"):
			c.errorf("%s: Text(%v): %q has characters that it cannot have", what, kind, s)
		}
	}
}

// checkLabels requests all labels.
func (c *checker) checkLabels() {
	c.labels(pdu.LabelsOfDomain(c.info.Domain), nil)
	c.labels(pdu.LabelsOfContext(), nil)
	for _, m := range c.metrics {
		c.labels(pdu.LabelsOfCluster(m.desc.PMID), nil)
		c.labels(pdu.LabelsOfItem(m.desc.PMID), nil)
	}
	for _, d := range c.indoms {
		c.labels(pdu.LabelsOfInDom(d.id), nil)
		c.instanceLabels(d, nil)
		if len(d.list) > 0 {
			c.instanceLabels(d, &pdu.Profile{Exclude: true, InDoms: []pdu.InDomProfile{
				{InDom: d.id, Exclude: true, Insts: []pdu.InstID{d.list[0].ID}}}})
		}
	}
	for _, id := range c.unknownPMIDs() {
		_, err := c.h.Labels(c.ctx, request(0, nil), pdu.LabelsOfItem(id))
		c.legal(err, "Labels(%v, item) of an unknown metric", id)
	}
}

// labels requests the labels of a target and checks every set.
func (c *checker) labels(of pdu.LabelTarget, p *pdu.Profile) []pdu.LabelSet {
	sets, err := c.h.Labels(c.ctx, request(0, p), of)
	if err != nil {
		c.errorf("Labels(%v): %s; without labels there is no set", of, errorText(err))
		return nil
	}
	if of.Class != pdu.LabelInstances && len(sets) > 1 {
		c.errorf("Labels(%v): %d sets, want at most one", of, len(sets))
	}
	for _, s := range sets {
		if of.Class != pdu.LabelInstances && s.Inst != pdu.NoInst {
			c.errorf("Labels(%v): Inst is %d, want pdu.NoInst", of, s.Inst)
		}
		c.checkLabelSet(of, s)
	}
	if _, err := (pdu.LabelReply{Ident: of.Request().Ident, Class: of.Class, Sets: sets}).Append(make([]byte, pdu.HeaderLen)); err != nil {
		c.errorf("Labels(%v): the sets cannot be sent: %v", of, err)
	}
	return sets
}

// checkLabelSet reads the text of a set again and compares.
func (c *checker) checkLabelSet(of pdu.LabelTarget, s pdu.LabelSet) {
	if s.Err != 0 {
		if s.Err > 0 || len(s.Labels) > 0 {
			c.errorf("Labels(%v): a set with error %d and %d labels", of, int32(s.Err), len(s.Labels))
		}
		return
	}
	want, err := pdu.ParseLabels(of.Class, string(s.JSON), false)
	if err != nil {
		c.errorf("Labels(%v): %q: %v", of, s.JSON, err)
		return
	}
	if len(want.Labels) != len(s.Labels) {
		c.errorf("Labels(%v): %q has %d labels, the index %d", of, s.JSON, len(want.Labels), len(s.Labels))
		return
	}
	for _, l := range s.Labels {
		const rest = pdu.LabelCompound | pdu.LabelOptional
		if l.Flags&^rest != pdu.LabelFlags(of.Class) {
			c.errorf("Labels(%v): %q: a label has flags %#x, want the class", of, s.JSON, uint8(l.Flags))
		}
	}
	for i, l := range want.Labels {
		if got, want := labelText(s, s.Labels[i]), labelText(want, l); got != want {
			c.errorf("Labels(%v): label %d of %q in order of names is at %s, the index says %s", of, i, s.JSON, want, got)
		}
	}
}

// labelText is what the index says of a label: the end of its name, and its value.
func labelText(s pdu.LabelSet, l pdu.Label) string {
	name, value := int(l.NameOff), int(l.ValueOff)
	if name+int(l.NameLen) > len(s.JSON) || value+int(l.ValueLen) > len(s.JSON) {
		return "nothing: it is outside"
	}
	return string(s.JSON[name:name+int(l.NameLen)]) + ": " + string(s.JSON[value:value+int(l.ValueLen)])
}

// instanceLabels requests the labels of the instances of a domain.
func (c *checker) instanceLabels(d indom, p *pdu.Profile) {
	seen := map[pdu.InstID]bool{}
	for _, s := range c.labels(pdu.LabelsOfInstances(d.id), p) {
		switch {
		case seen[s.Inst]:
			c.errorf("Labels(%v, instances): two sets of instance %d", d.id, s.Inst)
		case !c.changing && !d.has(s.Inst):
			c.errorf("Labels(%v, instances): a set of instance %d, which is not listed", d.id, s.Inst)
		case !p.Includes(d.id, s.Inst):
			c.errorf("Labels(%v, instances): a set of instance %d, which the profile excludes", d.id, s.Inst)
		}
		seen[s.Inst] = true
	}
}

// checkDynamic compares the ways to find names below dynamic roots.
func (c *checker) checkDynamic() {
	r := request(0, nil)
	for name, id := range c.tree.All() {
		if _, dynamic := id.IsDynamicRoot(); dynamic {
			c.dynamicRoot(name)
		}
	}
	const name = "no_such.metric.of.pmdatest"
	_, err := c.h.PMID(c.ctx, r, name)
	c.wantCode(err, pdu.ErrName, "PMID(%q)", name)
	_, err = c.h.Children(c.ctx, r, name)
	c.wantCode(err, pdu.ErrName, "Children(%q)", name)
	_, err = c.h.Traverse(c.ctx, r, name)
	c.wantCode(err, pdu.ErrName, "Traverse(%q)", name)
	for _, id := range c.unknownPMIDs() {
		_, err = c.h.Names(c.ctx, r, id)
		c.wantCode(err, pdu.ErrPMID, "Names(%v) of an unknown metric", id)
	}
}

func (c *checker) dynamicRoot(root string) {
	r := request(0, nil)
	list, err := c.h.Traverse(c.ctx, r, root)
	if err != nil {
		c.errorf("Traverse(%q): %s, but it is a dynamic root", root, errorText(err))
		return
	}
	for _, name := range list {
		if name != root && !strings.HasPrefix(name, root+".") {
			c.errorf("Traverse(%q): %q is not below it: names are full", root, name)
		}
		id, err := c.h.PMID(c.ctx, r, name)
		if err != nil {
			c.errorf("PMID(%q): %s, but Traverse gives it", name, errorText(err))
			continue
		}
		if names, err := c.h.Names(c.ctx, r, id); err != nil || !slices.Contains(names, name) {
			c.errorf("Names(%v): %q (%s), want %q among them", id, names, errorText(err), name)
		}
	}
	below, err := c.h.Children(c.ctx, r, root)
	if err != nil {
		c.errorf("Children(%q): %s", root, errorText(err))
	}
	for _, n := range below {
		full := root + "." + n.Name
		isName := slices.Contains(list, full)
		isInner := slices.ContainsFunc(list, func(s string) bool { return strings.HasPrefix(s, full+".") })
		switch {
		case strings.Contains(n.Name, ".") || !isName && !isInner:
			c.errorf("Children(%q): %q is no component below it", root, n.Name)
		case n.Leaf != isName:
			c.errorf("Children(%q): %q has Leaf %v, but Traverse says otherwise", root, n.Name, n.Leaf)
		}
	}
}

// checkStore stores values that a metric cannot have, which must not disturb the
// agent.
func (c *checker) checkStore() {
	store := func(id pdu.PMID, add func(w *pdu.ResultWriter)) error {
		var w pdu.ResultWriter
		w.Begin(id)
		add(&w)
		values := c.decode(&w, pdu.FormatLowRes)
		return c.h.Store(c.ctx, request(0, nil), values)
	}
	for _, id := range c.unknownPMIDs() {
		err := store(id, func(w *pdu.ResultWriter) { w.Uint32(pdu.NoInst, 1) })
		c.legal(err, "Store of the unknown metric %v", id)
		if err == nil {
			c.errorf("Store of the unknown metric %v: no error, want pdu.ErrPMID", id)
		}
	}
	for _, m := range c.metrics {
		inst := pdu.NoInst
		for _, d := range c.indoms {
			if d.id == m.desc.InDom {
				inst = d.unknown()
			}
		}
		wrong := func(w *pdu.ResultWriter) { w.Bytes(pdu.TypeAggregate, inst, []byte{1, 2, 3}) }
		if m.desc.Type >= pdu.TypeAggregate {
			wrong = func(w *pdu.ResultWriter) { w.Uint64(inst, 1) }
		}
		// An agent may accept the value.
		c.legal(store(m.desc.PMID, wrong), "%s: Store of a value of a wrong type", m.name)
	}
}

// checkRequests uses the memory of one request for the next, which shows a
// Handler that has kept it.
func (c *checker) checkRequests() {
	if len(c.metrics) == 0 {
		return
	}
	ids, r := make([]pdu.PMID, 1), request(0, nil)
	var w pdu.ResultWriter
	for _, m := range slices.Concat(c.metrics, c.metrics) {
		ids[0] = m.desc.PMID
		w.Reset()
		if err := c.h.Fetch(c.ctx, r, ids, &w); err == errReported {
			return
		} else if err != nil {
			c.errorf("%s: Fetch: %s", m.name, errorText(err))
			continue
		}
		if ids[0] != m.desc.PMID {
			c.errorf("%s: Fetch: it has changed the list of PMIDs", m.name)
		}
		if got := c.decode(&w, pdu.FormatLowRes); got != nil && (got.Len() != 1 || got.At(0).PMID != m.desc.PMID) {
			c.errorf("%s: Fetch: the reply is to an earlier request: it has kept the list of PMIDs", m.name)
		}
	}
	if want := *request(0, nil); *r.Client != *want.Client || r.Profile != nil || r.ContextID != 0 || !r.Deadline.IsZero() {
		c.errorf("Fetch: it has changed the request: %+v", *r)
	}
	ctx, cancel := context.WithCancel(c.ctx)
	cancel()
	w.Reset()
	if err := c.h.Fetch(ctx, r, ids, &w); err == nil && w.Len() != 1 {
		c.errorf("Fetch with a context that has ended: neither an error nor a reply")
	}
}

// checkClients ends clients that the Handler knows and others, and fetches after
// that.
func (c *checker) checkClients() {
	known := pmda.NewClient(0, 1)
	c.h.SetClient(known)
	c.fetch(nil, c.ids())
	c.h.EndClient(known)
	c.h.EndClient(known)
	c.h.EndClient(pmda.NewClient(99, 100))
	c.fetch(nil, c.ids())
}

// checkConcurrency makes all requests from several goroutines at once.
func (c *checker) checkConcurrency() {
	var wg sync.WaitGroup
	for n := range 4 {
		wg.Go(func() {
			c.guard(func() {
				for range 3 {
					c.requestAll(uint32(n))
				}
			})
		})
	}
	wg.Wait()
}

// requestAll makes each request once, for the race detector to see.
func (c *checker) requestAll(slot uint32) {
	r := request(slot, nil)
	check := func(err error, what string) {
		if err != nil {
			c.errorf("%s among concurrent requests: %s", what, errorText(err))
		}
	}
	c.fetch(nil, c.ids())
	for _, m := range c.metrics {
		_, err := c.h.Desc(c.ctx, r, m.desc.PMID)
		check(err, "Desc")
		_, err = c.h.Labels(c.ctx, r, pdu.LabelsOfItem(m.desc.PMID))
		check(err, "Labels")
		_, _ = c.h.Text(c.ctx, r, pdu.TextOfMetric(m.desc.PMID), pdu.TextOneLine) // may be missing
	}
	for _, d := range c.indoms {
		_, err := c.h.Instances(c.ctx, r, d.id, pdu.NoInst, "")
		check(err, "Instances")
		_, err = c.h.Labels(c.ctx, r, pdu.LabelsOfInstances(d.id))
		check(err, "Labels")
	}
	c.h.Namespace()
	c.h.SetClient(r.Client)
	c.h.EndClient(r.Client)
}
