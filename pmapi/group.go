package pmapi

import (
	"context"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/internal/source"
)

// A Group fetches values of metrics by their names, again and again, and converts
// them: to rates, to other units, to the Go types that the program wants. Add,
// AddSet and AddEvents enter what is wanted and return where it will be found.
// Fetch, or Every in a loop, fills all of it.
//
//	g := c.Group()
//	load := pmapi.Add[float64](g, "kernel.all.load", pmapi.Instance("1 minute"))
//	read := pmapi.AddSet[float64](g, "disk.dev.read_bytes", pmapi.Scale("Mbyte/second"))
//
// # Names
//
// Adding asks nobody. The next Fetch looks up all names that are new, together;
// from then on a Fetch is one round trip, and allocates nothing as long as the
// values are numbers. A metric that cannot be resolved, because it is unknown or
// does not fit what is wanted of it, makes one Fetch fail with all such errors,
// joined: pdu.ErrName, pdu.ErrNonLeaf, pdu.ErrPMID, pdu.ErrInDom for an instance
// that is missing or that a singular metric cannot have, pdu.ErrInst, pdu.ErrType
// and pdu.ErrConv for what does not convert. Its item keeps the error, and the
// Fetches after that go on with the others; if there are none, each fails.
//
// Names are looked up anew when the collector tells that agents or names have
// changed, and on a new connection. A metric that has become another one then
// lacks its value once, with pdu.ErrAgain. What an agent does not say at present
// (pdu.ErrAgain, pdu.ErrTimeout) is asked again each time. The names of the instances
// of a Set are asked when one comes that was not there before.
//
// # Values
//
// Every Fetch replaces all values, or says with an error that one is missing:
// pdu.ErrValue after a failed Fetch and for an instance that is not there, or what
// the collector says of the metric. Metrics of discrete semantics of which a
// collector says nothing keep their values (see DiscreteOnce).
//
// A rate is the difference to the value of the Fetch before, in the units of the
// metric, by the seconds between them on the collector's clock, less than a
// nanosecond counting as one. The first is pdu.ErrAgain, as is that of an instance
// that was not there at the Fetch before. A Fetch that fails is none: the next rate
// is that since the last good one. A value below the one before is pdu.ErrValue
// (see CounterWrap), as is a rate over a time in which the clock was set back: to the
// C library that is a nanosecond too, and the rate a thousand million times too high.
//
// # Sharing a Context
//
// A Group is for one goroutine at a time, Values included. Several groups may use
// one context, beside other requests, each in its goroutine. A Group fetches under
// a profile of its own, for the instances that its items name: it neither heeds nor
// changes the context's.
//
// After a new connection there are no earlier values, for rates. If the context
// survives the loss of connections by itself (Dialer.AutoReconnect), one Fetch of each
// group fails with the *Gap, of which the context's own Fetch then hears no more.
//
// It is pmFG of the C library, which has a context of its own for each. The
// counterpart of pmClearFetchGroup(3) is another Group.
type Group struct {
	c       *Context
	members []member
	domains map[pdu.InDom]*groupDomain

	ids     []pdu.PMID   // what is fetched
	profile *pdu.Profile // under which
	result  pdu.Result
	epoch   source.Epoch // of the values before, once started
	started bool         // there has been a fetch
	fetches uint64       // how many results there were

	unresolved  bool // some metric has to be looked up
	misassigned bool // some instance may have another number
}

// Group makes a group without items. The counterpart of pmCreateFetchGroup(3).
func (c *Context) Group() *Group {
	return &Group{c: c, domains: map[pdu.InDom]*groupDomain{}, epoch: c.src.Epoch()}
}

// A member is what a group fills: an Item, a Set or an Events.
type member interface {
	// base is the metric of it.
	base() *groupMetric
	// accept takes the metric's descriptor, and says what is wrong with it for this
	// member. field is that of an event's field.
	accept(d, field pdu.Desc) error
	// take takes values. Its error is that of an exchange with the collector.
	take(ctx context.Context, s pdu.ValueSet) error
	// forget drops what rates are made of.
	forget()
}

// A groupMetric is what all members are made of.
type groupMetric struct {
	g     *Group
	name  string
	field string // of an event
	opts  itemOptions

	unresolved bool
	why        error // it is not good
	desc       pdu.Desc
	fieldDesc  pdu.Desc
	domain     *groupDomain // nil for singular metrics
	inst       pdu.InstID   // that of the option Instance, or NoInst
	slot       int          // where in the result
	code       pdu.Error    // it has no value; 0 if it has
}

func (m *groupMetric) base() *groupMetric { return m }

// An ItemOption is a choice about one item of a Group.
type ItemOption func(*itemOptions)

type itemOptions struct {
	instance     string
	hasInstance  bool
	scale        string
	hasScale     bool
	counterWrap  bool
	discreteOnce bool
}

// Instance names the instance whose value is wanted: by its whole name, or by that
// up to the first space. Metrics with instances need it, others cannot have it, and
// a Set takes none (pdu.ErrArg).
func Instance(name string) ItemOption {
	return func(o *itemOptions) { o.instance, o.hasInstance = name, true }
}

// Scale says what to convert values to.
//
//	(no Scale)    rates of counters, other values as they are
//	"rate"        the rate, in the units of the metric per second
//	"instant"     values as they are, those of counters too
//	other text    units, as pdu.ParseUnits takes them, "" for none
//
// Units have the dimension of the metric; values are then converted, also those of
// counters. Or their dimension in time is one less; then it is the rate that is
// converted. A number in the text scales: "s / 100 s" of a counter of milliseconds
// is a percentage. Other units are pdu.ErrConv.
func Scale(text string) ItemOption {
	return func(o *itemOptions) { o.scale, o.hasScale = text, true }
}

// CounterWrap takes an integer counter that has decreased for one that has passed
// its greatest value once. The C library does so if PCP_COUNTER_WRAP is set, and
// then has negative rates of floating point counters that decrease, which stay
// pdu.ErrValue here.
func CounterWrap() ItemOption { return func(o *itemOptions) { o.counterWrap = true } }

// DiscreteOnce lets a metric of discrete semantics have a value only after a Fetch
// that brought one, as other metrics do. The C library of PCP 7 does so if
// PCP_DISCRETE_ONCE is set.
func DiscreteOnce() ItemOption { return func(o *itemOptions) { o.discreteOnce = true } }

// add enters a member.
func (g *Group) add(m member, name, field string, opts []ItemOption) {
	b := m.base()
	*b = groupMetric{g: g, name: name, field: field, unresolved: true, code: pdu.ErrValue, inst: pdu.NoInst}
	for _, o := range opts {
		o(&b.opts)
	}
	g.members = append(g.members, m)
	g.unresolved = true
}

// Fetch fetches all values. It returns their time, by the collector's clock, or an
// error and the time by this computer's. Errors: pdu.ErrTooSmall for a group without
// items; those of names, once, joined; a *Gap; those of Context.Fetch. The
// counterpart of pmFetchGroup(3) and pmExtendFetchGroup_timestamp(3).
func (g *Group) Fetch(ctx context.Context) (time.Time, error) {
	if err := g.fetch(ctx); err != nil {
		for _, m := range g.members {
			m.base().code = pdu.ErrValue
		}
		return g.c.src.Now(), err
	}
	return g.result.Time, nil
}

func (g *Group) fetch(ctx context.Context) error {
	if len(g.members) == 0 {
		return g.c.fail("fetch", "", pdu.ErrTooSmall)
	}
	if err := g.resolve(ctx); err != nil {
		return err
	}
	if err := g.fetchValues(ctx); err != nil {
		return g.c.fail("fetch", "", err)
	}
	if err := g.resolve(ctx); err != nil {
		return err
	}
	g.fetches++
	g.result.SortInstances()
	for _, m := range g.members {
		if err := g.deal(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// fetchValues fetches under the group's own profile, unless there is a gap that it
// has not reported, and compares the epoch with that before: results of others tell of
// changes too.
func (g *Group) fetchValues(ctx context.Context) error {
	if err := g.c.waitTurn(ctx); err != nil {
		return err
	}
	defer g.c.endTurn()
	src := g.c.src
	epoch := src.Epoch()
	if !g.started { // gaps and connections before that are of no concern
		g.started, g.epoch.Connection, g.epoch.Gap = true, epoch.Connection, epoch.Gap
	}
	var err error
	if epoch.Gap != g.epoch.Gap { // which has been reported to somebody else
		err = epoch.Gap
	} else {
		err = src.Fetch(ctx, g.ids, g.profile, &g.result)
		epoch = src.Epoch()
	}
	if epoch.Connection != g.epoch.Connection || epoch.Gap != g.epoch.Gap {
		g.restart()
	}
	if epoch.Names != g.epoch.Names {
		g.rename()
	}
	g.epoch = epoch
	return err
}

// deal gives a member its values.
func (g *Group) deal(ctx context.Context, m member) error {
	b := m.base()
	if b.why != nil {
		return nil
	}
	if b.slot < g.result.Len() {
		if s := g.result.At(b.slot); s.PMID == b.desc.PMID {
			return m.take(ctx, s)
		}
	}
	// The metrics have changed since they were fetched.
	for _, s := range g.result.All() {
		if s.PMID == b.desc.PMID {
			return m.take(ctx, s)
		}
	}
	b.code = pdu.ErrAgain
	m.forget()
	return nil
}

// restart begins anew on another connection.
func (g *Group) restart() {
	for _, m := range g.members {
		m.forget()
	}
	g.rename()
}

// rename has all names looked up again.
func (g *Group) rename() {
	for _, m := range g.members {
		m.base().unresolved = true
	}
	for _, d := range g.domains {
		d.renew()
	}
	g.unresolved = true
}

// err is why there is no value, nil if there is one.
func (m *groupMetric) err() error {
	if m.why != nil {
		return m.why
	}
	return m.failure("", m.code)
}

// failure is the error of a value; nil for 0.
func (m *groupMetric) failure(instance string, code pdu.Error) error {
	if code == 0 {
		return nil
	}
	return m.g.c.fail("fetch", m.label(instance), code)
}

// label names a value in errors.
func (m *groupMetric) label(instance string) string {
	if m.opts.hasInstance {
		instance = m.opts.instance
	}
	if instance == "" {
		return m.name
	}
	return m.name + "[" + instance + "]"
}

// unavailable notes why a set has no values, unless it has.
func (m *groupMetric) unavailable(s pdu.ValueSet) bool {
	if s.Len() > 0 {
		return false
	}
	m.code = pdu.ErrValue
	if err := s.Err(); err != nil {
		m.code = pdu.FromError(err)
	}
	return true
}

// keeps reports whether values stay when a set is empty.
func (m *groupMetric) keeps(s pdu.ValueSet) bool {
	return m.desc.Sem == pdu.SemDiscrete && !m.opts.discreteOnce && s.Len() == 0 && s.Err() == nil
}

// find is where the values of an instance are in a set; hint is where they were.
func find(s pdu.ValueSet, inst pdu.InstID, hint int) (int, bool) {
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
