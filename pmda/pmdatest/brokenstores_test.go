package pmdatest_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/override"
	"github.com/pcp-go/pcp/pmda/pmdatest"
)

// A sheet holds values that clients may set.
type sheet struct {
	mu     sync.Mutex
	limit  int32
	shares map[string]int32
	note   []byte
}

// newSheet returns an agent with a sheet. Only root may set cache.secret.
func newSheet(t *testing.T) (*pmda.Agent, *sheet) {
	s := &sheet{limit: 10, shares: map[string]int32{"red": 1, "blue": 2}, note: []byte("empty")}
	a := oneMetric(t, func(a *pmda.Agent) error {
		return pmda.Register(a, pmda.Metric[int32]{Name: "cache.limit", Value: func(context.Context, *pmda.Request, pdu.Instance) (int32, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.limit, nil
		}, Store: s.setLimit})
	}, func(a *pmda.Agent) error {
		return pmda.Register(a, pmda.Metric[int32]{Name: "cache.share", InDom: a.AddInDom("shard", "red", "blue"),
			Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (int32, error) {
				s.mu.Lock()
				defer s.mu.Unlock()
				return s.shares[i.Name], nil
			},
			Store: func(_ context.Context, _ *pmda.Request, i pdu.Instance, v int32) error {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.shares[i.Name] = v
				return nil
			}})
	}, func(a *pmda.Agent) error {
		return pmda.Register(a, pmda.Metric[string]{Name: "cache.note",
			Value: func(context.Context, *pmda.Request, pdu.Instance) (string, error) {
				s.mu.Lock()
				defer s.mu.Unlock()
				return string(s.note), nil
			},
			Store: func(_ context.Context, r *pmda.Request, _ pdu.Instance, v string) error {
				if r.Client.UID != 0 {
					return pdu.ErrPermission
				}
				s.mu.Lock()
				defer s.mu.Unlock()
				s.note = []byte(v)
				return nil
			}})
	})
	return a, s
}

func (s *sheet) setLimit(_ context.Context, _ *pmda.Request, _ pdu.Instance, v int32) error {
	if v < 0 {
		return pdu.ErrBadStore
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit = v
	return nil
}

// superUser returns a client whose user is known to be root.
func superUser() *pmda.Client {
	c := pmda.NewClient(7, 70)
	c.UID, c.User = 0, "root"
	return c
}

// sheetStores returns the stores that a sheet accepts and refuses.
func sheetStores() pmdatest.Option {
	return pmdatest.Stores(
		pmdatest.Store{Metric: "cache.limit", Value: "100"},
		pmdatest.Store{Metric: "cache.limit", Value: "-1", Err: pdu.ErrBadStore},
		pmdatest.Store{Metric: "cache.share", Instance: "blue", Value: "5"},
		pmdatest.Store{Metric: "cache.note", Value: "mine", Err: pdu.ErrPermission},
		pmdatest.Store{Metric: "cache.note", Value: "mine", Client: superUser()},
		pmdatest.Store{Metric: "cache.limit", Value: "7", Shows: "cache.note", Want: "mine"},
		pmdatest.Store{Metric: "cache.share", Instance: "red", Value: "3", Shows: "cache.limit", Want: "7"},
	)
}

func TestStores(t *testing.T) {
	a, _ := newSheet(t)
	pmdatest.Run(t, a, sheetStores())
	pmdatest.Run(t, oneMetric(t), pmdatest.Stores())
}

// storing replaces a Handler's Store, set by set.
type storing struct {
	pmda.Handler
	store func(next pmda.Handler, ctx context.Context, r *pmda.Request, values *pdu.Result) error
}

func (s storing) Store(ctx context.Context, r *pmda.Request, values *pdu.Result) error {
	return s.store(s.Handler, ctx, r, values)
}

// badSheet returns a sheet whose stores have a mistake.
func badSheet(store func(s *sheet, next pmda.Handler, ctx context.Context, r *pmda.Request, values *pdu.Result) error) func(t *testing.T) (pmda.Handler, []pmdatest.Option) {
	return func(t *testing.T) (pmda.Handler, []pmdatest.Option) {
		a, s := newSheet(t)
		return storing{a, func(next pmda.Handler, ctx context.Context, r *pmda.Request, values *pdu.Result) error {
			return store(s, next, ctx, r, values)
		}}, []pmdatest.Option{sheetStores()}
	}
}

// storeTo returns a sheet that stores one metric with a given function.
func storeTo(metric string, store func(s *sheet, r *pmda.Request, set pdu.ValueSet) error) func(t *testing.T) (pmda.Handler, []pmdatest.Option) {
	return func(t *testing.T) (pmda.Handler, []pmdatest.Option) {
		a, s := newSheet(t)
		id, err := a.Namespace().Lookup(metric)
		if err != nil {
			t.Fatal(err)
		}
		return storing{a, func(next pmda.Handler, ctx context.Context, r *pmda.Request, values *pdu.Result) error {
			if set := values.At(0); set.PMID == id {
				s.mu.Lock()
				defer s.mu.Unlock()
				return store(s, r, set)
			}
			return next.Store(ctx, r, values)
		}}, []pmdatest.Option{sheetStores()}
	}
}

func TestBrokenStores(t *testing.T) {
	wantFaults(t, []broken{
		{"a metric that is not listed", func(t *testing.T) (pmda.Handler, []pmdatest.Option) {
			a, _ := newSheet(t)
			return a, []pmdatest.Option{pmdatest.Stores()}
		}, "store: cache.limit: Store of the value that a fetch has: no error, but Stores does not list the metric: refuse it with pdu.ErrPermission, or list it"},
		{"nobody has permission", badSheet(func(*sheet, pmda.Handler, context.Context, *pmda.Request, *pdu.Result) error {
			return pdu.ErrPermission
		}), `store: cache.limit: Store("100"): error -12387 (No permission to perform requested operation), but Stores says that it succeeds`},
		{"everybody has permission", badSheet(func(_ *sheet, next pmda.Handler, ctx context.Context, _ *pmda.Request, values *pdu.Result) error {
			return next.Store(ctx, &pmda.Request{Client: superUser()}, values)
		}), `store: cache.note: Store("mine"): got no error, want error -12387`},
		{"the wrong code", badSheet(func(_ *sheet, next pmda.Handler, ctx context.Context, r *pmda.Request, values *pdu.Result) error {
			if err := next.Store(ctx, r, values); err != nil {
				return pdu.ErrConv
			}
			return nil
		}), `store: cache.limit: Store("-1"): got error -12362 (Impossible value or scale conversion), want error -12400`},
		{"an error of Go", badSheet(func(_ *sheet, next pmda.Handler, ctx context.Context, r *pmda.Request, values *pdu.Result) error {
			if err := next.Store(ctx, r, values); err != nil {
				return errors.New("no")
			}
			return nil
		}), "cache.x: Store of the value that a fetch has: error -12345 (no): a function of it has panicked or returned an error without a code of PCP; give it one"},
		{"without effect", badSheet(func(*sheet, pmda.Handler, context.Context, *pmda.Request, *pdu.Result) error { return nil }),
			`store: cache.limit: Store("100"): no error, but then cache.limit is "10", want "100"`},
		{"set before it is checked", storeTo("cache.limit", func(s *sheet, _ *pmda.Request, set pdu.ValueSet) error {
			v, err := pdu.As[int32](set.Atom(0, pdu.Type32))
			if s.limit = v; err != nil {
				return pdu.ErrBadStore
			}
			return nil
		}), `store: cache.limit: Store of a value of a wrong type: error -12400 (Bad input to pmstore), but the value was "10" and is "0": check a value before it is set`},
		{"refused and set", storeTo("cache.limit", func(s *sheet, _ *pmda.Request, set pdu.ValueSet) error {
			v, err := pdu.As[int32](set.Atom(0, pdu.Type32))
			if err != nil {
				return pdu.ErrBadStore
			}
			if s.limit = v; v < 0 {
				return pdu.ErrBadStore
			}
			return nil
		}), `but cache.limit was "100" and is "-1": check a value before it is set`},
		{"any instance", storeTo("cache.share", func(s *sheet, _ *pmda.Request, set pdu.ValueSet) error {
			v, err := pdu.As[int32](set.Atom(0, pdu.Type32))
			if err == nil && set.Inst(0) == 1 {
				s.shares["blue"] = v
			}
			return err
		}), "store: cache.share: Store of instance 2147483646, which is not listed: no error, want pdu.ErrInst"},
		{"the second of one value", storeTo("cache.limit", func(s *sheet, _ *pmda.Request, set pdu.ValueSet) error {
			v, err := pdu.As[int32](set.Atom(1, pdu.Type32))
			if err == nil {
				s.limit = v
			}
			return err
		}), "store: cache.limit: Store: panic: "},
		{"values kept", storeTo("cache.note", func(s *sheet, r *pmda.Request, set pdu.ValueSet) error {
			if r.Client.UID != 0 {
				return pdu.ErrPermission
			}
			s.note = set.Atom(0, pdu.TypeString).Bytes() // keeps memory of the caller
			return nil
		}), `store: cache.note: Store("mine"): no error, but then cache.note is `},
		{"values changed", storeTo("cache.note", func(s *sheet, r *pmda.Request, set pdu.ValueSet) error {
			if r.Client.UID != 0 {
				return pdu.ErrPermission
			}
			b := set.Atom(0, pdu.TypeString).Bytes()
			s.note = slices.Clone(b)
			clear(b)
			return nil
		}), "store: cache.note: Store: it has changed the values that it was given"},
		{"a timeout of its own", func(t *testing.T) (pmda.Handler, []pmdatest.Option) {
			a, _ := newSheet(t)
			o := override.In(a)
			o.Store = func(context.Context, *pmda.Request, *pdu.Result) error { return context.DeadlineExceeded }
			return a, nil
		}, "store: 251.0.1023: Store: error -12353 (context deadline exceeded): a collector takes this for a broken connection to the agent"},
		{"a store of no instance", func(t *testing.T) (pmda.Handler, []pmdatest.Option) {
			a, _ := newSheet(t)
			return a, []pmdatest.Option{pmdatest.Stores(pmdatest.Store{Metric: "cache.share", Instance: "green", Value: "1"})}
		}, `cache.share[green]: Store("1"): the effect cannot be seen: "green" is no instance`},
		{"a store of no number", func(t *testing.T) (pmda.Handler, []pmdatest.Option) {
			a, _ := newSheet(t)
			return a, []pmdatest.Option{pmdatest.Stores(pmdatest.Store{Metric: "cache.limit", Value: "many"})}
		}, `cache.limit: Store("many"): error -12362 (the value "many": `},
		{"a store of no metric", func(t *testing.T) (pmda.Handler, []pmdatest.Option) {
			return oneMetric(t), []pmdatest.Option{pmdatest.Stores(pmdatest.Store{Metric: "cache.y", Value: "1"})}
		}, `cache.y: Store("1"): the effect cannot be seen: "cache.y" is no metric`},
	})
}
