package goexpvar

import (
	"context"
	"expvar"
	"strings"
	"sync"

	"github.com/pcp-go/pcp/internal/ctxwait"
	"github.com/pcp-go/pcp/internal/expvars"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmns"
)

// The limits that the package comment lists.
const (
	callTimeout    = expvars.CallTimeout
	maxStuck       = expvars.MaxStuck
	maxText        = expvars.MaxText
	maxDepth       = 8
	maxName        = 200
	maxString      = 4096
	maxInstances   = 4096
	maxPerVariable = 1024
	maxMetrics     = 4096
)

// Clusters and serials of instance domains from these on are reserved for this package.
const (
	firstCluster = 4000
	firstSerial  = 1 << 20
)

// Metrics are numbered consecutively through the clusters of this package.
const (
	perCluster = pdu.MaxItem + 1
	clusters   = maxMetrics / perCluster
)

// Add makes an agent export the variables of expvar below root, such as "go.expvar". It wraps the
// agent with Agent.Use. It fails if root is in use or malformed, and the agent's Err then reports
// the error too.
func Add(a *pmda.Agent, root string) error {
	return add(a, root, expvar.Do).err
}

// add exports the variables that do yields, as expvar.Do does.
func add(a *pmda.Agent, root string, do func(func(expvar.KeyValue))) *exporter {
	e := &exporter{
		agent: a, root: root, do: do,
		turn:   ctxwait.NewMutex(),
		tops:   map[string]*variable{},
		byName: map[string]*metric{},
		known:  map[metricKey]*metric{},
		logged: map[string]bool{},
	}
	e.collect = func(kv expvar.KeyValue) {
		if kv.Key != "memstats" && kv.Key != "cmdline" && kv.Value != nil {
			e.vars = append(e.vars, kv)
		}
	}
	e.collectEntry = func(kv expvar.KeyValue) {
		if e.room--; e.room >= 0 && kv.Value != nil {
			e.entries = append(e.entries, kv)
		}
	}
	if e.err = a.AddDynamic(root); e.err != nil {
		return e
	}
	a.Use(func(next pmda.Handler) pmda.Handler {
		e.Handler = next
		return e
	})
	return e
}

// An exporter adds the metrics of variables to the Handler of an agent.
type exporter struct {
	pmda.Handler

	agent   *pmda.Agent
	root    string
	do      func(func(expvar.KeyValue))
	collect func(expvar.KeyValue)
	err     error // of Add

	// turn guards the following fields and serializes reads of variables.
	turn       ctxwait.Mutex
	vars       []expvar.KeyValue // as last listed
	listed     bool              // list was called
	keysListed []string
	tops       map[string]*variable  // by key
	order      []*variable           // variables that have a name, by key
	byName     map[string]*metric    // existing metrics
	known      map[metricKey]*metric // existing metrics and those that may return
	free       []int                 // numbers of removed metrics, oldest first
	reads      uint64                // counts changes of the metrics of a variable
	calls      expvars.Calls
	logged     map[string]bool // texts already logged

	// State of one read of a variable.
	found        []*metric
	entries      []expvar.KeyValue // entries of the Maps being flattened
	room         int               // for more entries of the innermost Map
	collectEntry func(expvar.KeyValue)
	keys         []string

	table   sync.RWMutex // guards metrics
	metrics []*metric    // metrics of known by number; nil for removed ones
}

// owns reports whether a PMID is in a cluster of this package.
func owns(id pdu.PMID) bool {
	return id.Cluster() >= firstCluster && id.Cluster() < firstCluster+clusters
}

// metric returns the metric with a PMID, or nil.
func (e *exporter) metric(id pdu.PMID) *metric {
	if !owns(id) || id.Domain() != e.agent.Domain {
		return nil
	}
	e.table.RLock()
	defer e.table.RUnlock()
	if n := (id.Cluster()-firstCluster)*perCluster + id.Item(); n < len(e.metrics) {
		return e.metrics[n]
	}
	return nil
}

// Unwrap returns the wrapped Handler.
func (e *exporter) Unwrap() pmda.Handler { return e.Handler }

// Desc describes a metric.
func (e *exporter) Desc(ctx context.Context, r *pmda.Request, id pdu.PMID) (pdu.Desc, error) {
	if m := e.metric(id); m != nil {
		return pdu.Desc{PMID: id, Type: m.kind.typ(), InDom: m.indomID(), Sem: m.kind.sem()}, nil
	}
	return e.Handler.Desc(ctx, r, id)
}

// Text returns a text that names the variable of a metric.
func (e *exporter) Text(ctx context.Context, r *pmda.Request, of pdu.TextTarget, kind pdu.TextKind) (string, error) {
	id, _ := of.PMID()
	if m := e.metric(id); m != nil {
		if kind&pdu.TextOneLine != 0 {
			return "Variable of expvar", nil
		}
		return m.help, nil
	}
	return e.Handler.Text(ctx, r, of, kind)
}

// Store refuses to set variables.
func (e *exporter) Store(ctx context.Context, r *pmda.Request, values *pdu.Result) error {
	for _, s := range values.All() {
		if e.metric(s.PMID) != nil {
			return pdu.ErrPermission
		}
	}
	return e.Handler.Store(ctx, r, values)
}

// below returns the part of a name below the root, or false for other names.
func (e *exporter) below(name string) (string, bool) {
	if name == e.root {
		return "", true
	}
	rest, ok := strings.CutPrefix(name, e.root)
	return strings.TrimPrefix(rest, "."), ok && rest[0] == '.'
}

// PMID finds a metric. It reads the variable if the metric is new.
func (e *exporter) PMID(ctx context.Context, r *pmda.Request, name string) (pdu.PMID, error) {
	rest, ok := e.below(name)
	if !ok {
		return e.Handler.PMID(ctx, r, name)
	}
	if err := e.turn.Lock(ctx); err != nil {
		return pdu.NoPMID, err
	}
	defer e.turn.Unlock()
	if e.byName[name] == nil {
		e.list()
		component, _, _ := strings.Cut(rest, ".")
		for _, v := range e.order {
			if v.component == component {
				e.readVariable(ctx, v)
			} else if rest == "" {
				return pdu.NoPMID, pdu.ErrNonLeaf
			}
		}
	}
	if m := e.byName[name]; m != nil {
		return m.pmid(e.agent.Domain), nil
	}
	for other := range e.byName {
		if strings.HasPrefix(other, name+".") {
			return pdu.NoPMID, pdu.ErrNonLeaf
		}
	}
	return pdu.NoPMID, pdu.ErrName
}

// Names returns the name of a metric.
func (e *exporter) Names(ctx context.Context, r *pmda.Request, id pdu.PMID) ([]string, error) {
	m := e.metric(id)
	if m == nil {
		return e.Handler.Names(ctx, r, id)
	}
	if err := e.turn.Lock(ctx); err != nil {
		return nil, err
	}
	defer e.turn.Unlock()
	if e.byName[m.name] != m {
		return nil, pdu.ErrPMID
	}
	return []string{m.name}, nil
}

// Children returns the names one level below a name.
func (e *exporter) Children(ctx context.Context, r *pmda.Request, name string) ([]pmns.Child, error) {
	if _, ok := e.below(name); !ok {
		return e.Handler.Children(ctx, r, name)
	}
	all, err := e.Traverse(ctx, r, name)
	if err != nil {
		return nil, err
	}
	return nextLevel(all, name), nil
}

// Traverse reads the variables at or below a name.
func (e *exporter) Traverse(ctx context.Context, r *pmda.Request, name string) ([]string, error) {
	rest, ok := e.below(name)
	if !ok {
		return e.Handler.Traverse(ctx, r, name)
	}
	if err := e.turn.Lock(ctx); err != nil {
		return nil, err
	}
	defer e.turn.Unlock()
	e.list()
	component, _, _ := strings.Cut(rest, ".")
	var all []string
	for _, v := range e.order {
		if component != "" && v.component != component {
			continue
		}
		e.readVariable(ctx, v)
		for _, m := range v.metrics {
			if rest == "" || m.name == name || strings.HasPrefix(m.name, name+".") {
				all = append(all, m.name)
			}
		}
	}
	if len(all) == 0 && rest != "" {
		return nil, pdu.ErrName
	}
	return all, nil
}

// nextLevel returns the children of name among full names, which must be in tree order.
func nextLevel(all []string, name string) []pmns.Child {
	var out []pmns.Child
	for _, full := range all {
		if full == name {
			continue // a leaf has no children
		}
		component, _, inner := strings.Cut(full[len(name)+1:], ".")
		if n := len(out); n > 0 && out[n-1].Name == component {
			continue
		}
		out = append(out, pmns.Child{Name: component, Leaf: !inner})
	}
	return out
}
