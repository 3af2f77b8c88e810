package pmdatest_test

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/pmdatest"
)

// withValue returns an agent with a good metric, and with cache.bad, which has the instances red,
// green and blue. The values of cache.bad come from a function.
func withValue(t testing.TB, value func(context.Context, pdu.Instance) (uint64, error)) *pmda.Agent {
	t.Helper()
	a := &pmda.Agent{Name: "cache", Domain: domain, Logger: slog.New(slog.DiscardHandler)}
	pmda.Register(a, pmda.Metric[uint64]{Name: "cache.good", Text: "Good",
		Value: func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) { return 1, nil }})
	pmda.Register(a, pmda.Metric[uint64]{Name: "cache.bad", Text: "Bad", InDom: a.AddInDom("shard", "red", "green", "blue"),
		Value: func(ctx context.Context, _ *pmda.Request, i pdu.Instance) (uint64, error) { return value(ctx, i) }})
	if err := a.Err(); err != nil {
		t.Fatal(err)
	}
	return a
}

// TestFailingValues checks that a metric that cannot be fetched is reported, and only that metric.
func TestFailingValues(t *testing.T) {
	for _, tt := range []struct {
		name  string
		value func(context.Context, pdu.Instance) (uint64, error)
		want  string // the start of the first error; empty for no error
	}{
		{"good", func(context.Context, pdu.Instance) (uint64, error) { return 1, nil }, ""},
		{"no values", func(context.Context, pdu.Instance) (uint64, error) { return 0, pmda.NoValue }, ""},
		{"some values", func(_ context.Context, i pdu.Instance) (uint64, error) {
			if i.Name == "green" {
				return 0, pmda.NoValue
			}
			return 1, nil
		}, ""},
		{"panics", func(context.Context, pdu.Instance) (uint64, error) { panic("oops") },
			"fetch: cache.bad: Fetch: error -12345 (Generic error, already reported above): a function of it has panicked"},
		{"an error of Go", func(context.Context, pdu.Instance) (uint64, error) { return 0, errors.New("oops") },
			"fetch: cache.bad: Fetch: error -12345 (Generic error, already reported above): a function of it has panicked or returned an error"},
		{"an error of PCP", func(context.Context, pdu.Instance) (uint64, error) { return 0, pdu.ErrAgain },
			"fetch: cache.bad: Fetch: error -12389 (Try again. Information not currently available): if it may fail, say so with MayFail"},
		{"one instance fails", func(_ context.Context, i pdu.Instance) (uint64, error) {
			if i.Name == "green" {
				return 0, pdu.ErrPermission
			}
			return 1, nil
		}, `fetch: cache.bad: Fetch of instance 1 "green": error -12387 (No permission to perform requested operation): if it may fail`},
		{"one instance panics", func(_ context.Context, i pdu.Instance) (uint64, error) {
			if i.Name == "green" {
				panic("oops")
			}
			return 1, nil
		}, "fetch: cache.bad: Fetch: error -12345"},
		{"ends its goroutine", func(context.Context, pdu.Instance) (uint64, error) { runtime.Goexit(); return 0, nil },
			"fetch: cache.bad: Fetch: it has ended its goroutine, as testing.T.FailNow does"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := pmdatest.Check(withValue(t, tt.value), pmdatest.MayFail("cache.ba", "other"))
			if tt.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("Check: %v\nwant %s", err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), "cache.good") {
				t.Errorf("the good metric is reported: %v", err)
			}
			if tt.name == "ends its goroutine" {
				return
			}
			for _, name := range []string{"cache.bad", "cache"} {
				if err := pmdatest.Check(withValue(t, tt.value), pmdatest.MayFail(name)); err != nil {
					t.Errorf("MayFail(%q): %v", name, err)
				}
			}
		})
	}
}

// TestFailingHandler checks a Handler that does not contain the failure of one metric.
func TestFailingHandler(t *testing.T) {
	bad := hits
	for _, tt := range []struct {
		name  string
		fetch func(w *pdu.ResultWriter)
		want  string
	}{
		{"panics", func(*pdu.ResultWriter) { panic("oops") }, "fetch: cache.hits: Fetch: panic: oops\n"},
		{"fails", nil, "fetch: cache.hits: Fetch: error -12389 (Try again. Information not currently available): it fails only if every metric fails"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := newAgent(t)
			h := fetchWith(a, func(w *pdu.ResultWriter, id pdu.PMID) bool {
				if id == bad && tt.fetch != nil {
					tt.fetch(w)
				}
				return false
			})
			if tt.fetch == nil {
				h = failing{a}
			}
			if err := pmdatest.Check(h); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("Check: %v\nwant %s", err, tt.want)
			}
		})
	}
}

// failing fails a whole fetch for one of its metrics.
type failing struct{ pmda.Handler }

func (f failing) Fetch(ctx context.Context, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
	for _, id := range ids {
		if id == hits {
			return pdu.ErrAgain
		}
	}
	return f.Handler.Fetch(ctx, r, ids, w)
}

// TestSlow checks that a metric that takes longer than a collector waits is reported, and that the
// test does not take long.
func TestSlow(t *testing.T) {
	const overdue = "cache.bad: Fetch: no reply within 5s, after which a collector gives up"
	for _, tt := range []struct {
		name  string
		value func(ctx context.Context, i pdu.Instance)
		want  string
		took  time.Duration // at most
	}{
		{"2 s", func(ctx context.Context, i pdu.Instance) {
			if i.Name == "blue" {
				select {
				case <-time.After(2 * time.Second):
				case <-ctx.Done():
				}
			}
		}, "", time.Hour},
		{"2 s whatever happens", func(_ context.Context, i pdu.Instance) {
			if i.Name == "blue" {
				time.Sleep(2 * time.Second)
			}
		}, "cancellation: cache.bad: Fetch: it goes on for 1.9s after its context has ended, want at most 1s: what waits has to watch ctx.Done", time.Hour},
		{"4 s", func(ctx context.Context, i pdu.Instance) {
			if i.Name == "blue" {
				select {
				case <-time.After(4 * time.Second):
				case <-ctx.Done():
				}
			}
		}, "fetch: Fetch of 4 metrics (the slowest is cache.bad: 4s): no reply within 5s, after which a collector gives up", time.Hour},
		{"6 s", func(_ context.Context, i pdu.Instance) {
			if i.Name == "blue" {
				time.Sleep(6 * time.Second)
			}
		}, "fetch: " + overdue, 5 * time.Second},
		{"until the context ends", func(ctx context.Context, _ pdu.Instance) { <-ctx.Done() }, "fetch: " + overdue, 5 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := withValue(t, func(ctx context.Context, i pdu.Instance) (uint64, error) {
					tt.value(ctx, i)
					return 1, nil
				})
				start := time.Now()
				err := pmdatest.Check(h)
				if got := time.Since(start); got > tt.took {
					t.Errorf("Check took %v, want at most %v", got, tt.took)
				}
				time.Sleep(10 * time.Second) // let the last request end
				if tt.want == "" && err != nil || tt.want != "" && (err == nil || err.Error() != tt.want) {
					t.Errorf("Check: %v\nwant: %s", err, tt.want)
				}
			})
		})
	}
}

// TestHangs checks that a Handler that hangs in each request does not hang the test.
func TestHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		defer close(end)
		a := newAgent(t)
		for _, d := range []string{"disk", "link", "cpu", "node"} {
			in := a.AddInDom(d, "0")
			in.Refresh = func(context.Context, *pmda.Request) error { <-end; return nil }
			pmda.Register(a, pmda.Metric[int32]{Name: "cache." + d, InDom: in,
				Value: func(context.Context, *pmda.Request, pdu.Instance) (int32, error) { return 1, nil }})
		}
		start := time.Now()
		err := pmdatest.Check(a)
		if got, most := time.Since(start), 15*time.Second; got > most {
			t.Errorf("Check took %v, want at most %v", got, most)
		}
		for _, want := range []string{"instances: Instances(251.1, -1, \"\"): no reply within 5s", "instances: not checked to the end: 3 requests had no reply within 5s", "clients: not checked to the end"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Check: %v\nwant among it: %s", err, want)
			}
		}
	})
}

// TestFailingInstances checks that the list of a domain's instances may fail if all metrics of the
// domain may.
func TestFailingInstances(t *testing.T) {
	disks := func(t *testing.T) pmda.Handler {
		a := withValue(t, func(context.Context, pdu.Instance) (uint64, error) { return 1, nil })
		d := a.AddInDom("disk", "sda")
		d.Refresh = func(context.Context, *pmda.Request) error { return pdu.ErrPermission }
		for _, name := range []string{"cache.disk.read", "cache.disk.write"} {
			pmda.Register(a, pmda.Metric[int32]{Name: name, InDom: d, Value: always[int32](1)})
		}
		return a
	}
	for _, tt := range []struct {
		mayFail []string
		want    string // a part of the error of Check; empty for no error
	}{
		{[]string{"cache.disk"}, ""},
		{[]string{"cache.disk.read"}, "instances: Instances(251.1): error -12387 (No permission to perform requested operation), but metrics have that domain"},
		{nil, "instances: Instances(251.1): error -12387"},
	} {
		err := pmdatest.Check(disks(t), pmdatest.MayFail(tt.mayFail...))
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("MayFail(%q): %v, want %q", tt.mayFail, err, tt.want)
		}
	}
}
