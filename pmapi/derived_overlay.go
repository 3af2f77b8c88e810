package pmapi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/internal/derived"
	"github.com/pcp-go/pcp/pmapi/internal/source"
	"github.com/pcp-go/pcp/pmns"
)

// A derivedOverlay adds derived metrics to a source. They are bound to the metrics of the source
// when they are first needed, and again when names may stand for something else.
type derivedOverlay struct {
	source.Source
	list    []*derivedMetric
	sorted  []*derivedMetric // list in the order of names; out of date if it is shorter than list
	own     int              // the number of metrics of Context.Derive in list
	refused func(*DerivedError)
	control derived.Controls // when the context was opened
	byName  map[string]*derivedMetric
	byID    map[pdu.PMID]*derivedMetric
	epoch   source.Epoch // the source's epoch when bind was last called
	fetch   uint64       // counts fetches
	last    source.Epoch // after the last fetch

	plan   fetchPlan
	raw    pdu.Result  // of the source
	values source.Sets // the sets of the fetch: raw, or sets in place whose time is that of raw
	writer pdu.ResultWriter
	names  instanceNames
}

// A derivedMetric is a derived metric of one context.
type derivedMetric struct {
	*derived.Definition
	id       pdu.PMID
	index    int              // in the overlay's list
	prog     *derived.Program // nil if it is not bound
	err      error            // why it cannot be bound
	operands []pdu.Desc       // the bound descriptor of each name in it; noDesc if unknown
	checked  source.Epoch     // the overlay's epoch when operands were looked up
	binding  bool             // bindOne is binding the metrics that it mentions
	computed uint64           // the number of the fetch whose values prog has
}

// derivedDomain is the domain of PMIDs of derived metrics.
const derivedDomain pdu.Domain = 511

// The PMIDs of the metrics of a Derived ascend from firstDerived, because the first three are those
// of event records. The PMIDs of Context.Derive descend from the last one.
const (
	firstDerived      = 3
	derivedItems      = pdu.MaxItem + 1
	maxOwnDerived     = derivedItems - 1
	ownDerivedCluster = 2047
)

func newDerivedOverlay(src source.Source, d *Derived) *derivedOverlay {
	o := &derivedOverlay{Source: src}
	o.names.overlay = o
	if d == nil {
		return o
	}
	o.refused, o.control = d.Refused, d.set.Controls()
	item, cluster := firstDerived, 0
	for _, def := range d.set.All() {
		o.put(def, pdu.MakePMID(derivedDomain, cluster, item))
		if item++; item == derivedItems {
			cluster, item = cluster+1, 1
		}
	}
	return o
}

func (o *derivedOverlay) put(def *derived.Definition, id pdu.PMID) *derivedMetric {
	if o.byName == nil {
		o.byName, o.byID = map[string]*derivedMetric{}, map[pdu.PMID]*derivedMetric{}
	}
	m := &derivedMetric{Definition: def, id: id, index: len(o.list)}
	o.list = append(o.list, m)
	o.byName[m.Name], o.byID[m.id] = m, m
	return m
}

// add adds a metric of this context alone.
func (o *derivedOverlay) add(ctx context.Context, name, expr string) error {
	fail := func(message string) error {
		return &DerivedError{Name: name, Expr: expr, Message: message, whole: true}
	}
	if o.byName[name] != nil {
		return fail("Duplicate per-context derived metric name")
	}
	if limit := o.control.ContextLimit; o.own == maxOwnDerived || limit > 0 && o.own >= limit {
		return fail("Too many per-context derived metrics")
	}
	var parsed derived.Set
	if err := parsed.Add(name, expr); err != nil {
		return derivedError(err)
	}
	m := &derivedMetric{Definition: parsed.All()[0]}
	if err := o.bind(ctx, []*derivedMetric{m}); err != nil {
		return err
	}
	if _, ok := errors.AsType[*derived.SemanticError](m.err); ok {
		return m.failure()
	}
	o.put(m.Definition, pdu.MakePMID(derivedDomain, ownDerivedCluster, pdu.MaxItem-o.own))
	o.own++
	return nil
}

// isDerived reports whether a PMID may be that of a derived metric.
func isDerived(id pdu.PMID) bool { return id.Domain() == derivedDomain }

func (o *derivedOverlay) mine(id pdu.PMID) bool { return isDerived(id) && o.byID[id] != nil }

// bind binds the metrics that are not bound, and checks the others again if names may stand for
// something else. A metric whose operands are still the same stays bound, since delta and rate
// remember values. The error is that of the source.
func (o *derivedOverlay) bind(ctx context.Context, metrics []*derivedMetric) error {
	o.epoch = o.Source.Epoch()
	descs := map[string]pdu.Desc{}
	asked := map[string]bool{}
	for more := metrics; more != nil; {
		var names []string
		for _, m := range more {
			if o.isChecked(m) {
				continue
			}
			for name := range m.Expr.Mentions() {
				if !asked[name] {
					asked[name] = true
					names = append(names, name)
				}
			}
		}
		if err := o.describe(ctx, names, descs); err != nil {
			return err
		}
		more = nil
		for _, name := range names {
			if _, ok := descs[name]; !ok && o.byName[name] != nil {
				more = append(more, o.byName[name])
			}
		}
	}
	for _, m := range metrics {
		o.bindOne(m, descs)
	}
	return nil
}

// isChecked reports whether a metric was looked up in the present epoch, so that it need not be
// bound again.
func (o *derivedOverlay) isChecked(m *derivedMetric) bool {
	return m.operands != nil && m.checked == o.epoch
}

// bindOne binds a metric to those of the source, whose descriptors are descs. Derived metrics that
// its expression mentions are bound first, because defined() depends on whether they can be bound.
func (o *derivedOverlay) bindOne(m *derivedMetric, descs map[string]pdu.Desc) {
	if o.isChecked(m) || m.binding {
		return
	}
	m.binding = true
	for name := range m.Expr.Mentions() {
		if nested := o.nested(name, descs); nested != nil {
			o.bindOne(nested, descs)
		}
	}
	m.binding = false
	operand := func(name string) pdu.Desc {
		nested := o.nested(name, descs)
		switch d, ok := descs[name]; {
		case ok:
			return d
		case nested == nil:
			return noDesc
		case nested.isBound():
			return nestedDesc
		default:
			return unboundDesc
		}
	}
	failed := m.bind(operand, o.control.NoValue)
	o.plan = fetchPlan{} // it may have the operands of another program
	if failed && o.refused != nil {
		if e := m.failure(); e.Part != "" {
			o.refused(e)
		}
	}
	m.checked = o.epoch
}

// nested returns the derived metric that a name in an expression stands for, or nil if the name is
// one of the source or unknown.
func (o *derivedOverlay) nested(name string, descs map[string]pdu.Desc) *derivedMetric {
	if _, ok := descs[name]; ok {
		return nil
	}
	return o.byName[name]
}

// isBound reports whether a metric is bound. One that depends on itself is not.
func (m *derivedMetric) isBound() bool { return m.prog != nil && !m.binding }

// bind binds a metric to its operands, unless it is bound to them already. It reports whether that
// failed. With noValue, unknown metrics have no values.
func (m *derivedMetric) bind(operand func(name string) pdu.Desc, noValue bool) (failed bool) {
	operands := []pdu.Desc{}
	for name := range m.Expr.Mentions() {
		operands = append(operands, operand(name))
	}
	if m.operands != nil && slices.Equal(operands, m.operands) {
		return false
	}
	m.operands = operands
	m.prog, m.err = m.Expr.Bind(func(name string) (pdu.Desc, error) {
		switch d := operand(name); {
		case d == noDesc && noValue:
			return noValueDesc, nil
		case d == noDesc:
			return d, pdu.ErrName
		case d == unboundDesc:
			return d, pdu.ErrBadDerive
		case d == nestedDesc:
			return d, derived.ErrNested
		default:
			return d, nil
		}
	})
	return m.err != nil
}

// Descriptors that mark names of derived metrics in an expression, which cannot be operands:
// nestedDesc for a metric that is bound, unboundDesc for one that is not.
var (
	nestedDesc  = pdu.Desc{PMID: pdu.NoPMID, Type: pdu.TypeUnknown, InDom: pdu.NoInDom}
	unboundDesc = pdu.Desc{PMID: pdu.NoPMID, Type: pdu.TypeNoSupport, InDom: pdu.NoInDom}
)

// noValueDesc is the descriptor of an unknown metric with the option OPTION_NOVALUE.
var noValueDesc = pdu.Desc{PMID: pdu.NoPMID, Type: pdu.TypeU32, InDom: pdu.NoInDom, Sem: pdu.SemDiscrete}

// describe finds the descriptors of those names that the source has.
func (o *derivedOverlay) describe(ctx context.Context, names []string, found map[string]pdu.Desc) error {
	if len(names) == 0 {
		return nil
	}
	ids, _, err := o.Source.Lookup(ctx, names)
	if err != nil {
		return err
	}
	known := slices.DeleteFunc(slices.Clone(ids), func(id pdu.PMID) bool { return id == pdu.NoPMID })
	if len(known) == 0 {
		return nil
	}
	descs, _, err := o.Source.Descs(ctx, known)
	if err != nil {
		return err
	}
	n := 0
	for i, id := range ids {
		if id == pdu.NoPMID {
			continue
		}
		if d := descs[n]; d.PMID != pdu.NoPMID {
			found[names[i]] = d
		}
		n++
	}
	return nil
}

func (o *derivedOverlay) Lookup(ctx context.Context, names []string) ([]pdu.PMID, source.Errors, error) {
	ids, errs, err := o.Source.Lookup(ctx, names)
	if err != nil || errs == nil || len(o.list) == 0 {
		return ids, errs, err
	}
	var found []*derivedMetric
	for i, name := range names {
		m := o.byName[name]
		if m != nil && ids[i] == pdu.NoPMID {
			found = append(found, m)
		}
	}
	if err := o.bind(ctx, found); err != nil {
		return nil, nil, err
	}
	for i, name := range names {
		m := o.byName[name]
		if m == nil || ids[i] != pdu.NoPMID {
			continue
		}
		if m.prog != nil {
			ids[i], errs[i] = m.id, nil
		} else {
			errs[i] = fmt.Errorf("%w: %w", pdu.ErrName, m.failure())
		}
	}
	return ids, errs, nil
}

func (o *derivedOverlay) Names(ctx context.Context, id pdu.PMID) ([]string, error) {
	if o.mine(id) {
		return []string{o.byID[id].Name}, nil
	}
	return o.Source.Names(ctx, id)
}

func (o *derivedOverlay) Traverse(ctx context.Context, name string) ([]string, error) {
	names, err := o.Source.Traverse(ctx, name)
	more, bindErr := o.visible(ctx, name)
	if bindErr != nil {
		return nil, bindErr
	}
	if archiveBelow(o.Source) != nil {
		return insertNames(name, names, err, more)
	}
	return addNames(name, names, err, more)
}

func (o *derivedOverlay) Children(ctx context.Context, name string) ([]pmns.Child, error) {
	children, err := o.Source.Children(ctx, name)
	more, bindErr := o.visible(ctx, name)
	if bindErr != nil {
		return nil, bindErr
	}
	return addChildren(name, children, err, more)
}

// visible returns the names of the metrics at or below a name that can be bound.
func (o *derivedOverlay) visible(ctx context.Context, name string) ([]string, error) {
	list := o.below(name)
	if len(list) == 0 {
		return nil, nil
	}
	if err := o.bind(ctx, list); err != nil {
		return nil, err
	}
	var names []string
	for _, m := range list {
		if m.err == nil {
			names = append(names, m.Name)
		}
	}
	return names, nil
}

// below returns the metrics at or below a name, in the order of their definitions. Its cost depends
// on the metrics that it finds, so that a walk over all nodes of the name space is cheap.
func (o *derivedOverlay) below(name string) []*derivedMetric {
	if name == "" {
		return o.list
	}
	if len(o.sorted) != len(o.list) {
		o.sorted = slices.Clone(o.list)
		slices.SortFunc(o.sorted, func(a, b *derivedMetric) int { return strings.Compare(a.Name, b.Name) })
	}
	var list []*derivedMetric
	from := func(prefix string) int {
		i, _ := slices.BinarySearchFunc(o.sorted, prefix, func(m *derivedMetric, prefix string) int { return strings.Compare(m.Name, prefix) })
		return i
	}
	if m := o.byName[name]; m != nil {
		list = append(list, m)
	}
	prefix := name + "."
	for _, m := range o.sorted[from(prefix):] {
		if !strings.HasPrefix(m.Name, prefix) {
			break
		}
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b *derivedMetric) int { return a.index - b.index })
	return list
}

func (o *derivedOverlay) Descs(ctx context.Context, ids []pdu.PMID) ([]pdu.Desc, source.Errors, error) {
	if err := o.bindAll(ctx, ids); err != nil {
		return nil, nil, err
	}
	return overlay(ids, o.mine, func(id pdu.PMID) (pdu.Desc, error) {
		m := o.byID[id]
		if m.err != nil {
			return noDesc, m.failure()
		}
		return m.desc(), nil
	}, func(ids []pdu.PMID) ([]pdu.Desc, source.Errors, error) { return o.Source.Descs(ctx, ids) })
}

// desc returns the descriptor of a metric that is bound.
func (m *derivedMetric) desc() pdu.Desc {
	d := m.prog.Desc
	d.PMID = m.id
	return d
}

// failure returns the reason why a metric is not bound.
func (m *derivedMetric) failure() *DerivedError {
	e := &DerivedError{Name: m.Name, Expr: m.Expr.String(), Message: m.err.Error(), whole: true}
	if cause, ok := errors.AsType[*derived.SemanticError](m.err); ok {
		e.Part, e.whole = cause.Part, cause.Part == ""
	}
	return e
}

// bindAll binds the metrics of ids that are derived.
func (o *derivedOverlay) bindAll(ctx context.Context, ids []pdu.PMID) error {
	var metrics []*derivedMetric
	for _, id := range ids {
		if o.mine(id) {
			metrics = append(metrics, o.byID[id])
		}
	}
	if metrics == nil {
		return nil
	}
	return o.bind(ctx, metrics)
}

func (o *derivedOverlay) Texts(ctx context.Context, reqs []pdu.TextReq) ([]string, source.Errors, error) {
	mine := func(r pdu.TextReq) bool { return r.Text&pdu.TextPMID != 0 && o.mine(pdu.PMID(r.Ident)) }
	return overlay(reqs, mine, func(r pdu.TextReq) (string, error) {
		m := o.byID[pdu.PMID(r.Ident)]
		text := m.OneLine
		if r.Text&pdu.TextHelp != 0 {
			text = m.Help
		}
		if !text.Given {
			return "", pdu.ErrText
		}
		return text.Text, nil
	}, func(reqs []pdu.TextReq) ([]string, source.Errors, error) { return o.Source.Texts(ctx, reqs) })
}

// Labels returns no labels for derived metrics.
func (o *derivedOverlay) Labels(ctx context.Context, reqs []pdu.LabelReq, p *pdu.Profile) ([][]pdu.LabelSet, source.Errors, error) {
	mine := func(r pdu.LabelReq) bool {
		switch r.Class {
		case pdu.LabelDomain:
			return len(o.list) > 0 && r.Ident == uint32(derivedDomain)
		case pdu.LabelCluster, pdu.LabelItem:
			return o.mine(pdu.PMID(r.Ident))
		}
		return false
	}
	return overlay(reqs, mine, func(pdu.LabelReq) ([]pdu.LabelSet, error) { return nil, nil },
		func(reqs []pdu.LabelReq) ([][]pdu.LabelSet, source.Errors, error) {
			return o.Source.Labels(ctx, reqs, p)
		})
}

func (o *derivedOverlay) Reconnect(ctx context.Context) error {
	err := o.Source.Reconnect(ctx)
	o.forget()
	return err
}

func (o *derivedOverlay) Dup(ctx context.Context) (source.Source, error) {
	src, err := o.Source.Dup(ctx)
	if err != nil {
		return nil, err
	}
	d := newDerivedOverlay(src, nil)
	for _, m := range o.list {
		d.put(m.Definition, m.id)
	}
	d.own, d.refused, d.control = o.own, o.refused, o.control
	return d, nil
}

// Unwrap returns the source below.
func (o *derivedOverlay) Unwrap() source.Source { return o.Source }

// A fetchPlan says which metrics of the source a fetch needs.
type fetchPlan struct {
	ids   []pdu.PMID // of the fetch
	asked []pdu.PMID // to fetch from the source: operands and other metrics, each once
	where [][]int    // for each of ids, the indexes in asked of the metrics that it needs
}

// makePlan makes the plan for a fetch, unless there is one.
func (o *derivedOverlay) makePlan(ctx context.Context, ids []pdu.PMID) error {
	if o.epoch == o.Source.Epoch() && slices.Equal(ids, o.plan.ids) {
		return nil
	}
	if err := o.bindAll(ctx, ids); err != nil {
		return err
	}
	p := fetchPlan{ids: slices.Clone(ids)}
	at := map[pdu.PMID]int{}
	ask := func(id pdu.PMID) int {
		if _, ok := at[id]; !ok {
			at[id] = len(p.asked)
			p.asked = append(p.asked, id)
		}
		return at[id]
	}
	for _, id := range ids {
		var places []int
		switch m := o.byID[id]; {
		case !o.mine(id):
			places = []int{ask(id)}
		case m.prog != nil:
			for _, operand := range m.prog.Operands {
				places = append(places, ask(operand))
			}
		}
		p.where = append(p.where, places)
	}
	o.plan = p
	return nil
}

func (o *derivedOverlay) Fetch(ctx context.Context, ids []pdu.PMID, profile *pdu.Profile, r *pdu.Result) error {
	if len(o.list) == 0 || !slices.ContainsFunc(ids, o.mine) {
		return o.Source.Fetch(ctx, ids, profile, r)
	}
	if err := o.makePlan(ctx, ids); err != nil {
		return err
	}
	if o.Source.Epoch().Connection != o.last.Connection {
		o.forget()
	}
	if err := o.fetchOperands(ctx, profile); err != nil {
		return err
	}
	changed := o.raw.Changed
	if changed.AffectsNames() { // the operands may be other metrics now
		if err := o.makePlan(ctx, ids); err != nil {
			return err
		}
		if err := o.fetchOperands(ctx, profile); err != nil {
			return err
		}
	}
	// A mark of an archive also changes the epoch, but values are not forgotten: as in the C
	// library, rates continue across it.
	o.last = o.Source.Epoch()
	o.fetch++
	if err := o.compute(ctx); err != nil {
		return err
	}
	if err := o.copyTo(r); err != nil {
		return err
	}
	r.Changed |= changed
	return nil
}

// fetchOperands fetches the metrics of the plan, without a copy if the source can do that.
func (o *derivedOverlay) fetchOperands(ctx context.Context, profile *pdu.Profile) error {
	o.values = &o.raw
	if len(o.plan.asked) == 0 && archiveBelow(o.Source) == nil { // an archive must still move on
		empty(&o.raw)
		o.raw.Time = o.Source.Now()
		return nil
	}
	if below, ok := o.Source.(source.SetFetcher); ok {
		sets, t, err := below.FetchSets(ctx, o.plan.asked, profile)
		if err != nil {
			return err
		}
		if sets != nil {
			empty(&o.raw)
			o.raw.Time, o.values = t, sets
			return nil
		}
	}
	return o.Source.Fetch(ctx, o.plan.asked, profile, &o.raw)
}

// forget makes the next values the first ones for delta and rate.
func (o *derivedOverlay) forget() {
	for _, m := range o.list {
		if m.prog != nil {
			m.prog.Forget()
		}
	}
}

// compute writes the sets of the plan's metrics.
func (o *derivedOverlay) compute(ctx context.Context) error {
	w := &o.writer
	w.Reset()
	w.Time = o.raw.Time
	o.names.begin(ctx)
	moment := derived.Moment{Time: o.raw.Time, Backwards: isReadBackwards(o.Source)}
	for i, id := range o.plan.ids {
		places := o.plan.where[i]
		m := o.byID[id]
		switch {
		case !o.mine(id):
			w.Copy(o.values.At(places[0]))
		case m.prog == nil:
			w.Begin(id)
			w.Fail(pdu.ErrPMID)
		default:
			if m.computed != o.fetch { // the request may name it twice
				m.computed = o.fetch
				if err := m.prog.Eval(ctx, moment, derived.Sets{Values: o.values, Places: places}, &o.names); err != nil {
					return err
				}
			}
			m.prog.Write(id, w)
		}
	}
	return w.Err()
}

// copyTo copies the written values to r.
func (o *derivedOverlay) copyTo(r *pdu.Result) error {
	r.Format = o.raw.Format
	if err := o.writer.Fill(r); err != nil {
		return err
	}
	r.Changed = o.raw.Changed
	return nil
}

// instanceNames caches the names of instances, for functions that select instances by name. It
// requests a domain when it meets an instance without a known name.
type instanceNames struct {
	overlay *derivedOverlay
	ctx     context.Context // of the fetch
	known   map[pdu.InDom]*domainNames
	epoch   source.Epoch
}

// domainNames are the instances of a domain.
type domainNames struct {
	names map[pdu.InstID]string
	ids   []pdu.InstID // in ascending order
	asked bool         // in this fetch
}

func (n *instanceNames) begin(ctx context.Context) {
	n.ctx = ctx
	if e := n.overlay.Source.Epoch(); e != n.epoch {
		n.epoch = e
		clear(n.known)
	}
	for _, d := range n.known {
		d.asked = false
	}
}

// Name returns the name of an instance, or "" if it is unknown.
func (n *instanceNames) Name(d pdu.InDom, id pdu.InstID) string {
	if known := n.known[d]; known != nil {
		if name, ok := known.names[id]; ok {
			return name
		}
	}
	return n.ask(d).names[id]
}

// Instances returns the instances of a domain at this fetch.
func (n *instanceNames) Instances(d pdu.InDom) []pdu.InstID { return n.ask(d).ids }

// ask requests the instances of a domain, once in a fetch.
func (n *instanceNames) ask(d pdu.InDom) *domainNames {
	known := n.known[d]
	if known != nil && known.asked {
		return known
	}
	if n.known == nil {
		n.known = map[pdu.InDom]*domainNames{}
	}
	list, err := n.overlay.Source.Instances(n.ctx, pdu.InstanceReq{InDom: d, Inst: pdu.NoInst})
	if err == nil || known == nil {
		known = &domainNames{names: make(map[pdu.InstID]string, len(list))}
		n.known[d] = known
	}
	known.asked = true
	for _, i := range list {
		known.names[i.ID] = i.Name
		known.ids = append(known.ids, i.ID)
	}
	slices.Sort(known.ids)
	return known
}
