package pmda

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmns"
)

// An Agent is a Handler made of tables: metrics and instance domains, entered
// with Register and AddInDom, from which it answers descriptors, names, help
// texts, labels, instances, profiles and values. Callbacks replace single
// answers.
//
// The exported fields are set before the Agent serves. Metrics and instance
// domains may be added at any time; clients are told that names have changed.
// An Agent may be used by several goroutines at once.
//
// It answers to pmdaInterface, pmdaDaemon(3), pmdaDSO(3) and pmdaInit(3).
type Agent struct {
	// Name is the agent's name, such as "cache"; its metrics are usually called
	// cache.something.
	Name string
	// Domain numbers the agent, 1 to pdu.MaxDomain; 385 to 510 are free for agents
	// of one's own. No two agents of a collector have the same.
	Domain pdu.Domain
	// DomainLabels is a JSON object with the labels of the domain. Empty means
	// {"agent":"NAME"}; what is given replaces that.
	DomainLabels string
	// ClusterLabels are JSON objects with the labels of clusters.
	ClusterLabels map[int]string
	// ClientAttributes says that callbacks look at who Request.Client is: see Info.
	ClientAttributes bool
	// Callbacks replace the Agent's own answers.
	Callbacks Callbacks
	// Logger gets what goes wrong in callbacks. Nil means that of what serves the
	// Agent, Main's log or a collector's Logger, or else nothing: see DefaultLogger.
	// Leave it nil under Main.
	Logger *slog.Logger

	log atomic.Pointer[slog.Logger] // DefaultLogger's, or nil

	mu      sync.Mutex
	err     error             // the first registration that failed
	metrics []*metric         // in order of registration
	roots   []string          // of AddDynamic
	names   pmns.Builder      // of their names, as if in domain 0
	ids     map[ItemID]string // names by number
	next    ItemID            // lowest that may be free in cluster 0
	indoms  map[int]*InDom    // by serial
	serial  int               // lowest that may be free
	groups  int
	last    *tables                // the latest; its names outlive it while they do not change
	tables  atomic.Pointer[tables] // made of the above when first needed; nil when they have changed
	changed atomic.Uint32          // pdu.Change bits for the next fetch
}

// Callbacks replace answers of an Agent, each with the signature of the Handler
// method of its name; nil means the Agent's own, which a replacement may call
// through Agent.Default.
type Callbacks struct {
	Fetch     func(ctx context.Context, r *Request, ids []pdu.PMID, w *pdu.ResultWriter) error
	Desc      func(ctx context.Context, r *Request, id pdu.PMID) (pdu.Desc, error)
	Instances func(ctx context.Context, r *Request, d pdu.InDom, inst pdu.InstID, name string) ([]pdu.Instance, error)
	Text      func(ctx context.Context, r *Request, of pdu.TextTarget, kind pdu.TextKind) (string, error)
	Store     func(ctx context.Context, r *Request, values *pdu.Result) error
	PMID      func(ctx context.Context, r *Request, name string) (pdu.PMID, error)
	Names     func(ctx context.Context, r *Request, id pdu.PMID) ([]string, error)
	Children  func(ctx context.Context, r *Request, name string) ([]pmns.Child, error)
	Traverse  func(ctx context.Context, r *Request, name string) ([]string, error)
	Labels    func(ctx context.Context, r *Request, of pdu.LabelTarget) ([]pdu.LabelSet, error)
	EndClient func(c *Client)
}

// tables are a state of the registrations that requests can share.
type tables struct {
	domain  pdu.Domain
	metrics [][]*metric    // by cluster and item, as far as there are any
	indoms  map[int]*InDom // by serial
	tree    *pmns.Tree
	names   int // in tree
}

// metric looks a metric up.
func (t *tables) metric(id pdu.PMID) *metric {
	if uint32(id)>>22 != uint32(t.domain) {
		return nil
	}
	c, i := id.Cluster(), id.Item()
	if c >= len(t.metrics) || i >= len(t.metrics[c]) {
		return nil
	}
	return t.metrics[c][i]
}

// add puts a metric in its place.
func (t *tables) add(m *metric) {
	id := m.pmid(t.domain)
	for len(t.metrics) <= id.Cluster() {
		t.metrics = append(t.metrics, nil)
	}
	items := &t.metrics[id.Cluster()]
	for len(*items) <= id.Item() {
		*items = append(*items, nil)
	}
	(*items)[id.Item()] = m
}

// indom looks an instance domain up.
func (t *tables) indom(d pdu.InDom) *InDom {
	if uint32(d)>>22 != uint32(t.domain) { // NoInDom too
		return nil
	}
	return t.indoms[d.Serial()]
}

// desc is the descriptor of a metric.
func (t *tables) desc(m *metric) pdu.Desc {
	return pdu.Desc{PMID: m.pmid(t.domain), Type: m.typ, InDom: m.indom.id(t.domain), Sem: m.sem, Units: m.units}
}

// snapshot returns the tables as they are now.
func (a *Agent) snapshot() *tables {
	if t := a.tables.Load(); t != nil && t.domain == a.Domain {
		return t
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	t := &tables{domain: a.Domain, indoms: maps.Clone(a.indoms), names: len(a.metrics) + len(a.roots)}
	for _, m := range a.metrics {
		t.add(m)
	}
	if l := a.last; l != nil && l.domain == t.domain && l.names == t.names {
		t.tree = l.tree
	} else {
		t.tree = a.treeLocked()
	}
	a.last = t
	a.tables.Store(t)
	return t
}

// treeLocked makes the name space.
func (a *Agent) treeLocked() *pmns.Tree {
	var names pmns.Builder
	for _, m := range a.metrics {
		// Register has checked the name; what can be wrong is the Domain, which Err
		// reports.
		_ = names.Add(m.name, m.pmid(a.Domain))
	}
	for _, root := range a.roots {
		_ = names.Add(root, pdu.DynamicRoot(a.Domain)) // so has AddDynamic
	}
	return names.Tree()
}

// failLocked remembers the first registration that failed.
func (a *Agent) failLocked(err error) {
	if a.err == nil {
		a.err = err
	}
}

// Err is the first error of Register, AddInDom or Attach, or what else keeps the
// Agent from serving: so a program that ignores their results still fails where
// it starts to serve.
func (a *Agent) Err() error {
	if a.Name == "" {
		return errors.New("pmda: agent without a Name")
	}
	const free = "385 to 510 are free for agents of one's own"
	if a.Domain == 0 {
		return fmt.Errorf("pmda: agent %s: needs a Domain: %s", a.Name, free)
	}
	if a.Domain < 0 || a.Domain > pdu.MaxDomain {
		return fmt.Errorf("pmda: agent %s: Domain %d out of range (1..%d): %s", a.Name, a.Domain, pdu.MaxDomain, free)
	}
	for cluster, json := range a.ClusterLabels {
		if err := checkLabels(fmt.Sprintf("ClusterLabels[%d]", cluster), json); err != nil {
			return fmt.Errorf("pmda: agent %s: %w", a.Name, err)
		}
	}
	if err := checkLabels("DomainLabels", a.DomainLabels); err != nil {
		return fmt.Errorf("pmda: agent %s: %w", a.Name, err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err
}

// Notify tells all clients, with the next fetch of this agent, that labels
// (pdu.ChangeLabels) or names (pdu.ChangeNames) have changed. Registrations do so
// by themselves. The counterpart of pmdaSetFlags(3) with PMDA_EXT_LABEL_CHANGE
// and PMDA_EXT_NAMES_CHANGE.
func (a *Agent) Notify(c pdu.Change) {
	a.changed.Or(uint32(c & (pdu.ChangeLabels | pdu.ChangeNames)))
}

// DefaultLogger sets the log of an Agent whose Logger is nil. What serves an Agent
// calls it, also while something else serves that already; the last call counts.
func (a *Agent) DefaultLogger(l *slog.Logger) { a.log.Store(l) }

// Log is where the Agent logs: its Logger, or else what DefaultLogger was given,
// or else one that discards everything. It is never nil.
func (a *Agent) Log() *slog.Logger {
	if a.Logger != nil {
		return a.Logger
	}
	if l := a.log.Load(); l != nil {
		return l
	}
	return discard
}

var discard = slog.New(slog.DiscardHandler)

// Namespace is the names of the agent's metrics; the pointer is the same until
// they change. Its Lookup gives the PMID of a name, such as that of an event's
// parameter.
func (a *Agent) Namespace() *pmns.Tree { return a.snapshot().tree }

// Info has the fields of the same names.
func (a *Agent) Info() Info {
	return Info{Name: a.Name, Domain: a.Domain, ClientAttributes: a.ClientAttributes}
}

// Default is the Agent without its Callbacks: what a replacement calls for what
// it does not answer itself.
func (a *Agent) Default() Handler { return defaults{a} }

// defaults answers from the tables.
type defaults struct{ a *Agent }

func (d defaults) Info() Info { return d.a.Info() }

// Fetch writes the values of metrics, and what Notify was told.
func (a *Agent) Fetch(ctx context.Context, r *Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
	var err error
	if f := a.Callbacks.Fetch; f != nil {
		err = f(ctx, r, ids, w)
	} else {
		err = defaults{a}.Fetch(ctx, r, ids, w)
	}
	// What nobody waits for any more does not carry the news.
	if err == nil && a.changed.Load() != 0 && ctx.Err() == nil {
		w.Changed |= pdu.Change(a.changed.Swap(0))
	}
	return err
}

// Desc describes a metric.
func (a *Agent) Desc(ctx context.Context, r *Request, id pdu.PMID) (pdu.Desc, error) {
	if f := a.Callbacks.Desc; f != nil {
		return f(ctx, r, id)
	}
	return defaults{a}.Desc(ctx, r, id)
}

// Instances lists an instance domain or looks an instance up.
func (a *Agent) Instances(ctx context.Context, r *Request, d pdu.InDom, inst pdu.InstID, name string) ([]pdu.Instance, error) {
	if f := a.Callbacks.Instances; f != nil {
		return f(ctx, r, d, inst, name)
	}
	return defaults{a}.Instances(ctx, r, d, inst, name)
}

// Text gives help texts.
func (a *Agent) Text(ctx context.Context, r *Request, of pdu.TextTarget, kind pdu.TextKind) (string, error) {
	if f := a.Callbacks.Text; f != nil {
		return f(ctx, r, of, kind)
	}
	return defaults{a}.Text(ctx, r, of, kind)
}

// Store sets values through the Store functions of the metrics.
func (a *Agent) Store(ctx context.Context, r *Request, values *pdu.Result) error {
	if f := a.Callbacks.Store; f != nil {
		return f(ctx, r, values)
	}
	return defaults{a}.Store(ctx, r, values)
}

// PMID finds a name below a dynamic root.
func (a *Agent) PMID(ctx context.Context, r *Request, name string) (pdu.PMID, error) {
	if f := a.Callbacks.PMID; f != nil {
		return f(ctx, r, name)
	}
	return defaults{a}.PMID(ctx, r, name)
}

// Names gives the names of a metric below a dynamic root.
func (a *Agent) Names(ctx context.Context, r *Request, id pdu.PMID) ([]string, error) {
	if f := a.Callbacks.Names; f != nil {
		return f(ctx, r, id)
	}
	return defaults{a}.Names(ctx, r, id)
}

// Children returns what is one level below a name below a dynamic root.
func (a *Agent) Children(ctx context.Context, r *Request, name string) ([]pmns.Child, error) {
	if f := a.Callbacks.Children; f != nil {
		return f(ctx, r, name)
	}
	return defaults{a}.Children(ctx, r, name)
}

// Traverse returns the names of all metrics at or below a name below a dynamic root.
func (a *Agent) Traverse(ctx context.Context, r *Request, name string) ([]string, error) {
	if f := a.Callbacks.Traverse; f != nil {
		return f(ctx, r, name)
	}
	return defaults{a}.Traverse(ctx, r, name)
}

// Labels gives labels.
func (a *Agent) Labels(ctx context.Context, r *Request, of pdu.LabelTarget) ([]pdu.LabelSet, error) {
	if f := a.Callbacks.Labels; f != nil {
		return f(ctx, r, of)
	}
	return defaults{a}.Labels(ctx, r, of)
}

// Attributes does nothing.
func (a *Agent) Attributes(*Client) {}

// EndClient tells the callback that a client has gone.
func (a *Agent) EndClient(c *Client) {
	if f := a.Callbacks.EndClient; f != nil {
		f(c)
	}
}

func (defaults) Err() error            { return nil }
func (defaults) Namespace() *pmns.Tree { return nil }
func (defaults) Attributes(*Client)    {}
func (defaults) EndClient(*Client)     {}
