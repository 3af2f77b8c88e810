package pmapi

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"time"

	"github.com/pcp-go/pcp/internal/difference"
	"github.com/pcp-go/pcp/internal/wording"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/internal/source"
)

// A Group is a set of metrics that are fetched together repeatedly, by their names. It converts
// their values to rates, to other units, and to Go types. Add, AddSet, AddEvents and AddTree add
// metrics. Their results have the values of the latest Fetch, also in a loop over Every.
//
//	g := c.Group()
//	load := pmapi.Add[float64](g, "kernel.all.load", pmapi.Instance("1 minute"))
//	read := pmapi.AddSet[float64](g, "disk.dev.read_bytes", pmapi.Scale("Mbyte/second"))
//
// # Names
//
// Adding a metric makes no request. The next Fetch looks up all new names together. After that a
// Fetch is one exchange, and does not allocate if all values are numbers.
//
// A metric that cannot be resolved, because it is unknown or does not fit its item, is an error of
// that item alone: pdu.ErrName, pdu.ErrNonLeaf, pdu.ErrPMID,
// pdu.ErrInDom for a missing Instance option or for one of a singular metric, pdu.ErrType and
// pdu.ErrConv for an impossible conversion. Fetches go on with the other items, and Err
// has the errors of all such items. If no item can be resolved, each Fetch fails with them.
//
// Names are looked up again when the collector reports that agents or names have changed, and on a
// new connection. An item whose name now stands for another metric has no value at one Fetch; its
// error is pdu.ErrAgain. A metric whose agent is not available at present (pdu.ErrAgain,
// pdu.ErrTimeout, …) is looked up again at each Fetch.
//
// Instances may come and go, and come again with other numbers. A Fetch requests the names of a
// domain's instances when a Set gets a new instance, and when a selected instance had no value at
// the Fetch before. While the source has no such instance, the item has pdu.ErrInst.
//
// # Values
//
// Every Fetch replaces all values. An item without a value has an error instead: that of the
// collector for the metric, or pdu.ErrValue if the collector has neither a value nor an error. Only
// a metric of discrete semantics keeps its value in that case. After a failed Fetch no item has a
// value, and its error is pdu.ErrValue.
//
// A rate is the difference between a value and that of the Fetch before, in the units of the
// metric, divided by the seconds between them on the collector's clock. At the first Fetch, and for
// an instance without a value before, the error is pdu.ErrAgain instead. A Fetch that fails does
// not count: the next rate is since the last one that succeeded. The error is pdu.ErrValue if the
// counter has decreased (see CounterWrap), no time has passed, or the clock was set back. The C
// library has a rate in the last two cases, as if a nanosecond had passed. In an archive that is
// read backwards, a rate is the same as forwards.
//
// # Sharing a Context
//
// A Group is for one goroutine at a time, and so are its items. Several groups may
// use one context at the same time, and other requests too. A Group fetches with a
// separate profile of the instances that its items need, and does not use the context's.
//
// Rates start again after a new connection. With Dialer.AutoReconnect, one Fetch of each
// group fails with the *Gap. A Gap that a group has reported is not reported by
// Context.Fetch.
//
// A Group is the counterpart of a pmFG in the C library, which has a separate context. The
// counterpart of pmClearFetchGroup(3) is another Group; Remove removes single items.
type Group struct {
	c       *Context
	members []member
	trees   []treeMember
	domains map[pdu.InDom]*groupDomain

	ids     []pdu.PMID   // what is fetched
	profile *pdu.Profile // for the instances of ids
	result  pdu.Result
	epoch   source.Epoch // of the previous values; valid if started
	started bool         // there has been a fetch
	fetches uint64       // how many results there were

	backwards bool // the result is of an archive that is read backwards

	unresolved   bool // some metric has to be looked up
	instsChanged bool // some instance may have another number
	instsMissing bool // some groupDomain has missing set
}

// Group makes an empty group. The counterpart of pmCreateFetchGroup(3).
func (c *Context) Group() *Group {
	return &Group{c: c, domains: map[pdu.InDom]*groupDomain{}, epoch: c.src.Epoch()}
}

// A member is an Item, a Set or an Events, which a group fills.
type member interface {
	// base returns the member's metric.
	base() *groupMetric
	// Err reports why there are no values.
	Err() error
	// setDesc prepares for values of a descriptor. Its error is the reason why the metric does not
	// fit this member. field is the descriptor of an event's field.
	setDesc(d, field pdu.Desc) error
	// setValues converts the values of a fetch. Its error is that of a request.
	setValues(ctx context.Context, s pdu.ValueSet) error
	// resetRates drops the previous values, so that the next Fetch yields no rates.
	resetRates()
	// initColumns makes the columns that do not depend on instances.
	initColumns(m *memberColumns)
	// addToColumns adds the values to the columns.
	addToColumns(m *memberColumns)
}

// A groupMetric is the common part of all members.
type groupMetric struct {
	g     *Group
	name  string
	field string // of an event
	opts  itemOptions

	unresolved bool
	why        error // the reason why it cannot be resolved, or nil
	ofTree     bool  // the metric was not added by its own name
	desc       pdu.Desc
	fieldDesc  pdu.Desc
	domain     *groupDomain // nil for singular metrics
	inst       pdu.InstID   // that of the option Instance, or NoInst
	noInst     bool         // there is no instance of the option Instance
	slot       int          // the index in the result
	code       pdu.Error    // why there is no value; 0 if there is one
	misfit     bool         // code is an error of the conversion to a Go type
	to         reflect.Type // what values become
}

func (m *groupMetric) base() *groupMetric { return m }

// An ItemOption is an option of an item of a Group, or of Context.Store.
type ItemOption func(*itemOptions)

type itemOptions struct {
	instance    string
	hasInstance bool
	scale       string
	hasScale    bool
	counterWrap bool
	where       *LabelFilter // nil for all
}

// Instance selects an instance by its name, by its name up to the first space, or by another name
// that its agent accepts: the agent proc accepts "1" for the process "000001 init". An item of a
// metric with instances needs this option. For a singular metric the option is pdu.ErrInDom, and
// for a Set pdu.ErrArg. The instance need not exist yet (see Group).
func Instance(name string) ItemOption {
	return func(o *itemOptions) { o.instance, o.hasInstance = name, true }
}

// Scale selects what values are converted to.
//
//	(no Scale)    rates of counters, other values as they are
//	"rate"        the rate, in the units of the metric per second
//	"instant"     values as they are, those of counters too
//	"%"           percent
//	other text    units, as pdu.ParseUnits parses them, "" for none
//
// If the units have the dimension of the metric, values are converted to them, also those
// of counters. If their dimension in time is one less, the rate is converted. A number in the
// text is a factor: "100 byte" counts hundreds of bytes. Other units are pdu.ErrConv.
//
// A percentage is a hundred times a number without a dimension. For a counter of time, such as
// kernel.percpu.cpu.user in milliseconds, this number is the rate in seconds per second: 100 % is a
// CPU that is busy all the time. For a metric without units it is the value, so "%" suits a ratio
// from 0 to 1, but not a metric that already is a percentage.
func Scale(text string) ItemOption {
	return func(o *itemOptions) { o.scale, o.hasScale = text, true }
}

// CounterWrap computes the rate of an integer counter that has decreased as if it had passed its
// greatest value once. The C library does so if PCP_COUNTER_WRAP is set. It then also returns
// negative rates of decreased floating point counters; here their error is pdu.ErrValue.
func CounterWrap() ItemOption { return func(o *itemOptions) { o.counterWrap = true } }

// checkGroup panics if g is nil. name is the name of the item that is added.
func checkGroup(g *Group, name string) {
	if g == nil {
		panic("pmapi: " + strconv.Quote(name) + " is added to a nil *Group: make one with Context.Group")
	}
}

// add adds a member to g. Its values become a T.
func add[T pdu.Scalar](g *Group, m member, name, field string, opts []ItemOption) {
	checkGroup(g, name)
	b := m.base()
	*b = groupMetric{g: g, name: name, field: field, unresolved: true, code: pdu.ErrValue, inst: pdu.NoInst, to: reflect.TypeFor[T]()}
	for _, o := range opts {
		o(&b.opts)
	}
	g.members = append(g.members, m)
	g.unresolved = true
}

// Fetch fetches all values and returns their time by the collector's clock. With an error it
// returns the present time of the source, which for a collector is the time of this computer.
// Errors: pdu.ErrTooSmall for an empty group; that of Err, if no item can be resolved; a *Gap;
// those of Context.Fetch. The counterpart of pmFetchGroup(3) and pmExtendFetchGroup_timestamp(3).
func (g *Group) Fetch(ctx context.Context) (time.Time, error) {
	if err := g.fetch(ctx); err != nil {
		for _, m := range g.members {
			m.base().setCode(pdu.ErrValue)
		}
		return g.c.src.Now(), err
	}
	return g.result.Time, nil
}

func (g *Group) fetch(ctx context.Context) error {
	if len(g.members)+len(g.trees) == 0 {
		return g.c.fail("fetch", "", fmt.Errorf("the group has no metrics: %w", pdu.ErrTooSmall))
	}
	if err := g.requestMissing(ctx); err != nil {
		return err
	}
	if err := g.resolve(ctx); err != nil {
		return err
	}
	next := g.unresolved // those that could not be resolved now are looked up again at the next Fetch
	g.unresolved = false
	err := g.fetchValues(ctx)
	err = g.c.fail("fetch", "", err)
	if err == nil {
		err = g.resolve(ctx) // names may have changed
	}
	g.unresolved = g.unresolved || next
	if err != nil {
		return err
	}
	g.fetches++
	g.result.SortInstances()
	for _, m := range g.members {
		if err := g.distribute(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// Err returns the joined errors of the items that cannot have values, as of the latest Fetch:
// metrics that cannot be resolved, missing instances, and texts that are not numbers. It does not
// include single metrics of a Tree. Nil means that all items were found. After the first Fetch it
// reports misspelt names:
//
//	if _, err := g.Fetch(ctx); err != nil {
//		return err // no collector, or nothing that was added can be resolved
//	}
//	if err := g.Err(); err != nil {
//		log.Print(err) // the other items have values
//	}
func (g *Group) Err() error {
	var errs []error
	for _, t := range g.trees {
		if err := t.Err(); err != nil {
			errs = append(errs, err)
		}
	}
	for _, m := range g.members {
		switch b := m.base(); {
		case b.ofTree:
		case b.why != nil:
			errs = append(errs, b.why)
		case b.noInst:
			errs = append(errs, b.failure("", pdu.ErrInst))
		default:
			if err := m.Err(); pdu.FromError(err) == pdu.ErrType {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// Changed returns what changed in the collector before the latest Fetch.
func (g *Group) Changed() pdu.Change { return g.result.Changed }

// fetchValues fetches with the group's own profile, unless there is a gap that it has not
// reported. Then it compares epochs: fetches of others may have begun a new one, too.
func (g *Group) fetchValues(ctx context.Context) error {
	if err := g.c.waitTurn(ctx); err != nil {
		return err
	}
	defer g.c.endTurn()
	src := g.c.src
	epoch := src.Epoch()
	if !g.started { // gaps and connections before the first fetch do not matter
		g.started, g.epoch.Connection, g.epoch.Gap = true, epoch.Connection, epoch.Gap
	}
	var err error
	if epoch.Gap != g.epoch.Gap { // another group, or the context, has reported it
		err = epoch.Gap
	} else {
		err = src.Fetch(ctx, g.ids, g.profile, &g.result)
		epoch = src.Epoch()
		g.backwards = isReadBackwards(src)
	}
	if epoch.Connection != g.epoch.Connection || epoch.Gap != g.epoch.Gap {
		g.startAgain()
	}
	if epoch.Names != g.epoch.Names {
		g.resolveAgain()
	}
	g.epoch = epoch
	return err
}

// distribute passes the values of a member's metric to it.
func (g *Group) distribute(ctx context.Context, m member) error {
	b := m.base()
	if b.why != nil {
		return nil
	}
	if b.noInst {
		b.requestListNext()
	}
	if b.slot < g.result.Len() {
		if s := g.result.At(b.slot); s.PMID == b.desc.PMID {
			return m.setValues(ctx, s)
		}
	}
	// The metrics have changed since they were fetched.
	for _, s := range g.result.All() {
		if s.PMID == b.desc.PMID {
			return m.setValues(ctx, s)
		}
	}
	b.setCode(pdu.ErrAgain)
	m.resetRates()
	return nil
}

// step returns the time from an earlier sample to the result.
func (g *Group) step(since time.Time) difference.Step {
	return difference.Step{Elapsed: g.result.Time.Sub(since), Backwards: g.backwards}
}

// startAgain drops the state of an earlier connection.
func (g *Group) startAgain() {
	for _, m := range g.members {
		m.resetRates()
	}
	g.resolveAgain()
}

// resolveAgain makes the next resolve look up all names again.
func (g *Group) resolveAgain() {
	for _, m := range g.members {
		m.base().unresolved = true
	}
	for _, t := range g.trees {
		t.expire()
	}
	for _, d := range g.domains {
		d.forgetNames()
		clear(d.aliases)
	}
	g.unresolved = true
}

// err returns the reason why there is no value, nil if there is one.
func (m *groupMetric) err() error {
	switch {
	case m.why != nil:
		return m.why
	case m.misfit:
		return m.conversionFailure("", m.desc.Type, m.code)
	}
	return m.failure("", m.code)
}

// conversionFailure returns the error of a value of a known type that does not convert.
func (m *groupMetric) conversionFailure(instance string, from pdu.Type, code pdu.Error) error {
	err := error(code)
	switch {
	case isMisfit(code):
		err = misfit(from, m.to, code)
	case code == pdu.ErrAgain: // which only rates have
		err = fmt.Errorf("a rate takes two samples: %w", code)
	}
	return m.g.c.fail("fetch", m.label(instance), err)
}

// isMisfit reports whether the code of a conversion is about the target type.
func isMisfit(code pdu.Error) bool {
	return code == pdu.ErrType || code == pdu.ErrConv || code == pdu.ErrTrunc || code == pdu.ErrSign
}

// misfit returns an error that names the type of a metric and the Go type.
func misfit(from pdu.Type, to reflect.Type, err error) error {
	return fmt.Errorf("from type %s to %s: %w", wording.Type(from), goName(to), err)
}

// goName returns the name of a Go type.
func goName(t reflect.Type) string {
	if t == reflect.TypeFor[[]byte]() {
		return "[]byte"
	}
	return t.String()
}

// failure returns the error of a missing value, nil for code 0.
func (m *groupMetric) failure(instance string, code pdu.Error) error {
	if code == 0 {
		return nil
	}
	return m.g.c.failItem("fetch", m.label(instance), code)
}

// label returns the name of a value for errors.
func (m *groupMetric) label(instance string) string {
	if m.opts.hasInstance {
		instance = m.opts.instance
	}
	if instance == "" {
		return m.name
	}
	return m.name + "[" + instance + "]"
}

// setMissing sets the code of the metric if a set has no values, and reports whether it did.
func (m *groupMetric) setMissing(s pdu.ValueSet) bool {
	if s.Len() > 0 {
		return false
	}
	m.setCode(pdu.ErrValue)
	if err := s.Err(); err != nil {
		m.setCode(pdu.FromError(err))
	}
	return true
}

// setCode sets a code that is not of a conversion.
func (m *groupMetric) setCode(code pdu.Error) { m.code, m.misfit = code, false }

// hasFailed reports whether a set has an error in place of values. Some agents refuse a profile
// without an instance. An item whose instance is missing has such a profile, and then the refusal
// is no error.
func (m *groupMetric) hasFailed(s pdu.ValueSet) bool {
	err := s.Err()
	return err != nil && !(m.noInst && errors.Is(err, pdu.ErrProfile))
}

// selectValue finds the value of the selected instance in a set that has not failed. hint is its
// previous index. If the set has no such value, selectValue sets the code of the metric and has the
// list of instances requested again.
func (m *groupMetric) selectValue(s pdu.ValueSet, hint int) (index int, ok bool) {
	if !m.noInst {
		if index, ok = indexOfInstance(s, m.inst, hint); ok {
			return index, true
		}
	}
	if m.domain != nil {
		m.requestListNext()
	}
	if m.setCode(pdu.ErrValue); m.noInst {
		m.setCode(pdu.ErrInst)
	}
	return 0, false
}

// keepsValues reports whether values stay because the set is empty.
func (m *groupMetric) keepsValues(s pdu.ValueSet) bool {
	return m.desc.Sem == pdu.SemDiscrete && s.Len() == 0 && s.Err() == nil
}

// requestListNext makes the next Fetch request the list of instances.
func (m *groupMetric) requestListNext() { m.domain.missing, m.g.instsMissing = true, true }

// indexOfInstance returns the index of an instance in a set of values. hint is its previous index.
func indexOfInstance(s pdu.ValueSet, inst pdu.InstID, hint int) (int, bool) {
	if hint < s.Len() && s.Inst(hint) == inst {
		return hint, true
	}
	for i := range s.Len() {
		if s.Inst(i) == inst {
			return i, true
		}
	}
	return 0, false
}
