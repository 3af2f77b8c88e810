package pmdatest_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/override"
	"github.com/pcp-go/pcp/pmda/pmdatest"
	"github.com/pcp-go/pcp/pmns"
)

const domain = 251

var (
	hits = pdu.MakePMID(domain, 0, 0)
	size = pdu.MakePMID(domain, 0, 1)
)

// newAgent returns an agent that keeps the contract. It has two kinds of metric, an instance
// domain, texts, labels and a store.
func newAgent(t testing.TB) *pmda.Agent {
	t.Helper()
	a := &pmda.Agent{Name: "cache", Domain: domain, ClusterLabels: map[int]string{1: `{"part":"build"}`}}
	d := &pmda.InDom{Name: "shard", Text: "Shards", Labels: `{"kind":"shard"}`,
		InstanceLabels: func(i pdu.Instance) string { return `{"shard":"` + i.Name + `"}` }}
	_, err := d.SetInstances(pdu.Instance{ID: 1, Name: "red 1"}, pdu.Instance{ID: 4, Name: "blue 2"}, pdu.Instance{ID: 9, Name: "green"})
	errs := []error{err,
		a.Attach(d),
		pmda.Register(a, pmda.Metric[uint64]{Name: "cache.hits", Text: "Hits", Sem: pdu.SemCounter, InDom: d,
			Labels: `{"a":{"b":1}}`,
			Value:  func(_ context.Context, _ *pmda.Request, i pdu.Instance) (uint64, error) { return uint64(i.ID), nil }}),
		pmda.Register(a, pmda.Metric[int32]{Name: "cache.size", Text: "Size", Help: "Size\nin entries.",
			Value: func(context.Context, *pmda.Request, pdu.Instance) (int32, error) { return -1, nil },
			Store: func(context.Context, *pmda.Request, pdu.Instance, int32) error { return nil }}),
		pmda.Register(a, pmda.Metric[string]{Name: "cache.version", Text: "Version", ID: pmda.Item(1, 0), Sem: pdu.SemDiscrete,
			Value: func(context.Context, *pmda.Request, pdu.Instance) (string, error) { return "1.0", nil }}),
		pmda.Register(a, pmda.Metric[[]byte]{Name: "cache.events", Text: "Events", Type: pdu.TypeEvent, Value: events}),
		pmda.Register(a, pmda.Metric[[]byte]{Name: "cache.blob", Text: "Blob",
			Value: func(context.Context, *pmda.Request, pdu.Instance) ([]byte, error) { return []byte("blob"), nil }}),
		a.Err(),
	}
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	return a
}

var eventClock atomic.Int64

// events has a new event for each fetch.
func events(context.Context, *pmda.Request, pdu.Instance) ([]byte, error) {
	var e pdu.EventBuilder
	e.Begin(time.Unix(eventClock.Add(1), 0), 0)
	e.Param(size, pdu.Int32(3))
	a, err := e.Atom()
	return a.Bytes(), err
}

func TestGoodAgent(t *testing.T) {
	pmdatest.Run(t, newAgent(t), pmdatest.Texts())
	if err := pmdatest.Check(newAgent(t), pmdatest.Texts()); err != nil {
		t.Error(err)
	}
}

func TestSerial(t *testing.T) { pmdatest.Run(t, pmda.Serial(newAgent(t))) }

// TestWrapper checks that a struct that embeds a Handler keeps the contract.
func TestWrapper(t *testing.T) {
	pmdatest.Run(t, struct{ pmda.Handler }{newAgent(t)}, pmdatest.Texts())
}

// TestChanging has an instance domain that differs in every request.
func TestChanging(t *testing.T) {
	a := newAgent(t)
	d := a.AddInDom("job")
	n := 0
	step := func(context.Context, *pmda.Request) error {
		n++
		_, err := d.SetNames("job"+string(rune('a'+n%7)), "job"+string(rune('a'+(n+3)%7)))
		return err
	}
	g := a.Group(step)
	d.Group = g
	err := pmda.Register(a, pmda.Metric[int64]{Name: "cache.job", InDom: d, Group: g,
		Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (int64, error) { return int64(i.ID), nil }})
	if err != nil {
		t.Fatal(err)
	}
	pmdatest.Run(t, a, pmdatest.Changing())
}

// dynamic is a Handler whose names are below a dynamic root.
type dynamic struct {
	pmda.Handler
	tree *pmns.Tree // all names
	// These spoil replies, if not nil.
	children func([]pmns.Child) []pmns.Child
	traverse func([]string) []string
}

func newDynamic(t testing.TB) *dynamic {
	a := newAgent(t)
	return &dynamic{Handler: nameless{a}, tree: a.Namespace()}
}

// nameless is an agent without a name space.
type nameless struct{ pmda.Handler }

func (nameless) Namespace() *pmns.Tree { return nil }

// A badWrapper has a wrong Unwrap.
type badWrapper struct {
	pmda.Handler
	inner pmda.Handler
}

func (b *badWrapper) Unwrap() pmda.Handler { return b.inner }

// root returns a name space with all names below one root.
func root(t testing.TB) *pmns.Tree {
	t.Helper()
	var b pmns.Builder
	if err := b.Add("cache", pdu.DynamicRoot(domain)); err != nil {
		t.Fatal(err)
	}
	return b.Tree()
}

func (d *dynamic) PMID(_ context.Context, _ *pmda.Request, name string) (pdu.PMID, error) {
	return d.tree.Lookup(name)
}

func (d *dynamic) Names(_ context.Context, _ *pmda.Request, id pdu.PMID) ([]string, error) {
	if n := d.tree.Names(id); n != nil {
		return n, nil
	}
	return nil, pdu.ErrPMID
}

func (d *dynamic) Children(_ context.Context, _ *pmda.Request, name string) ([]pmns.Child, error) {
	kids, err := d.tree.Children(name)
	if err == nil && d.children != nil {
		kids = d.children(kids)
	}
	return kids, err
}

func (d *dynamic) Traverse(_ context.Context, _ *pmda.Request, name string) ([]string, error) {
	all, err := d.tree.Traverse(name)
	if err != nil {
		return nil, err
	}
	var names []string
	for n := range all {
		names = append(names, n)
	}
	if d.traverse != nil {
		names = d.traverse(names)
	}
	return names, nil
}

func TestDynamic(t *testing.T) { pmdatest.Run(t, newDynamic(t), pmdatest.Names(root(t))) }

// brokenInfo and the types below break methods that have no callback.
type brokenInfo struct {
	*pmda.Agent
	infos []pmda.Info
}

func (b *brokenInfo) Info() pmda.Info {
	i := b.infos[0]
	if len(b.infos) > 1 {
		b.infos = b.infos[1:]
	}
	return i
}

type brokenNames struct {
	*pmda.Agent
	tree func() *pmns.Tree
}

func (b brokenNames) Namespace() *pmns.Tree { return b.tree() }

func tree(t testing.TB, names map[string]pdu.PMID) *pmns.Tree {
	var b pmns.Builder
	for n, id := range names {
		if err := b.Add(n, id); err != nil {
			t.Fatal(err)
		}
	}
	return b.Tree()
}

// fetchWith replaces the reply to a fetch, set by set.
func fetchWith(a *pmda.Agent, set func(w *pdu.ResultWriter, id pdu.PMID) bool) pmda.Handler {
	o := override.In(a)
	o.Fetch = func(ctx context.Context, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
		for _, id := range ids {
			if set(w, id) {
				continue
			}
			if err := o.Next.Fetch(ctx, r, []pdu.PMID{id}, w); err != nil {
				return err
			}
		}
		return nil
	}
	return a
}

// setOf replaces the set of one metric.
func setOf(which pdu.PMID, add func(w *pdu.ResultWriter)) func(*testing.T, *pmda.Agent) pmda.Handler {
	return func(_ *testing.T, a *pmda.Agent) pmda.Handler {
		return fetchWith(a, func(w *pdu.ResultWriter, id pdu.PMID) bool {
			if id != which {
				return false
			}
			w.Begin(id)
			add(w)
			return true
		})
	}
}

// descOf spoils a descriptor.
func descOf(spoil func(d *pdu.Desc)) func(*testing.T, *pmda.Agent) pmda.Handler {
	return func(_ *testing.T, a *pmda.Agent) pmda.Handler {
		o := override.In(a)
		o.Desc = func(ctx context.Context, r *pmda.Request, id pdu.PMID) (pdu.Desc, error) {
			d, err := o.Next.Desc(ctx, r, id)
			if err == nil && id == hits {
				spoil(&d)
			}
			return d, err
		}
		return a
	}
}

// instances replaces the reply to a request for instances.
func instances(reply func(inst pdu.InstID, name string, l []pdu.Instance, err error) ([]pdu.Instance, error)) func(*testing.T, *pmda.Agent) pmda.Handler {
	return func(_ *testing.T, a *pmda.Agent) pmda.Handler {
		o := override.In(a)
		o.Instances = func(ctx context.Context, r *pmda.Request, d pdu.InDom, inst pdu.InstID, name string) ([]pdu.Instance, error) {
			l, err := o.Next.Instances(ctx, r, d, inst, name)
			return reply(inst, name, slices.Clone(l), err)
		}
		return a
	}
}

func list(l ...pdu.Instance) func(*testing.T, *pmda.Agent) pmda.Handler {
	return instances(func(inst pdu.InstID, name string, _ []pdu.Instance, err error) ([]pdu.Instance, error) {
		if inst == pdu.NoInst && name == "" && err == nil {
			return l, nil
		}
		return nil, pdu.ErrInst
	})
}

// labels replaces the sets of a class.
func labels(class pdu.LabelClass, spoil func([]pdu.LabelSet) ([]pdu.LabelSet, error)) func(*testing.T, *pmda.Agent) pmda.Handler {
	return func(_ *testing.T, a *pmda.Agent) pmda.Handler {
		o := override.In(a)
		o.Labels = func(ctx context.Context, r *pmda.Request, of pdu.LabelTarget) ([]pdu.LabelSet, error) {
			sets, err := o.Next.Labels(ctx, r, of)
			if of.Class == class {
				return spoil(sets)
			}
			return sets, err
		}
		return a
	}
}

// children breaks the reply of Children below the dynamic root.
func children(spoil func([]pmns.Child) []pmns.Child) func(*testing.T, *pmda.Agent) pmda.Handler {
	return func(t *testing.T, _ *pmda.Agent) pmda.Handler {
		d := newDynamic(t)
		d.children = spoil
		return d
	}
}

// traversal spoils the names below the dynamic root.
func traversal(spoil func([]string) []string) func(*testing.T, *pmda.Agent) pmda.Handler {
	return func(t *testing.T, _ *pmda.Agent) pmda.Handler {
		d := newDynamic(t)
		d.traverse = spoil
		return d
	}
}

// TestBroken makes every check fail.
func TestBroken(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(t *testing.T, a *pmda.Agent) pmda.Handler
		want  string
	}{
		{"no agent name", func(_ *testing.T, a *pmda.Agent) pmda.Handler {
			return &brokenInfo{a, []pmda.Info{{Domain: domain}}}
		}, "info: Info: no Name"},
		{"bad domain", func(_ *testing.T, a *pmda.Agent) pmda.Handler {
			return &brokenInfo{a, []pmda.Info{{Name: "x", Domain: 511}}}
		}, "info: Info: Domain 511 out of range (0..510)"},
		{"info changes", func(_ *testing.T, a *pmda.Agent) pmda.Handler {
			return &brokenInfo{a, []pmda.Info{{Name: "x", Domain: domain}, {Name: "y", Domain: domain}}}
		}, "it must not change"},
		{"unwraps itself", func(_ *testing.T, a *pmda.Agent) pmda.Handler {
			h := &badWrapper{Handler: a}
			h.inner = h
			return h
		}, "info: Unwrap: more than 100 Handlers"},
		{"unwraps nothing", func(_ *testing.T, a *pmda.Agent) pmda.Handler {
			return &badWrapper{Handler: a}
		}, "info: Unwrap: nil"},
		{"registration failed", func(_ *testing.T, a *pmda.Agent) pmda.Handler {
			_ = pmda.Register(a, pmda.Metric[int32]{Name: "cache.bad"})
			return a
		}, `info: Err: pmda: agent cache: register "cache.bad": has no values`},
		{"no names", func(_ *testing.T, a *pmda.Agent) pmda.Handler { return nameless{a} }, "names: no names"},
		{"new pointer", func(t *testing.T, a *pmda.Agent) pmda.Handler {
			return brokenNames{a, func() *pmns.Tree { return tree(t, map[string]pdu.PMID{"cache.hits": hits}) }}
		}, "names: Namespace: another pointer"},
		{"foreign PMID", func(t *testing.T, a *pmda.Agent) pmda.Handler {
			n := tree(t, map[string]pdu.PMID{"cache.x": pdu.MakePMID(7, 0, 0)})
			return brokenNames{a, func() *pmns.Tree { return n }}
		}, "names: cache.x: PMID 7.0.0 is not of the agent's domain 251"},
		{"foreign root", func(t *testing.T, a *pmda.Agent) pmda.Handler {
			n := tree(t, map[string]pdu.PMID{"cache.x": pdu.DynamicRoot(7)})
			return brokenNames{a, func() *pmns.Tree { return n }}
		}, "names: cache.x: PMID 7.*.* is not"},

		{"no descriptor", func(_ *testing.T, a *pmda.Agent) pmda.Handler {
			o := override.In(a)
			o.Desc = func(context.Context, *pmda.Request, pdu.PMID) (pdu.Desc, error) { return pdu.Desc{}, pdu.ErrPMID }
			return a
		}, "descriptors: cache.hits: Desc(251.0.0): error -12358"},
		{"descriptor of another", descOf(func(d *pdu.Desc) { d.PMID = size }), "descriptors: cache.hits: Desc(251.0.0) is of 251.0.1"},
		{"bad type", descOf(func(d *pdu.Desc) { d.Type = 77 }), "no metric has type 77"},
		{"bad semantics", descOf(func(d *pdu.Desc) { d.Sem = 2 }), "no semantics have number 2"},
		{"bad indom", descOf(func(d *pdu.Desc) { d.InDom = 0 }), "InDom 0.0 is not of the agent's domain 251"},
		{"descriptor changes", func() func(*testing.T, *pmda.Agent) pmda.Handler {
			var n atomic.Uint32
			return descOf(func(d *pdu.Desc) { d.Units = pdu.Units(n.Add(1) << 12) })
		}(), "then {PMID"},
		{"any descriptor", func(_ *testing.T, a *pmda.Agent) pmda.Handler {
			o := override.In(a)
			o.Desc = func(_ context.Context, _ *pmda.Request, id pdu.PMID) (pdu.Desc, error) {
				return pdu.Desc{PMID: id, InDom: pdu.NoInDom, Sem: pdu.SemInstant}, nil
			}
			return a
		}, "descriptors: Desc(251.0.1023) of an unknown metric: got no error, want error -12358"},

		{"no instances", instances(func(pdu.InstID, string, []pdu.Instance, error) ([]pdu.Instance, error) {
			return nil, pdu.ErrInDom
		}), "instances: Instances(251.0): error -12359"},
		{"instance with a line break", list(pdu.Instance{ID: 1, Name: "a\nb"}), `Instances(251.0): instance 1 "a\nb": a name must not`},
		{"instance with a space first", list(pdu.Instance{ID: 1, Name: " a"}), `Instances(251.0): instance 1 " a": a name must not`},
		{"nameless instance", list(pdu.Instance{ID: 1}), "needs a name"},
		{"same id", list(pdu.Instance{ID: 1, Name: "a"}, pdu.Instance{ID: 1, Name: "b"}), `"a" and "b" have the same ID 1`},
		{"same short name", list(pdu.Instance{ID: 1, Name: "a x"}, pdu.Instance{ID: 2, Name: "a y"}), "are the same up to the first space"},
		{"id not found", list(pdu.Instance{ID: 1, Name: "a x"}), "Instances(251.0, 1): error -12360"},
		{"short name not found", instances(func(inst pdu.InstID, name string, l []pdu.Instance, err error) ([]pdu.Instance, error) {
			if name == "red" {
				return nil, pdu.ErrInst
			}
			return l, err
		}), `Instances(251.0, "red"): error -12360`},
		{"wrong name", instances(func(inst pdu.InstID, name string, l []pdu.Instance, err error) ([]pdu.Instance, error) {
			if inst >= 0 && len(l) == 1 {
				l[0].Name = "other"
			}
			return l, err
		}), `want one with the name "red 1"`},
		{"wrong id", instances(func(inst pdu.InstID, name string, l []pdu.Instance, err error) ([]pdu.Instance, error) {
			if name != "" && len(l) == 1 {
				l[0].ID++
			}
			return l, err
		}), "want one with the ID 1"},
		{"finds all ids", instances(func(inst pdu.InstID, name string, l []pdu.Instance, err error) ([]pdu.Instance, error) {
			return l, nil
		}), "of an unknown ID: got no error, want error -12360"},
		{"finds all names", instances(func(inst pdu.InstID, name string, l []pdu.Instance, err error) ([]pdu.Instance, error) {
			return l, nil
		}), "of an unknown name: got no error"},
		{"both", instances(func(inst pdu.InstID, name string, l []pdu.Instance, err error) ([]pdu.Instance, error) {
			return l, nil
		}), "with both: got no error"},
		{"any domain", instances(func(inst pdu.InstID, name string, l []pdu.Instance, err error) ([]pdu.Instance, error) {
			return l, nil
		}), "of an unknown domain: got no error, want error -12359"},

		{"fetch fails", func(_ *testing.T, a *pmda.Agent) pmda.Handler {
			o := override.In(a)
			o.Fetch = func(context.Context, *pmda.Request, []pdu.PMID, *pdu.ResultWriter) error { return pdu.ErrAgain }
			return a
		}, "fetch: Fetch of 5 metrics: error -12389"},
		{"set left out", fetchMissing, "sets: there must be one for each"},
		{"wrong order", func(_ *testing.T, a *pmda.Agent) pmda.Handler {
			o := override.In(a)
			o.Fetch = func(ctx context.Context, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
				sorted := slices.Clone(ids)
				slices.Sort(sorted)
				return o.Next.Fetch(ctx, r, sorted, w)
			}
			return a
		}, "sets come in the order of the request"},
		{"list changed", func(_ *testing.T, a *pmda.Agent) pmda.Handler {
			o := override.In(a)
			o.Fetch = func(ctx context.Context, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
				err := o.Next.Fetch(ctx, r, ids, w)
				slices.Reverse(ids)
				return err
			}
			return a
		}, "it has changed the list of PMIDs"},
		{"profile changed", func(_ *testing.T, a *pmda.Agent) pmda.Handler {
			o := override.In(a)
			o.Fetch = func(ctx context.Context, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
				err := o.Next.Fetch(ctx, r, ids, w)
				if r.Profile != nil {
					r.Profile.Exclude = !r.Profile.Exclude
				}
				return err
			}
			return a
		}, "it has changed the profile"},
		{"request changed", func(_ *testing.T, a *pmda.Agent) pmda.Handler {
			o := override.In(a)
			o.Fetch = func(ctx context.Context, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
				r.Client.User = "root"
				return o.Next.Fetch(ctx, r, ids, w)
			}
			return a
		}, "requests: Fetch: it has changed the request"},
		{"list kept", fetchKept, "it has kept the list of PMIDs"},
		{"cancelled", func(_ *testing.T, a *pmda.Agent) pmda.Handler {
			o := override.In(a)
			o.Fetch = func(ctx context.Context, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
				if ctx.Err() != nil {
					return nil
				}
				return o.Next.Fetch(ctx, r, ids, w)
			}
			return a
		}, "neither an error nor a reply"},
		{"unwritable", func(_ *testing.T, a *pmda.Agent) pmda.Handler {
			o := override.In(a)
			o.Fetch = func(ctx context.Context, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
				w.Time = time.Unix(1<<40, 0)
				return o.Next.Fetch(ctx, r, ids, w)
			}
			return a
		}, "the result cannot be sent as RESULT"},
		{"unknown in fetch", setOf(hits, func(w *pdu.ResultWriter) { w.Fail(pdu.ErrPMID) }), "cache.hits: Fetch: error -12358"},
		{"IPC in fetch", setOf(hits, func(w *pdu.ResultWriter) { w.Fail(pdu.ErrIPC) }), "takes this for a broken connection"},
		{"unknown with values", func(_ *testing.T, a *pmda.Agent) pmda.Handler {
			return fetchWith(a, func(w *pdu.ResultWriter, id pdu.PMID) bool {
				if id.Cluster() == pdu.MaxCluster {
					w.Begin(id)
					return true
				}
				return false
			})
		}, "of the unknown metric 251.4095.1023: got no error, want error -12358"},
		{"two values", setOf(size, func(w *pdu.ResultWriter) { w.Int32(-1, 1); w.Int32(-1, 2) }), "cache.size: Fetch: two values of instance -1"},
		{"instance of singular", setOf(size, func(w *pdu.ResultWriter) { w.Int32(3, 1) }), "but the metric is singular"},
		{"unlisted instance", setOf(hits, func(w *pdu.ResultWriter) { w.Uint64(77, 1) }), "instance 77, which Instances(251.0) does not list"},
		{"profile ignored", setOf(hits, func(w *pdu.ResultWriter) { w.Uint64(1, 1) }), "profile: cache.hits: Fetch: a value of instance 1, which the profile excludes"},
		{"wrong block type", setOf(hits, func(w *pdu.ResultWriter) { w.Float64(1, 1) }), "has type DOUBLE, the descriptor U64"},
		{"wrong place", setOf(hits, func(w *pdu.ResultWriter) { w.Uint32(1, 1) }), "cache.hits: Fetch: the value of instance 1 is an integer of 32 bits, the descriptor has type U64 (uint64)"},
		{"bad events", setOf(pdu.MakePMID(domain, 0, 2), func(w *pdu.ResultWriter) {
			w.Bytes(pdu.TypeEvent, -1, []byte{0, 0, 0, 9})
		}), "cache.events: Fetch: the value of instance -1"},
		{"values of an unsupported metric", descOf(func(d *pdu.Desc) { d.Type = pdu.TypeNoSupport }), "values of a metric that is not supported"},
		{"profile on instances", func(_ *testing.T, a *pmda.Agent) pmda.Handler {
			o := override.In(a)
			o.Instances = func(ctx context.Context, r *pmda.Request, d pdu.InDom, inst pdu.InstID, name string) ([]pdu.Instance, error) {
				l, err := o.Next.Instances(ctx, r, d, inst, name)
				if r.Profile != nil && err == nil {
					l = l[:1]
				}
				return l, err
			}
			return a
		}, "profile: Instances(251.0) with a profile: 1 of 3"},

		{"no text", text(func(string, error) (string, error) { return "", pdu.ErrText }), "text: cache.hits: Text(oneline): error -12349"},
		{"text of unknown", text(func(s string, err error) (string, error) { return s, nil }), "of an unknown metric: got no error, want error -12349"},
		{"text error", text(func(s string, err error) (string, error) { return "", pdu.ErrNYI }), "Text(help): error -21344"},
		{"two lines", text(func(s string, err error) (string, error) { return s + "\n", err }), "has characters that it cannot have"},
		{"text of unknown domain", func(_ *testing.T, a *pmda.Agent) pmda.Handler {
			o := override.In(a)
			o.Text = func(ctx context.Context, r *pmda.Request, of pdu.TextTarget, k pdu.TextKind) (string, error) {
				if _, ok := of.InDom(); ok {
					return "some", nil
				}
				return o.Next.Text(ctx, r, of, k)
			}
			return a
		}, "of an unknown instance domain: got no error"},

		{"labels fail", labels(pdu.LabelItem, func([]pdu.LabelSet) ([]pdu.LabelSet, error) { return nil, pdu.ErrText }), "labels: Labels(metric 251.0.0): error -12349"},
		{"unknown label IPC", func(_ *testing.T, a *pmda.Agent) pmda.Handler {
			o := override.In(a)
			o.Labels = func(ctx context.Context, r *pmda.Request, of pdu.LabelTarget) ([]pdu.LabelSet, error) {
				if of.PMID().Cluster() == pdu.MaxCluster {
					return nil, pdu.ErrIPC
				}
				return o.Next.Labels(ctx, r, of)
			}
			return a
		}, "labels: Labels(metric 251.4095.1023): error -12366 (IPC protocol failure): a collector takes this for a broken connection"},
		{"two label sets", labels(pdu.LabelDomain, func(s []pdu.LabelSet) ([]pdu.LabelSet, error) { return append(s, s...), nil }), "2 sets, want at most one"},
		{"label instance", labels(pdu.LabelDomain, func(s []pdu.LabelSet) ([]pdu.LabelSet, error) { s[0].Inst = 0; return s, nil }), "Inst is 0, want pdu.NoInst"},
		{"unsendable labels", labels(pdu.LabelDomain, func(s []pdu.LabelSet) ([]pdu.LabelSet, error) {
			s[0].Labels[0].ValueOff = 999
			return s, nil
		}), "the sets cannot be sent"},
		{"label error", labels(pdu.LabelDomain, func(s []pdu.LabelSet) ([]pdu.LabelSet, error) { s[0].Err = 3; return s, nil }), "a set with error 3 and 1 labels"},
		{"bad JSON", labels(pdu.LabelDomain, func(s []pdu.LabelSet) ([]pdu.LabelSet, error) {
			s[0].JSON[0] = '['
			return s, nil
		}), `labels: Labels(domain 251): instance -1: "[\"agent`},
		{"missing index", labels(pdu.LabelDomain, func(s []pdu.LabelSet) ([]pdu.LabelSet, error) { s[0].Labels = nil; return s, nil }), "has 1 labels, the index 0"},
		{"wrong class", labels(pdu.LabelItem, func(s []pdu.LabelSet) ([]pdu.LabelSet, error) {
			if len(s) > 0 {
				s[0].Labels[0].Flags = pdu.LabelFlags(pdu.LabelCluster)
			}
			return s, nil
		}), "a label has flags 0x8, want the class"},
		{"wrong index", labels(pdu.LabelDomain, func(s []pdu.LabelSet) ([]pdu.LabelSet, error) { s[0].Labels[0].ValueOff--; return s, nil }), "the index says agent: :"},
		{"labels twice", labels(pdu.LabelInstances, func(s []pdu.LabelSet) ([]pdu.LabelSet, error) { return append(s, s...), nil }), "two sets of instance 1"},
		{"labels of unlisted", labels(pdu.LabelInstances, func(s []pdu.LabelSet) ([]pdu.LabelSet, error) { s[0].Inst = 77; return s, nil }), "a set of instance 77, which is not listed"},
		{"labels ignore profile", labels(pdu.LabelInstances, func(s []pdu.LabelSet) ([]pdu.LabelSet, error) { s[0].Inst = 4; return s[:1], nil }), "a set of instance 4, which the profile excludes"},

		{"names of unknown", func(_ *testing.T, a *pmda.Agent) pmda.Handler {
			o := override.In(a)
			o.Names = func(context.Context, *pmda.Request, pdu.PMID) ([]string, error) { return []string{"x"}, nil }
			return a
		}, "dynamic names: Names(251.0.1023) of an unknown metric: got no error"},
		{"PMID of unknown", func(_ *testing.T, a *pmda.Agent) pmda.Handler {
			o := override.In(a)
			o.PMID = func(context.Context, *pmda.Request, string) (pdu.PMID, error) { return size, nil }
			return a
		}, `PMID("no_such.metric.of.pmdatest"): got no error, want error -12357`},
		{"children of unknown", func(_ *testing.T, a *pmda.Agent) pmda.Handler {
			o := override.In(a)
			o.Children = func(context.Context, *pmda.Request, string) ([]pmns.Child, error) { return nil, nil }
			return a
		}, `Children("no_such.metric.of.pmdatest"): got no error`},
		{"traversal of unknown", func(_ *testing.T, a *pmda.Agent) pmda.Handler {
			o := override.In(a)
			o.Traverse = func(context.Context, *pmda.Request, string) ([]string, error) { return nil, nil }
			return a
		}, `Traverse("no_such.metric.of.pmdatest"): got no error`},
		{"no children", func(t *testing.T, a *pmda.Agent) pmda.Handler {
			n := root(t)
			return brokenNames{a, func() *pmns.Tree { return n }}
		}, `Traverse("cache"): error -12357`},
		{"child elsewhere", traversal(func(names []string) []string {
			names[0] = "other." + names[0]
			return names
		}), `"other.cache.hits" is not below it`},
		{"child without PMID", traversal(func(names []string) []string {
			names[0] += ".more"
			return names
		}), `PMID("cache.hits.more"): error -12357`},
		{"child unknown to traversal", children(func(l []pmns.Child) []pmns.Child {
			l[0].Name = "more"
			return l
		}), `"more" is no component below it`},
		{"leaf said to be inner", children(func(l []pmns.Child) []pmns.Child { l[0].Leaf = false; return l }), `"hits" has Leaf false, but Traverse says otherwise`},
		{"no names of PMID", func(t *testing.T, _ *pmda.Agent) pmda.Handler { return noNames{newDynamic(t)} }, `Names(251.0.0): [] (error -12358`},

		{"stores all", func(_ *testing.T, a *pmda.Agent) pmda.Handler {
			o := override.In(a)
			o.Store = func(context.Context, *pmda.Request, *pdu.Result) error { return nil }
			return a
		}, "store: Store of the unknown metric 251.0.1023: no error"},
		{"store IPC", func(_ *testing.T, a *pmda.Agent) pmda.Handler {
			o := override.In(a)
			o.Store = func(context.Context, *pmda.Request, *pdu.Result) error { return pdu.ErrIPC }
			return a
		}, "store: cache.hits: Store: error -12366 (IPC protocol failure): a collector takes this for a broken connection"},
		{"store panics", func(_ *testing.T, a *pmda.Agent) pmda.Handler {
			o := override.In(a)
			o.Store = func(_ context.Context, _ *pmda.Request, v *pdu.Result) error {
				for _, s := range v.All() {
					_ = s.Atom(7, pdu.TypeU32)
				}
				return pdu.ErrPermission
			}
			return a
		}, "store: cache.hits: Store: panic: "},

		{"end of client", func(_ *testing.T, a *pmda.Agent) pmda.Handler {
			var gone sync.Map
			a.OnEndClient(func(c *pmda.Client) {
				if _, again := gone.LoadOrStore(c.Seq, true); again {
					panic("it has gone")
				}
			})
			return a
		}, "EndClient: panic: it has gone"},
		{"concurrency", func(_ *testing.T, a *pmda.Agent) pmda.Handler {
			seen := map[uint32]bool{}
			for n := range uint32(4) {
				seen[n] = n != 0
			}
			o := override.In(a)
			o.Desc = func(ctx context.Context, r *pmda.Request, id pdu.PMID) (pdu.Desc, error) {
				if seen[r.Client.ID] {
					return pdu.Desc{}, pdu.ErrAgain
				}
				return o.Next.Desc(ctx, r, id)
			}
			return a
		}, "concurrency: cache.hits: Desc among concurrent requests: error -12389"},
	} {
		t.Run(c.name, func(t *testing.T) {
			opts := []pmdatest.Option{pmdatest.Texts()}
			h := c.spoil(t, newAgent(t))
			if h.Namespace() == nil && c.name != "no names" {
				opts = append(opts, pmdatest.Names(root(t)))
			}
			err := pmdatest.Check(h, opts...)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Check:\n%v\nwant among it: %s", err, c.want)
			}
		})
	}
}

// noNames returns no names for a PMID.
type noNames struct{ *dynamic }

func (noNames) Names(context.Context, *pmda.Request, pdu.PMID) ([]string, error) {
	return nil, pdu.ErrPMID
}

func text(spoil func(string, error) (string, error)) func(*testing.T, *pmda.Agent) pmda.Handler {
	return func(_ *testing.T, a *pmda.Agent) pmda.Handler {
		o := override.In(a)
		o.Text = func(ctx context.Context, r *pmda.Request, of pdu.TextTarget, k pdu.TextKind) (string, error) {
			return spoil(o.Next.Text(ctx, r, of, k))
		}
		return a
	}
}

// fetchMissing leaves unknown metrics out of the result.
func fetchMissing(_ *testing.T, a *pmda.Agent) pmda.Handler {
	o := override.In(a)
	o.Fetch = func(ctx context.Context, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
		known := slices.DeleteFunc(slices.Clone(ids), func(id pdu.PMID) bool { return id.Item() == pdu.MaxItem })
		return o.Next.Fetch(ctx, r, known, w)
	}
	return a
}

// fetchKept repeats the last reply if the list of PMIDs is the same as before. It compares with
// the caller's previous list, which it keeps. It does so only with lists of one PMID, because no
// rule makes such requests concurrently.
func fetchKept(_ *testing.T, a *pmda.Agent) pmda.Handler {
	var kept, copied []pdu.PMID
	o := override.In(a)
	o.Fetch = func(ctx context.Context, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
		if len(ids) != 1 {
			return o.Next.Fetch(ctx, r, ids, w)
		}
		if !slices.Equal(kept, ids) {
			kept, copied = ids, slices.Clone(ids)
		}
		return o.Next.Fetch(ctx, r, copied, w)
	}
	return a
}

// TestManyErrors checks that a mistake that breaks everything does not flood the report.
func TestManyErrors(t *testing.T) {
	err := pmdatest.Check(pmda.Unimplemented(pmda.Info{Name: "none", Domain: domain}), pmdatest.Names(func() *pmns.Tree {
		names := map[string]pdu.PMID{}
		for i := range 100 {
			names["n"+string(rune('a'+i/10))+string(rune('a'+i%10))] = pdu.MakePMID(domain, 0, i)
		}
		return tree(t, names)
	}()))
	if err == nil || !strings.Contains(err.Error(), "and 88 more") || strings.Count(err.Error(), "\n") > 40 {
		t.Errorf("Check: %v", err)
	}
}

// TestNil checks that a nil Handler is one error, not one for every rule.
func TestNil(t *testing.T) {
	for _, tt := range []struct {
		h    pmda.Handler
		want string
	}{
		{nil, "the Handler is nil"},
		{(*pmda.Agent)(nil), "the *Agent is nil"},
	} {
		if err := pmdatest.Check(tt.h); err == nil || err.Error() != tt.want {
			t.Errorf("%T: error %v, want %s", tt.h, err, tt.want)
		}
	}
}

// TestNotReady checks that a Handler that starts not ready is checked once it is ready, and not at
// all if it never becomes ready.
func TestNotReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAgent(t)
		a.StartsNotReady = true
		err := pmdatest.Check(a)
		if want := "the Handler has not become ready within 5s: call Agent.SetReady(true) before the test"; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		time.AfterFunc(time.Second, func() { a.SetReady(true) })
		if err := pmdatest.Check(a); err != nil {
			t.Error(err)
		}
	})
}
