package pmda_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// logLines is a log without times.
func logLines(b *bytes.Buffer) *slog.Logger {
	return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "stack" {
			return slog.Attr{}
		}
		return a
	}}))
}

func TestSetDefaultLogger(t *testing.T) {
	var own, first, second bytes.Buffer
	a := &pmda.Agent{Name: "a", Domain: 251}
	a.Log().Error("lost")
	h := pmda.Serial(struct{ *pmda.Agent }{a}) // also through what wraps it
	for _, l := range []*bytes.Buffer{&first, &second} {
		log, ok := pmda.As[pmda.Logging](h)
		if !ok {
			t.Fatal("no Logging is found")
		}
		log.SetDefaultLogger(logLines(l))
		a.Log().Error("x")
	}
	a.Logger = logLines(&own)
	a.SetDefaultLogger(logLines(&first))
	a.Log().Error("y")
	a.Logger = nil
	a.SetDefaultLogger(nil)
	a.Log().Error("lost")
	for _, tt := range []struct {
		log  *bytes.Buffer
		want string
	}{{&first, "level=ERROR msg=x\n"}, {&second, "level=ERROR msg=x\n"}, {&own, "level=ERROR msg=y\n"}} {
		if got := tt.log.String(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
	if log, ok := pmda.As[pmda.Logging](pmda.Serial(pmda.Unimplemented{})); ok {
		t.Errorf("found %v, which has no log", log)
	}
}

// TestSetDefaultLoggerServing sets the log of an agent that fails values meanwhile,
// for the race detector.
func TestSetDefaultLoggerServing(t *testing.T) {
	a := &pmda.Agent{Name: "a", Domain: 251}
	pmda.Register(a, pmda.Metric[int32]{Name: "a.bad",
		Value: func(context.Context, *pmda.Request, pdu.Instance) (int32, error) { return 0, errors.New("bad") }})
	var wg sync.WaitGroup
	wg.Go(func() {
		for range 100 {
			a.SetDefaultLogger(slog.New(slog.DiscardHandler))
		}
	})
	for range 100 {
		fetched(t, a, request(), pdu.MakePMID(251, 0, 0))
	}
	wg.Wait()
}

// TestFailureLogging: a failure is logged when it begins, changes and comes back.
func TestFailureLogging(t *testing.T) {
	var log bytes.Buffer
	a := &pmda.Agent{Name: "a", Domain: 251, Logger: logLines(&log)}
	var value, refresh, group, store error
	d := a.AddInDom("shard", "red", "blue")
	d.Refresh = func(context.Context, *pmda.Request) error { return refresh }
	register(t, a, pmda.Metric[int32]{Name: "a.one", Group: a.Group(func(context.Context, *pmda.Request) error { return group }),
		Value: always[int32](1), Store: func(context.Context, *pmda.Request, pdu.Instance, int32) error { return store }})
	register(t, a, pmda.Metric[int32]{Name: "a.x", InDom: d,
		Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (int32, error) {
			if i.Name == "blue" {
				return 0, value
			}
			return 1, nil
		}})
	one, x := pdu.MakePMID(251, 0, 0), pdu.MakePMID(251, 0, 1)
	red := request()
	red.Profile = &pdu.Profile{InDoms: []pdu.InDomProfile{{InDom: d.ID(), Exclude: true, Insts: []pdu.InstID{0}}}}
	oops, other := errors.New("oops"), errors.New("other")
	for _, step := range []struct {
		name                         string
		value, refresh, group, store error
		want                         string
	}{
		{name: "fine"},
		{"value", oops, nil, nil, nil, `level=WARN msg="no value" agent=a metric=a.x instance=blue err=oops` + "\n"},
		{"changed", other, nil, nil, nil, `level=WARN msg="no value" agent=a metric=a.x instance=blue err=other` + "\n"},
		{"an error for the client", pdu.ErrAgain, nil, nil, nil, ""},
		{name: "fine again"},
		{"back", other, nil, nil, nil, `level=WARN msg="no value" agent=a metric=a.x instance=blue err=other` + "\n"},
		{"refresh", nil, oops, nil, nil, `level=WARN msg="refresh of an instance domain failed" agent=a indom=shard err=oops` + "\n"},
		{"group", nil, oops, oops, nil, `level=WARN msg="refresh of a group failed" agent=a metric=a.one err=oops` + "\n"},
		{"store", nil, nil, nil, oops, `level=WARN msg="store failed" agent=a metric=a.one err=oops` + "\n"},
		{"refused", nil, nil, nil, pdu.ErrBadStore, ""},
		{"stored", nil, nil, nil, nil, ""},
		{"store again", nil, nil, nil, oops, `level=WARN msg="store failed" agent=a metric=a.one err=oops` + "\n"},
		{"group again", nil, nil, oops, nil, `level=WARN msg="refresh of a group failed" agent=a metric=a.one err=oops` + "\n"},
	} {
		log.Reset()
		value, refresh, group, store = step.value, step.refresh, step.group, step.store
		for range 2 {
			fetched(t, a, request(), one, x)
			fetched(t, a, red, x)
			err := a.Store(t.Context(), request(), stored(t, one, func(w *pdu.ResultWriter) { w.Int32(-1, 1) }))
			if !errors.Is(err, step.store) {
				t.Errorf("%s: Store: %v", step.name, err)
			}
		}
		if got := log.String(); got != step.want {
			t.Errorf("%s: log %q, want %q", step.name, got, step.want)
		}
	}
}
