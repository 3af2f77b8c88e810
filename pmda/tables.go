package pmda

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmns"
)

// Tables are a set of metrics, instance domains and dynamic roots of an Agent. A
// program that wants to change many of them at once fills new Tables and has
// the Agent serve them in place of the old with SetTables: no client sees a state
// in between. Groups belong to no Tables: Agent.Group makes them.
//
// Tables may be used by several goroutines at once.
type Tables struct {
	agent *Agent // its mu guards what follows

	err          error     // the first registration that failed
	metrics      []*metric // in order of registration
	roots        []string  // of AddDynamic
	names        pmns.Builder
	namesVersion int                // counts changes of names
	items        map[ItemID]*metric // the metrics by number
	indoms       map[int]*InDom     // by serial
}

// A Registry is what metrics are registered with: an Agent, or Tables that it will
// serve later.
type Registry interface {
	// register runs f on the tables. It remembers and returns its error, with what
	// failed.
	register(op, name string, f func(t *Tables) error) error
}

// NewTables returns empty Tables for the Agent.
func (a *Agent) NewTables() *Tables { return &Tables{agent: a} }

// SetTables has the Agent serve t in place of what it has served so far, which is
// released. Requests in progress end with the old tables. Clients are told that
// names and labels may have changed. Errors: the first registration with t
// that failed, and then nothing changes; Tables of another Agent.
//
// A metric of the same name, type, semantics, units and instance domain keeps its
// number if the Agent chooses it: see ItemID. An InDom and a Group may be in
// the old and in the new Tables. What other packages have registered, such as
// goexpvar, is replaced too: give those an Agent of their own.
func (a *Agent) SetTables(t *Tables) error {
	if t.agent != a {
		return &OpError{Op: "set tables", Agent: a.Name, Err: errors.New("they belong to agent " + t.agent.Name)}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if t.err != nil {
		return t.err
	}
	a.current, a.last.of = t, nil // the old tables are garbage
	a.changedLocked(pdu.ChangeNames | pdu.ChangeLabels)
	return nil
}

// Remove removes metrics and dynamic roots by their names. Fetches in progress
// still have their values. Clients are told. Groups and instance domains stay,
// the latter until Detach. Errors: pdu.ErrName for an unknown name; it
// removes nothing then.
//
// The number of a removed metric is not given to another one as long as cluster 0
// has others: see ItemID.
func (a *Agent) Remove(names ...string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.currentLocked()
	gone := make(map[string]bool, len(names))
	for _, n := range names {
		gone[n] = true
	}
	missing := maps.Clone(gone)
	for _, m := range t.metrics {
		delete(missing, m.name)
	}
	for _, r := range t.roots {
		delete(missing, r)
	}
	for n := range missing {
		return &OpError{Op: "remove", Agent: a.Name, Name: n, Err: pdu.ErrName}
	}
	if len(names) == 0 {
		return nil
	}
	t.metrics = slices.DeleteFunc(t.metrics, func(m *metric) bool {
		if gone[m.name] {
			delete(t.items, m.item)
		}
		return gone[m.name]
	})
	t.roots = slices.DeleteFunc(t.roots, func(r string) bool { return gone[r] })
	t.namesVersion++
	t.names = pmns.Builder{}
	for _, m := range t.metrics {
		_ = t.names.Add(m.name, m.pmid(0)) // which was right before
	}
	for _, r := range t.roots {
		_ = t.names.Add(r, pdu.DynamicRoot(0))
	}
	a.changedLocked(pdu.ChangeNames)
	return nil
}

// Detach removes an instance domain that no metric uses. The Agent does not give
// its serial to another one. Attach adds it again. Errors: a domain that is not
// attached, or that a metric uses.
func (a *Agent) Detach(d *InDom) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.detachLocked(d); err != nil {
		return &OpError{Op: "detach instance domain", Agent: a.Name, Name: d.Name, Err: err}
	}
	return nil
}

func (a *Agent) detachLocked(d *InDom) error {
	t := a.currentLocked()
	if !t.has(d) {
		return errors.New("it is not attached")
	}
	for _, m := range t.metrics {
		if m.indom == d {
			return fmt.Errorf("metric %q has it", m.name)
		}
	}
	delete(t.indoms, d.home.Load().serial)
	a.changedLocked(0)
	return nil
}

// AddDynamic adds a dynamic root: a name of which, and of all below it,
// collectors ask the agent. A wrapper replies, which overrides PMID, Names,
// Children and Traverse; the metrics are in no table, so that its Desc, Fetch and
// Text have to know them too: see Use. Errors: a name that is in use or malformed.
// It is "*:*" in a PMNS file.
func (a *Agent) AddDynamic(root string) error { return addDynamic(a, root) }

// AddDynamic is Agent.AddDynamic for these Tables.
func (t *Tables) AddDynamic(root string) error { return addDynamic(t, root) }

func addDynamic(to Registry, root string) error {
	return to.register("add dynamic root", root, func(t *Tables) error {
		if slices.Contains(t.roots, root) {
			return errors.New("it has been added already")
		}
		if err := t.addName(root, pdu.DynamicRoot(0)); err != nil {
			return err
		}
		t.roots = append(t.roots, root)
		return nil
	})
}

// reservedNames is above the names that libpcp and pmapi give all clients, whatever the
// collector has. A metric called event.flags would hide the client's; one called event
// would leave no place for it.
const reservedNames = "event"

// addName adds a name to the name space, as if the agent's domain were 0.
func (t *Tables) addName(name string, id pdu.PMID) error {
	if name == reservedNames || strings.HasPrefix(name, reservedNames+".") {
		return fmt.Errorf("names at and below %q are reserved: there, clients have %s and %s, the parts of event records",
			reservedNames, pdu.EventFlagsName, pdu.EventMissedName)
	}
	err := t.names.Add(name, id)
	if errors.Is(err, pdu.ErrPMID) {
		return errors.New("the name is in use")
	} else if err == nil {
		t.namesVersion++
	}
	if e, ok := errors.AsType[*pmns.OpError](err); ok && errors.Is(err, pdu.ErrName) {
		return badName{e.Err}
	}
	return err
}

// A badName is why a name cannot be added, without the text of pdu.ErrName, "Unknown
// metric name", which is for clients that ask for one.
type badName struct{ error }

func (e badName) Error() string {
	return strings.TrimSuffix(e.error.Error(), ": "+pdu.ErrName.Error())
}

func (e badName) Unwrap() error { return e.error }

// has reports whether an instance domain is in the tables.
func (t *Tables) has(d *InDom) bool {
	home := d.home.Load()
	return home != nil && home.agent == t.agent && t.indoms[home.serial] == d
}

func (a *Agent) register(op, name string, f func(t *Tables) error) error {
	if a == nil {
		return &OpError{Op: op, Name: name, Err: errors.New("the *Agent is nil")}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.registerLocked(a.currentLocked(), &a.err, op, name, f)
}

func (t *Tables) register(op, name string, f func(t *Tables) error) error {
	if t == nil || t.agent == nil {
		return &OpError{Op: op, Name: name, Err: errors.New("the *Tables belong to no agent: make them with NewTables")}
	}
	t.agent.mu.Lock()
	defer t.agent.mu.Unlock()
	return t.agent.registerLocked(t, &t.err, op, name, f)
}

// registerLocked runs f on tables. Its error is remembered in first.
func (a *Agent) registerLocked(t *Tables, first *error, op, name string, f func(t *Tables) error) error {
	before := t.namesVersion
	if err := f(t); err != nil {
		err = &OpError{Op: op, Agent: a.Name, Name: name, Err: err}
		if *first == nil {
			*first = err
		}
		return err
	}
	if t == a.current {
		var c pdu.Change
		if t.namesVersion != before {
			c = pdu.ChangeNames
		}
		a.changedLocked(c)
	}
	return nil
}

// currentLocked are the tables that the Agent serves.
func (a *Agent) currentLocked() *Tables {
	if a.current == nil {
		a.current = a.NewTables()
	}
	return a.current
}

// changedLocked notes that the current tables have changed.
func (a *Agent) changedLocked(c pdu.Change) {
	a.snap.Store(nil)
	if a.last.tree != nil { // somebody has seen the names
		a.Notify(c)
	}
}

// lastNames are the latest name space, which outlives its snapshot while the names
// do not change.
type lastNames struct {
	tree    *pmns.Tree
	domain  pdu.Domain
	of      *Tables
	version int // of its names
}

// tree makes the name space.
func (t *Tables) tree(d pdu.Domain) *pmns.Tree {
	var names pmns.Builder
	for _, m := range t.metrics {
		// The name has been checked; what can be wrong is the Domain, which Err reports.
		_ = names.Add(m.name, m.pmid(d))
	}
	for _, root := range t.roots {
		_ = names.Add(root, pdu.DynamicRoot(d))
	}
	return names.Tree()
}

// A snapshot is a state of the current tables that requests share. It never
// changes.
type snapshot struct {
	domain  pdu.Domain
	metrics [][]*metric    // by cluster and item, as far as there are any
	indoms  map[int]*InDom // by serial
	tree    *pmns.Tree
}

// snapshot returns the tables as they are now.
func (a *Agent) snapshot() *snapshot {
	if s := a.snap.Load(); s != nil && s.domain == a.Domain {
		return s
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.currentLocked()
	s := &snapshot{domain: a.Domain, indoms: maps.Clone(t.indoms)}
	for _, m := range t.metrics {
		s.add(m)
	}
	last := lastNames{domain: a.Domain, of: t, version: t.namesVersion}
	switch before := a.last; {
	case before.domain == last.domain && before.of == t && before.version == last.version:
		last.tree = before.tree
	default:
		last.tree = t.tree(a.Domain)
		if before.tree != nil && before.tree.Equal(last.tree) {
			last.tree = before.tree // so that collectors need not merge it anew
		}
	}
	a.last, s.tree = last, last.tree
	a.snap.Store(s)
	return s
}

// add puts a metric in its place.
func (s *snapshot) add(m *metric) {
	id := m.pmid(s.domain)
	for len(s.metrics) <= id.Cluster() {
		s.metrics = append(s.metrics, nil)
	}
	items := &s.metrics[id.Cluster()]
	for len(*items) <= id.Item() {
		*items = append(*items, nil)
	}
	(*items)[id.Item()] = m
}

// metric looks a metric up.
func (s *snapshot) metric(id pdu.PMID) *metric {
	if uint32(id)>>22 != uint32(s.domain) {
		return nil
	}
	c, i := id.Cluster(), id.Item()
	if c >= len(s.metrics) || i >= len(s.metrics[c]) {
		return nil
	}
	return s.metrics[c][i]
}

// indom looks an instance domain up.
func (s *snapshot) indom(d pdu.InDom) *InDom {
	if uint32(d)>>22 != uint32(s.domain) { // NoInDom too
		return nil
	}
	return s.indoms[d.Serial()]
}

// desc is the descriptor of a metric.
func (s *snapshot) desc(m *metric) pdu.Desc {
	return pdu.Desc{PMID: m.pmid(s.domain), Type: m.typ, InDom: m.indomID(s.domain), Sem: m.sem, Units: m.units}
}

// numbers are what an Agent knows of the numbers that it has given. Agent.mu guards
// them.
type numbers struct {
	given   map[string]numbered // of the metrics that the Agent has numbered, by name
	used    map[ItemID]bool     // items of cluster 0 that a metric has or had
	item    ItemID              // those below are used
	serial  int                 // serials below are used
	serials map[int]bool        // that programs have chosen, also of domains that are gone
}

// numbered is a metric that has got its number from the Agent.
type numbered struct {
	item  ItemID
	typ   pdu.Type
	sem   pdu.Sem
	units pdu.Units
	indom pdu.InDom // in domain 0
}

// number chooses the number of a metric, or checks the one that it has.
func (t *Tables) number(m *metric) (ItemID, error) {
	if m.item != 0 {
		return m.item, t.checkNumber(m.item)
	}
	n := &t.agent.numbers
	if g, ok := n.given[m.name]; ok && t.items[g.item] == nil &&
		g == (numbered{g.item, m.typ, m.sem, m.units, m.indomID(0)}) {
		return g.item, nil
	}
	for n.used[explicitItem|n.item] {
		n.item++
	}
	if n.item <= pdu.MaxItem {
		return explicitItem | n.item, nil
	}
	current := t.agent.currentLocked()
	for i := explicitItem; i <= explicitItem|pdu.MaxItem; i++ {
		if t.items[i] == nil && current.items[i] == nil {
			return i, nil
		}
	}
	return 0, errors.New("cluster 0 is full: give metrics an ID")
}

func (t *Tables) checkNumber(i ItemID) error {
	if i&explicitItem == 0 || i&^explicitItem > pdu.MaxCluster<<10|pdu.MaxItem {
		return fmt.Errorf("ID out of range (0..%d, 0..%d): make it with Item", pdu.MaxCluster, pdu.MaxItem)
	}
	if other := t.items[i]; other != nil {
		return fmt.Errorf("the ID %d.%d is in use by %q", i&^explicitItem>>10, i&pdu.MaxItem, other.name)
	}
	return nil
}

// note remembers the number of a metric; chosen says that the Agent chose it.
func (n *numbers) note(m *metric, chosen bool) {
	if m.item&^explicitItem > pdu.MaxItem {
		return // not in cluster 0
	}
	if n.used == nil {
		n.given, n.used = map[string]numbered{}, map[ItemID]bool{}
	}
	if n.used[m.item] {
		maps.DeleteFunc(n.given, func(_ string, g numbered) bool { return g.item == m.item })
	}
	n.used[m.item] = true
	if chosen {
		n.given[m.name] = numbered{m.item, m.typ, m.sem, m.units, m.indomID(0)}
	}
}

// noteSerial remembers the serial of an instance domain; chosen says that the Agent
// chose it.
func (n *numbers) noteSerial(serial int, chosen bool) {
	switch {
	case chosen:
		n.serial = max(n.serial, serial+1)
	case serial >= n.serial:
		if n.serials == nil {
			n.serials = map[int]bool{}
		}
		n.serials[serial] = true
	}
}
