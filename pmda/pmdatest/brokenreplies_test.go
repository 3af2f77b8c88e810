package pmdatest_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
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
)

// spoiled returns the agent of newAgent with a mistake.
func spoiled(spoil func(t *testing.T, a *pmda.Agent) pmda.Handler, opts ...pmdatest.Option) func(t *testing.T) (pmda.Handler, []pmdatest.Option) {
	return func(t *testing.T) (pmda.Handler, []pmdatest.Option) { return spoil(t, newAgent(t)), opts }
}

// handmade returns a label set with a text that pdu.ParseLabels would refuse.
func handmade(json string) []pdu.LabelSet {
	l := pdu.Label{NameOff: 2, NameLen: 1, Flags: pdu.LabelFlags(pdu.LabelDomain), ValueOff: 5, ValueLen: 1}
	return []pdu.LabelSet{{Inst: pdu.NoInst, JSON: []byte(json), Labels: []pdu.Label{l, l}}}
}

// manyLabels returns the text of n labels.
func manyLabels(prefix string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"%s%d":%d`, prefix, i, i)
	}
	return "{" + b.String()[1:] + "}"
}

func TestBrokenTexts(t *testing.T) {
	var calls atomic.Int32
	wantFaults(t, []broken{
		{"a label twice", spoiled(labels(pdu.LabelDomain, func([]pdu.LabelSet) ([]pdu.LabelSet, error) {
			return handmade(`{"a":1,"a":2}`), nil
		})), `labels: Labels(domain 251): instance -1: "{\"a\":1,\"a\":2}": labels: name "a" stands twice`},
		{"a label with a bad name", spoiled(labels(pdu.LabelDomain, func([]pdu.LabelSet) ([]pdu.LabelSet, error) {
			return handmade(`{"7":1,"b":2}`), nil
		})), `bad name "7"`},
		{"labels of an instance that are no JSON", spoiled(func(t *testing.T, a *pmda.Agent) pmda.Handler {
			a.Logger = slog.New(slog.DiscardHandler)
			d := &pmda.InDom{Name: "job", InstanceLabels: func(pdu.Instance) string { return `{"job":` }}
			if _, err := d.SetNames("one"); err != nil {
				t.Fatal(err)
			}
			if err := a.Attach(d); err != nil {
				t.Fatal(err)
			}
			_ = pmda.Register(a, pmda.Metric[int32]{Name: "cache.job", InDom: d, Value: always[int32](1)})
			return a
		}), "labels: Labels(instances 251.1): the set of instance 0 is error -22 (Invalid argument): its labels are no valid JSON object"},
		{"labels that change", spoiled(labels(pdu.LabelDomain, func([]pdu.LabelSet) ([]pdu.LabelSet, error) {
			s, err := pdu.MakeLabels(pdu.LabelDomain, map[string]int32{"n": calls.Add(1)}, false)
			return []pdu.LabelSet{s}, err
		})), `labels: Labels(domain 251): [{"n":1}], then [{"n":2}] (no error): labels that change are told by pdu.ChangeLabels`},
		{"too many labels together", func(t *testing.T) (pmda.Handler, []pmdatest.Option) {
			a := oneMetric(t, func(a *pmda.Agent) error {
				return pmda.Register(a, pmda.Metric[int32]{Name: "cache.y", Labels: manyLabels("y", 200), Value: always[int32](1)})
			})
			a.DomainLabels = manyLabels("d", 200)
			return a, nil
		}, "labels: cache.y: Labels: all labels of instance -1 together: labels: more than 254 labels"},
		{"labels of instances of any domain", spoiled(labels(pdu.LabelInstances, func(sets []pdu.LabelSet) ([]pdu.LabelSet, error) {
			return []pdu.LabelSet{{Inst: 1}}, nil
		})), "labels: Labels(251.4194303, instances): 1 sets, but no metric has that domain"},
		{"a text that is the name", spoiled(text(func(s string, err error) (string, error) {
			if s == "Hits" {
				s = "cache.hits"
			}
			return s, err
		})), "text: cache.hits: Text(oneline): it is the name again: say what the values mean"},
		{"an empty text", spoiled(text(func(string, error) (string, error) { return "", nil }), pmdatest.Texts()),
			"text: cache.hits: Text(oneline): it is empty: give it one"},
		{"a long line", spoiled(text(func(s string, err error) (string, error) { return strings.Repeat(s, 100), err })),
			"text: cache.hits: Text(oneline): 400 bytes, want at most 255: the rest belongs into the long text"},
		{"a text with a NUL", spoiled(text(func(s string, err error) (string, error) { return s + "\x00", err })),
			`text: cache.hits: Text(oneline): "Hits\x00" has characters that it cannot have`},
	})
}

// written keeps the writer of a fetch, and writes to it after the fetch has returned.
type written struct {
	pmda.Handler
	mu sync.Mutex
	w  *pdu.ResultWriter
}

func (h *written) Fetch(ctx context.Context, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
	if r.Client.ID != 0 { // otherwise the race detector would find it first
		return h.Handler.Fetch(ctx, r, ids, w)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.w != nil {
		h.w.Begin(hits)
	}
	h.w = w
	return h.Handler.Fetch(ctx, r, ids, w)
}

func TestBrokenFetches(t *testing.T) {
	wantFaults(t, []broken{
		{"the writer is reset", spoiled(func(_ *testing.T, a *pmda.Agent) pmda.Handler {
			return fetching{a, func(h pmda.Handler, ctx context.Context, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
				w.Reset()
				return h.Fetch(ctx, r, ids, w)
			}}
		}), "fetch: cache.size: Fetch: the writer has 1 sets after it, want 2: sets of earlier calls stay"},
		{"the writer is kept", spoiled(func(_ *testing.T, a *pmda.Agent) pmda.Handler { return &written{Handler: a} }),
			"requests: Fetch: it has written into the reply after it returned: it has kept the writer"},
		{"too many sets", spoiled(func(_ *testing.T, a *pmda.Agent) pmda.Handler {
			return fetching{a, func(h pmda.Handler, ctx context.Context, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
				return h.Fetch(ctx, r, append(slices.Clone(ids), hits), w)
			}}
		}), "fetch: cache.hits: Fetch: 2 sets: there must be one for each"},
		{"a timeout of its own", func(t *testing.T) (pmda.Handler, []pmdatest.Option) {
			return withValue(t, func(context.Context, pdu.Instance) (uint64, error) { return 0, context.DeadlineExceeded }), nil
		}, "fetch: cache.bad: Fetch: error -12353 (Timeout waiting for a response from PMCD): a collector takes this for a broken connection"},
		{"the first instance alone", spoiled(func(_ *testing.T, a *pmda.Agent) pmda.Handler {
			return fetching{a, func(h pmda.Handler, ctx context.Context, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
				if p := r.Profile; p != nil && len(p.InDoms) > 0 && len(p.InDoms[0].Insts) > 0 {
					n := *r
					n.Profile = &pdu.Profile{Exclude: true} // ignores the list
					r = &n
				}
				return h.Fetch(ctx, r, ids, w)
			}}
		}), "profile: cache.hits: Fetch: no value of instance 4, which the profile includes and which has one without it"},
	})
}

// A shared Handler keeps the profile of one client where the request of another finds it.
type shared struct {
	pmda.Handler
	mu      sync.Mutex
	profile *pdu.Profile
}

func (s *shared) Fetch(ctx context.Context, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
	s.mu.Lock()
	s.profile = r.Profile
	s.mu.Unlock()
	time.Sleep(time.Millisecond) // as if it read a file
	n := *r
	s.mu.Lock()
	n.Profile = s.profile
	s.mu.Unlock()
	return s.Handler.Fetch(ctx, &n, ids, w)
}

// A busy has a value that differs while several clients fetch it.
type busy struct{ n atomic.Int32 }

func (b *busy) value(alone, shared uint64) func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) {
	return func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) {
		defer b.n.Add(-1)
		b.n.Add(1)
		if time.Sleep(time.Millisecond); b.n.Load() > 1 {
			return shared, nil
		}
		return alone, nil
	}
}

// TestBrokenConcurrency runs in bubbles, where clients make their requests at the same time.
func TestBrokenConcurrency(t *testing.T) {
	counting := func(sem pdu.Sem, alone, shared uint64) func(t *testing.T) pmda.Handler {
		return func(t *testing.T) pmda.Handler {
			var b busy
			return oneMetric(t, func(a *pmda.Agent) error {
				return pmda.Register(a, pmda.Metric[uint64]{Name: "cache.y", Sem: sem, Value: b.value(alone, shared)})
			})
		}
	}
	for _, tt := range []struct {
		name string
		make func(t *testing.T) pmda.Handler
		want string
	}{
		{"the profile of another client", func(t *testing.T) pmda.Handler { return &shared{Handler: newAgent(t)} },
			"concurrency: cache.hits: Fetch: a value of instance "},
		{"the value of another metric", counting(pdu.SemDiscrete, 1, 2),
			"concurrency: cache.y: Fetch among concurrent requests of 4 clients: the value is 2, alone 1: requests must not share what is of one client"},
		{"an error instead of waiting", func(t *testing.T) pmda.Handler {
			var n atomic.Int32
			return oneMetric(t, func(a *pmda.Agent) error {
				return pmda.Register(a, pmda.Metric[int32]{Name: "cache.y", Value: func(context.Context, *pmda.Request, pdu.Instance) (int32, error) {
					defer n.Add(-1)
					if n.Add(1) > 1 {
						return 0, pdu.ErrAgain
					}
					time.Sleep(time.Millisecond)
					return 1, nil
				}})
			})
		}, "concurrency: cache.y: Fetch: error -12389 (Try again. Information not currently available): if it may fail, say so with MayFail"},
		{"a counter that goes back", counting(pdu.SemCounter, 10, 2),
			"concurrency: cache.y: Fetch among concurrent requests of 4 clients: the counter is 2, between 10 and 10"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if err := pmdatest.Check(tt.make(t)); err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("Check: %v\nwant among it: %s", err, tt.want)
				}
			})
		})
	}
}

// TestBrokenLocks checks a Handler that stays locked after a cancelled request.
func TestBrokenLocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turn := make(chan struct{}, 1)
		h := fetching{newAgent(t), func(h pmda.Handler, ctx context.Context, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
			select {
			case turn <- struct{}{}:
			case <-time.After(time.Minute):
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			defer func() { <-turn }()
			return h.Fetch(ctx, r, ids, w)
		}}
		err := pmdatest.Check(h)
		const want = "cancellation: Fetch of 5 metrics: no reply within 5s"
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Check: %v\nwant among it: %s", err, want)
		}
		time.Sleep(2 * time.Minute) // until the requests have ended
	})
}

// perClient calls functions in SetClient and EndClient.
type perClient struct {
	pmda.Handler
	set, end func(c *pmda.Client)
}

func (p perClient) SetClient(c *pmda.Client) {
	if p.set != nil {
		p.set(c)
	}
}

func (p perClient) EndClient(c *pmda.Client) {
	if p.end != nil {
		p.end(c)
	}
}

func TestBrokenClients(t *testing.T) {
	for _, tt := range []struct {
		name   string
		client func(end chan struct{}) perClient
		want   string
	}{
		{"a goroutine for each client", func(end chan struct{}) perClient {
			return perClient{set: func(*pmda.Client) { go func() { <-end }() }}
		}, "clients: EndClient: 8 clients have come and gone, and each has left a goroutine: end what its requests have started"},
		{"SetClient waits", func(end chan struct{}) perClient { return perClient{set: func(*pmda.Client) { <-end }} },
			"clients: SetClient: no reply within 5s"},
		{"EndClient waits", func(end chan struct{}) perClient { return perClient{end: func(*pmda.Client) { <-end }} },
			"EndClient: no reply within 5s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				end := make(chan struct{})
				defer close(end)
				h := tt.client(end)
				h.Handler = newAgent(t)
				if err := pmdatest.Check(h); err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("Check: %v\nwant among it: %s", err, tt.want)
				}
			})
		})
	}
	t.Run("one goroutine for all", func(t *testing.T) {
		end := make(chan struct{})
		defer close(end)
		var once sync.Once
		start := func(*pmda.Client) { once.Do(func() { go func() { <-end }() }) }
		if err := pmdatest.Check(perClient{Handler: newAgent(t), set: start}); err != nil {
			t.Error(err)
		}
	})
}

// jobs returns an agent whose instances are jobs, with the list that a function returns.
func jobs(list func(n int) []pdu.Instance) func(t *testing.T) (pmda.Handler, []pmdatest.Option) {
	return func(t *testing.T) (pmda.Handler, []pmdatest.Option) {
		n := 0
		d := &pmda.InDom{Name: "job"}
		a := oneMetric(t, func(a *pmda.Agent) error { return a.Attach(d) }, func(a *pmda.Agent) error {
			d.Group = a.Group(func(context.Context, *pmda.Request) error {
				_, err := d.SetInstances(list(n)...)
				n++
				return err
			})
			return pmda.Register(a, pmda.Metric[int32]{Name: "cache.job", InDom: d, Value: always[int32](1)})
		})
		return a, []pmdatest.Option{pmdatest.Changing()}
	}
}

// restarted returns an agent that is different after a restart.
func restarted(before, after func(a *pmda.Agent) error) func(t *testing.T) (pmda.Handler, []pmdatest.Option) {
	return func(t *testing.T) (pmda.Handler, []pmdatest.Option) {
		return oneMetric(t, before), []pmdatest.Option{pmdatest.Restart(func() pmda.Handler { return oneMetric(t, after) })}
	}
}

// addMetric returns a function that registers cache.y with one change.
func addMetric(change func(m *pmda.Metric[int32])) func(a *pmda.Agent) error {
	return func(a *pmda.Agent) error {
		m := pmda.Metric[int32]{Name: "cache.y", Value: always[int32](1)}
		change(&m)
		return pmda.Register(a, m)
	}
}

// addShards returns a function that registers instances in the given order.
func addShards(names ...string) func(a *pmda.Agent) error {
	return func(a *pmda.Agent) error {
		return pmda.Register(a, pmda.Metric[int32]{Name: "cache.share", InDom: a.AddInDom("shard", names...), Value: always[int32](1)})
	}
}

// informed is a Handler that changes when its Info is requested after other requests.
type informed struct {
	pmda.Handler
	n    atomic.Int32
	late *atomic.Bool
}

func (h *informed) Info() pmda.Info {
	h.late.Store(h.n.Add(1) > 2)
	return h.Handler.Info()
}

func TestRestart(t *testing.T) {
	pmdatest.Run(t, newAgent(t), pmdatest.Restart(func() pmda.Handler { return newAgent(t) }))
}

func TestBrokenLasting(t *testing.T) {
	wantFaults(t, []broken{
		{"ids are the order", jobs(func(n int) []pdu.Instance {
			names := []string{"a", "b", "c"}
			if n > 20 {
				names = names[1:] // the first one is gone
			}
			var list []pdu.Instance
			for i, name := range names {
				list = append(list, pdu.Instance{ID: pdu.InstID(i), Name: name})
			}
			return list
		}), `lasting: Instances(251.0): "b" has the ID 1, and 0 later in the same run: an instance keeps its ID; InDom.SetNames sees to that`},
		{"an id is used again", func(t *testing.T) (pmda.Handler, []pmdatest.Option) {
			var late atomic.Bool
			h, _ := jobs(func(int) []pdu.Instance {
				if late.Load() {
					return []pdu.Instance{{ID: 0, Name: "b"}}
				}
				return []pdu.Instance{{ID: 0, Name: "a"}}
			})(t)
			return &informed{Handler: h, late: &late}, nil
		}, `lasting: Instances(251.0): the ID 0 of "a" is that of "b" later in the same run: an ID is not used again for another instance`},
		{"the name changes", func(t *testing.T) (pmda.Handler, []pmdatest.Option) {
			infos := slices.Repeat([]pmda.Info{{Name: "cache", Domain: domain}}, 2)
			return &brokenInfo{newAgent(t), append(infos, pmda.Info{Name: "other", Domain: domain})}, nil
		}, "lasting: Info: {cache 251 false}, then {other 251 false} after requests: it must not change"},
		{"a failure comes later", func(t *testing.T) (pmda.Handler, []pmdatest.Option) {
			a := newAgent(t)
			a.OnEndClient(func(*pmda.Client) { _ = pmda.Register(a, pmda.Metric[int32]{Name: "cache.late"}) })
			return a, nil
		}, `lasting: Err: pmda: agent cache: register "cache.late": has no values: set Value or Values (`},
		{"a descriptor of the last client", func(t *testing.T) (pmda.Handler, []pmdatest.Option) {
			a := newAgent(t)
			var ended atomic.Bool
			a.OnEndClient(func(*pmda.Client) { ended.Store(true) })
			h, opts := descOf(func(d *pdu.Desc) {
				if ended.Load() {
					d.Units = pdu.TimeSec
				}
			})(t, a), []pmdatest.Option(nil)
			return h, opts
		}, "cache.hits: Desc among concurrent requests: "},
		{"instances by position", restarted(addShards("red", "blue"), addShards("blue", "red")),
			`restart: Instances(251.0): "red" has the ID 0, and 1 after a restart: an instance keeps its ID`},
		{"numbers by position", restarted(addMetric(func(*pmda.Metric[int32]) {}), func(a *pmda.Agent) error {
			return pmda.Register(a, pmda.Metric[int32]{Name: "cache.new", Value: always[int32](1)})
		}), "restart: cache.y: it is 251.0.1, and missing after a restart"},
		{"another number", restarted(addMetric(func(*pmda.Metric[int32]) {}), addMetric(func(m *pmda.Metric[int32]) { m.ID = pmda.Item(2, 2) })),
			"restart: cache.y: it is 251.0.1, and 251.2.2 after a restart: archives would mix its values with those of another metric; give it an ID with pmda.Item"},
		{"other units", restarted(addMetric(func(*pmda.Metric[int32]) {}), addMetric(func(m *pmda.Metric[int32]) { m.Units = pdu.TimeSec })),
			"restart: cache.y: Desc(251.0.1): "},
		{"no instances", restarted(addShards("red"), addMetric(func(m *pmda.Metric[int32]) { m.Name = "cache.share" })),
			"restart: Instances(251.0): error -12359 (Unknown or illegal instance domain identifier) after a restart"},
		{"a panic at the start", func(t *testing.T) (pmda.Handler, []pmdatest.Option) {
			return newAgent(t), []pmdatest.Option{pmdatest.Restart(func() pmda.Handler { panic("no file") })}
		}, "restart: panic: no file"},
		{"nothing", func(t *testing.T) (pmda.Handler, []pmdatest.Option) {
			return newAgent(t), []pmdatest.Option{pmdatest.Restart(func() pmda.Handler { return nil })}
		}, "restart: Restart: the Handler is nil"},
	})
}

// TestOnce checks that a fault in many requests is reported once.
func TestOnce(t *testing.T) {
	a := newAgent(t)
	o := override.In(a)
	o.Text = func(context.Context, *pmda.Request, pdu.TextTarget, pdu.TextKind) (string, error) { panic("oops") }
	lines := map[string]int{}
	for line := range strings.SplitSeq(fmt.Sprint(pmdatest.Check(a)), "\n") {
		if strings.Contains(line, ": panic: oops") {
			lines[line]++
		}
	}
	if many := slices.Max(append(slices.Collect(maps.Values(lines)), 0)); many != 1 {
		t.Errorf("%d reports of the same panic, want 1: %v", many, lines)
	}
}

// TestKnown checks that deliberate failures are not reported, and others are.
func TestKnown(t *testing.T) {
	opts := []pmdatest.Option{pmdatest.Texts()}
	h := descOf(func(d *pdu.Desc) { d.Sem = 2 })(t, newAgent(t))
	for _, tt := range []struct {
		known []string
		want  bool
	}{
		{nil, true},
		{[]string{"cache.size", "no semantics have number 7"}, true},
		{[]string{"cache.hits: Desc(251.0.0): no semantics have number 2"}, false},
		{[]string{"cache.hits"}, false},
	} {
		if err := pmdatest.Check(h, append(opts, pmdatest.Known(tt.known...))...); (err != nil) != tt.want {
			t.Errorf("Known(%q): %v", tt.known, err)
		}
	}
}
