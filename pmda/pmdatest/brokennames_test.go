package pmdatest_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/override"
	"github.com/pcp-go/pcp/pmda/pmdatest"
	"github.com/pcp-go/pcp/pmns"
)

// A broken is an agent with a mistake that authors make.
type broken struct {
	name string
	make func(t *testing.T) (pmda.Handler, []pmdatest.Option)
	want string // a part of the error of Check
}

// wantFaults checks that Check finds the fault of each agent.
func wantFaults(t *testing.T, agents []broken) {
	t.Helper()
	for _, b := range agents {
		t.Run(b.name, func(t *testing.T) {
			h, opts := b.make(t)
			if err := pmdatest.Check(h, opts...); err == nil || !strings.Contains(err.Error(), b.want) {
				t.Errorf("Check:\n%v\nwant among it: %s", err, b.want)
			}
		})
	}
}

// TestPMIDs checks the reports about PMIDs that are not those of the option.
func TestPMIDs(t *testing.T) {
	agent := func() *pmda.Agent {
		return oneMetric(t, func(a *pmda.Agent) error {
			return pmda.Register(a, pmda.Metric[int32]{Name: "cache.y", Text: "A Y", Value: always[int32](1)})
		})
	}
	if err := pmdatest.Check(agent(), pmdatest.PMIDs("# all\n\ncache.x 251.0.0\ncache.y  251.0.1\n")); err != nil {
		t.Error(err)
	}
	err := pmdatest.Check(agent(), pmdatest.PMIDs("cache.x 251.0.7\ncache.z 251.0.2\ncache.y\n"))
	const want = "PMIDs: line \"cache.y\": want a name and a PMID\n" +
		"PMIDs: cache.x has the PMID 251.0.0, want 251.0.7: archives and clients know it by that; set Metric.ID\n" +
		"PMIDs: cache.y is not pinned: add the line\ncache.y 251.0.1\n" +
		"PMIDs: cache.z 251.0.2 is pinned, but there is no such metric: remove its line if it is gone on purpose"
	if err == nil || err.Error() != want {
		t.Errorf("%v\nwant\n%s", err, want)
	}
}

// oneMetric returns an agent with the metric cache.x and the metrics that add registers.
func oneMetric(t *testing.T, add ...func(a *pmda.Agent) error) *pmda.Agent {
	t.Helper()
	a := &pmda.Agent{Name: "cache", Domain: domain, Logger: slog.New(slog.DiscardHandler)}
	if err := pmda.Register(a, pmda.Metric[int32]{Name: "cache.x", ID: pmda.Item(0, 0), Text: "An X", Value: always[int32](1)}); err != nil {
		t.Fatal(err)
	}
	for _, f := range add {
		if err := f(a); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

func always[T pdu.Scalar](v T) func(context.Context, *pmda.Request, pdu.Instance) (T, error) {
	return func(context.Context, *pmda.Request, pdu.Instance) (T, error) { return v, nil }
}

// Names below a dynamic root

// deepNames is a Handler whose names are below a dynamic root at several levels. Its functions, if
// not nil, spoil replies.
type deepNames struct {
	*dynamic
	pmid  func(name string, id pdu.PMID, err error) (pdu.PMID, error)
	names func(id pdu.PMID, names []string) []string
	kids  func(name string, kids []pmns.Child) []pmns.Child
	trav  func(name string, names []string) []string

	failKids string // the name without children
}

func newDeepNames(t *testing.T) *deepNames {
	t.Helper()
	d := newDynamic(t)
	var b pmns.Builder
	for name, id := range d.tree.All() {
		if err := b.Add(strings.Replace(name, "cache.", "cache.part.of.", 1), id); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Add("cache.hits", hits); err != nil {
		t.Fatal(err)
	}
	d.tree = b.Tree()
	return &deepNames{dynamic: d}
}

func (d *deepNames) PMID(ctx context.Context, r *pmda.Request, name string) (pdu.PMID, error) {
	id, err := d.dynamic.PMID(ctx, r, name)
	if d.pmid != nil {
		return d.pmid(name, id, err)
	}
	return id, err
}

func (d *deepNames) Names(ctx context.Context, r *pmda.Request, id pdu.PMID) ([]string, error) {
	names, err := d.dynamic.Names(ctx, r, id)
	if d.names != nil && err == nil {
		names = d.names(id, slices.Clone(names))
	}
	return names, err
}

func (d *deepNames) Children(ctx context.Context, r *pmda.Request, name string) ([]pmns.Child, error) {
	kids, err := d.dynamic.Children(ctx, r, name)
	if name == d.failKids && name != "" {
		return nil, pdu.ErrName
	}
	if d.kids != nil && err == nil {
		kids = d.kids(name, slices.Clone(kids))
	}
	return kids, err
}

func (d *deepNames) Traverse(ctx context.Context, r *pmda.Request, name string) ([]string, error) {
	names, err := d.dynamic.Traverse(ctx, r, name)
	if d.trav != nil && err == nil {
		names = d.trav(name, names)
	}
	return names, err
}

// deep returns an agent whose names are spoiled.
func deep(spoil func(d *deepNames)) func(t *testing.T) (pmda.Handler, []pmdatest.Option) {
	return func(t *testing.T) (pmda.Handler, []pmdatest.Option) {
		d := newDeepNames(t)
		spoil(d)
		return d, []pmdatest.Option{pmdatest.Names(root(t))}
	}
}

func TestDeepNames(t *testing.T) {
	pmdatest.Run(t, newDeepNames(t), pmdatest.Names(root(t)), pmdatest.Texts())
}

func TestBrokenNames(t *testing.T) {
	wantFaults(t, []broken{
		{"names and traversal disagree", deep(func(d *deepNames) {
			d.names = func(id pdu.PMID, names []string) []string {
				if id == size {
					return []string{"cache.hits"}
				}
				return names
			}
		}), `dynamic names: Names(251.0.1): ["cache.hits"] (no error), want "cache.part.of.size" among them`},
		{"an old name among the names", deep(func(d *deepNames) {
			d.names = func(id pdu.PMID, names []string) []string { return append(names, "cache.before") }
		}), `Names(251.0.0): "cache.before", but that name is `},
		{"a level without children", deep(func(d *deepNames) {
			d.kids = func(name string, kids []pmns.Child) []pmns.Child {
				if name == "cache.part" {
					return nil
				}
				return kids
			}
		}), `Children: "cache.part.of.size" cannot be reached from the dynamic root "cache" level by level, but Traverse gives it`},
		{"children that fail", deep(func(d *deepNames) {
			d.failKids = "cache.part"
		}), `Children("cache.part"): error -12357 (Unknown metric name), but Traverse gives names below it`},
		{"children two levels down", deep(func(d *deepNames) {
			d.kids = func(name string, kids []pmns.Child) []pmns.Child {
				if name == "cache" {
					return []pmns.Child{{Name: "part.of"}, {Name: "hits", Leaf: true}}
				}
				return kids
			}
		}), `Children("cache"): "part.of" is no component below it`},
		{"a child twice", deep(func(d *deepNames) {
			d.kids = func(_ string, kids []pmns.Child) []pmns.Child { return append(kids, kids...) }
		}), `Children("cache"): "part" comes twice`},
		{"an inner name with a PMID", deep(func(d *deepNames) {
			d.pmid = func(name string, id pdu.PMID, err error) (pdu.PMID, error) {
				if name == "cache.part" {
					return size, nil
				}
				return id, err
			}
		}), `PMID("cache.part"): 251.0.1 (no error), but there are names below it: want pdu.ErrNonLeaf`},
		{"PMIDs without the domain", deep(func(d *deepNames) {
			d.pmid = func(_ string, id pdu.PMID, err error) (pdu.PMID, error) {
				return pdu.MakePMID(0, id.Cluster(), id.Item()), err
			}
		}), `PMID("cache.part.of.hits"): 0.0.0 is of no agent: metrics of this one have domain 251`},
		{"every name below the root is a metric", deep(func(d *deepNames) {
			d.pmid = func(_ string, id pdu.PMID, err error) (pdu.PMID, error) {
				if err == pdu.ErrName {
					return size, nil
				}
				return id, err
			}
		}), `PMID("cache.no_such.metric.of.pmdatest"): got no error, want error -12357`},
		{"ErrPMID for a name", deep(func(d *deepNames) {
			d.pmid = func(_ string, id pdu.PMID, err error) (pdu.PMID, error) {
				if err != nil {
					err = pdu.ErrPMID
				}
				return id, err
			}
		}), `PMID("no_such.metric.of.pmdatest"): got error -12358 (Unknown or illegal metric identifier), want error -12357`},
		{"a metric cannot be traversed", deep(func(d *deepNames) {
			d.trav = func(name string, names []string) []string {
				return slices.DeleteFunc(names, func(n string) bool { return n == name })
			}
		}), `Traverse("cache.part.of.hits"): [] (no error), want the name itself, since it is a metric`},
		{"an inner name gives all", deep(func(d *deepNames) {
			all := slices.Collect(func(yield func(string) bool) {
				for n := range d.tree.All() {
					if !yield(n) {
						return
					}
				}
			})
			d.trav = func(name string, names []string) []string {
				if name == "cache.part" {
					return all
				}
				return names
			}
		}), `Traverse("cache.part"): ["cache.part.of.hits"`},
		{"a name twice", deep(func(d *deepNames) {
			d.trav = func(_ string, names []string) []string { return append(names, names[0]) }
		}), `Traverse("cache"): "cache.part.of.hits" comes twice`},
		{"names come and go", deep(func(d *deepNames) {
			var n atomic.Int32
			d.trav = func(name string, names []string) []string {
				if name == "cache" && n.Add(1)%2 == 0 {
					return names[1:]
				}
				return names
			}
		}), `if names change by themselves, say so with Changing`},
	})
}

// Names that change

// changing returns an agent and a function that adds and removes a metric in turn.
func changing(t *testing.T) (*pmda.Agent, func()) {
	a := oneMetric(t)
	there := false
	y := pmda.Metric[int32]{Name: "cache.y", Text: "A Y", Value: always[int32](2)}
	return a, func() {
		if there = !there; !there {
			_ = a.Remove("cache.y")
		} else if err := pmda.Register(a, y); err != nil {
			t.Error(err)
		}
	}
}

// deepChanging has a dynamic metric that comes and goes.
type deepChanging struct {
	*deepNames
	mu      sync.Mutex
	without *pmns.Tree
	changed bool // clients have not been notified yet
	changes int
}

func newDeepChanging(t *testing.T) *deepChanging {
	d := &deepChanging{deepNames: newDeepNames(t)}
	var b pmns.Builder
	for name, id := range d.tree.All() {
		if name != "cache.part.of.size" {
			_ = b.Add(name, id)
		}
	}
	d.without = b.Tree()
	return d
}

func (d *deepChanging) change() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tree, d.without, d.changed = d.without, d.tree, true
	d.changes++
}

// now returns the Handler with the current names.
func (d *deepChanging) now() *dynamic {
	d.mu.Lock()
	defer d.mu.Unlock()
	return &dynamic{Handler: d.Handler, tree: d.tree}
}

func (d *deepChanging) PMID(ctx context.Context, r *pmda.Request, name string) (pdu.PMID, error) {
	return d.now().PMID(ctx, r, name)
}

func (d *deepChanging) Names(ctx context.Context, r *pmda.Request, id pdu.PMID) ([]string, error) {
	return d.now().Names(ctx, r, id)
}

func (d *deepChanging) Children(ctx context.Context, r *pmda.Request, name string) ([]pmns.Child, error) {
	return d.now().Children(ctx, r, name)
}

func (d *deepChanging) Traverse(ctx context.Context, r *pmda.Request, name string) ([]string, error) {
	return d.now().Traverse(ctx, r, name)
}

func (d *deepChanging) Desc(ctx context.Context, r *pmda.Request, id pdu.PMID) (pdu.Desc, error) {
	if d.now().tree.Names(id) == nil {
		return pdu.Desc{}, pdu.ErrPMID
	}
	return d.Handler.Desc(ctx, r, id)
}

func (d *deepChanging) Text(ctx context.Context, r *pmda.Request, of pdu.TextTarget, kind pdu.TextKind) (string, error) {
	if id, ok := of.PMID(); ok && d.now().tree.Names(id) == nil {
		return "", pdu.ErrText
	}
	return d.Handler.Text(ctx, r, of, kind)
}

func (d *deepChanging) Fetch(ctx context.Context, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
	d.mu.Lock()
	tree := d.tree
	if d.changed {
		w.Changed |= pdu.ChangeNames
	}
	d.changed = false
	d.mu.Unlock()
	for i, id := range ids {
		if tree.Names(id) == nil {
			w.Begin(id)
			w.Fail(pdu.ErrPMID)
		} else if err := d.Handler.Fetch(ctx, r, ids[i:i+1], w); err != nil {
			return err
		}
	}
	return nil
}

func TestChangingNames(t *testing.T) {
	a, change := changing(t)
	pmdatest.Run(t, a, pmdatest.ChangeNames(change))
	d := newDeepChanging(t)
	pmdatest.Run(t, d, pmdatest.Names(root(t)), pmdatest.ChangeNames(d.change))
}

// changingBadly returns the agent of changing with a mistake.
func changingBadly(spoil func(a *pmda.Agent) pmda.Handler) func(t *testing.T) (pmda.Handler, []pmdatest.Option) {
	return func(t *testing.T) (pmda.Handler, []pmdatest.Option) {
		a, change := changing(t)
		return spoil(a), []pmdatest.Option{pmdatest.ChangeNames(change)}
	}
}

// fetching replaces a Handler's Fetch.
type fetching struct {
	pmda.Handler
	fetch func(h pmda.Handler, ctx context.Context, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error
}

func (f fetching) Fetch(ctx context.Context, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
	return f.fetch(f.Handler, ctx, r, ids, w)
}

// afterFetch spoils the reply to each fetch.
func afterFetch(h pmda.Handler, spoil func(w *pdu.ResultWriter)) pmda.Handler {
	return fetching{h, func(h pmda.Handler, ctx context.Context, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
		err := h.Fetch(ctx, r, ids, w)
		spoil(w)
		return err
	}}
}

// duringChanges returns an agent whose traversals are wrong while its names change quickly.
func duringChanges(spoil func(d *deepChanging) pmda.Handler) func(t *testing.T) (pmda.Handler, []pmdatest.Option) {
	return func(t *testing.T) (pmda.Handler, []pmdatest.Option) {
		d := newDeepChanging(t)
		return spoil(d), []pmdatest.Option{pmdatest.Names(root(t)), pmdatest.ChangeNames(d.change)}
	}
}

// traversing spoils traversals once names have changed more than four times.
type traversing struct {
	*deepChanging
	spoil func(names []string) ([]string, error)
}

func (h traversing) Traverse(ctx context.Context, r *pmda.Request, name string) ([]string, error) {
	names, err := h.deepChanging.Traverse(ctx, r, name)
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil && h.changes > 4 {
		return h.spoil(names)
	}
	return names, err
}

// foundNames finds names even after they have been removed.
type foundNames struct {
	*deepChanging
	all *pmns.Tree
}

func (f foundNames) PMID(_ context.Context, _ *pmda.Request, name string) (pdu.PMID, error) {
	return f.all.Lookup(name)
}

func TestBrokenChanges(t *testing.T) {
	old := pdu.Desc{PMID: size, Type: pdu.Type32, InDom: pdu.NoInDom, Sem: pdu.SemInstant}
	wantFaults(t, []broken{
		{"clients are not told", changingBadly(func(a *pmda.Agent) pmda.Handler {
			return afterFetch(a, func(w *pdu.ResultWriter) { w.Changed = 0 })
		}), "changed names: Fetch: the first after names have changed does not have pdu.ChangeNames in Changed: clients keep the old names"},
		{"clients are told all the time", changingBadly(func(a *pmda.Agent) pmda.Handler {
			return afterFetch(a, func(w *pdu.ResultWriter) { w.Changed |= pdu.ChangeNames })
		}), "fetch: Fetch: each of 4 tells of a change of names: clear Changed once clients have been told"},
		{"clients are told of a new agent", changingBadly(func(a *pmda.Agent) pmda.Handler {
			return afterFetch(a, func(w *pdu.ResultWriter) { w.Changed |= pdu.ChangeAddAgent })
		}), "fetch: Fetch: Changed has add agent: an agent tells of labels and names alone"},
		{"the names of the beginning", changingBadly(func(a *pmda.Agent) pmda.Handler {
			tree := a.Namespace()
			return &brokenNames{a, func() *pmns.Tree { return tree }}
		}), "changed names: names: none has changed: the function of ChangeNames has no effect"},
		{"a removed metric has a descriptor", changingBadly(func(a *pmda.Agent) pmda.Handler {
			o := override.In(a)
			o.Desc = func(ctx context.Context, r *pmda.Request, id pdu.PMID) (pdu.Desc, error) {
				if id == size {
					return old, nil
				}
				return o.Next.Desc(ctx, r, id)
			}
			return a
		}), "changed names: cache.y: Desc(251.0.1) of a metric that has been removed: got no error, want error -12358"},
		{"a removed metric has values", changingBadly(func(a *pmda.Agent) pmda.Handler {
			return fetchWith(a, func(w *pdu.ResultWriter, id pdu.PMID) bool {
				if id == size {
					w.Begin(id)
					w.Int32(pdu.NoInst, 2)
				}
				return id == size
			})
		}), "changed names: cache.y: Fetch: the set of a metric that has been removed: got no error, want error -12358"},
		{"a metric changes with the names", changingBadly(func(a *pmda.Agent) pmda.Handler {
			o := override.In(a)
			o.Desc = func(ctx context.Context, r *pmda.Request, id pdu.PMID) (pdu.Desc, error) {
				d, err := o.Next.Desc(ctx, r, id)
				if a.Namespace().Len() > 1 && id == hits {
					d.Units = pdu.TimeSec
				}
				return d, err
			}
			return a
		}), "a metric with another descriptor needs another PMID"},
		{"a new metric without a descriptor", changingBadly(func(a *pmda.Agent) pmda.Handler {
			o := override.In(a)
			o.Desc = func(ctx context.Context, r *pmda.Request, id pdu.PMID) (pdu.Desc, error) {
				if id == size {
					return pdu.Desc{}, pdu.ErrPMID
				}
				return o.Next.Desc(ctx, r, id)
			}
			return a
		}), "changed names: cache.y: Desc(251.0.1): error -12358 (Unknown or illegal metric identifier) after names have changed"},
		{"fetches fail after a change", changingBadly(func(a *pmda.Agent) pmda.Handler {
			return fetching{a, func(h pmda.Handler, ctx context.Context, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
				if a.Namespace().Len() > 1 {
					return pdu.ErrAgain
				}
				return h.Fetch(ctx, r, ids, w)
			}}
		}), "changed names: Fetch"},
		{"names of two states", duringChanges(func(d *deepChanging) pmda.Handler {
			return traversing{d, func(names []string) ([]string, error) { return append(names, names[0]), nil }}
		}), `changed names: Traverse("cache") while names change: "cache.part.of.hits" comes twice: a traversal is of one state`},
		{"a traversal that gives up", duringChanges(func(d *deepChanging) pmda.Handler {
			return traversing{d, func([]string) ([]string, error) { return nil, pdu.ErrAgain }}
		}), "changed names: Traverse(cache) while names change: error -12389 (Try again. Information not currently available), want -12357"},
		{"a removed name is found", func(t *testing.T) (pmda.Handler, []pmdatest.Option) {
			d := newDeepChanging(t)
			return foundNames{d, d.tree}, []pmdatest.Option{pmdatest.Names(root(t)), pmdatest.ChangeNames(d.change)}
		}, `changed names: PMID("cache.part.of.size"), which has been removed: got no error, want error -12357`},
	})
}
