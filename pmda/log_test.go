package pmda_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/internal/loglimit"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// logLines is a log without times.
func logLines(b *pcptest.LogBuffer) *slog.Logger { return b.Logger(slog.LevelInfo, "stack") }

// TestLogs checks that an agent without a Logger logs to the logs of all collectors that serve
// it, and otherwise to slog.Default.
func TestLogs(t *testing.T) {
	var own, first, second, other pcptest.LogBuffer
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(logLines(&other))
	a := &pmda.Agent{Name: "a", Domain: 251}
	log, ok := pmda.As[pmda.Serving](pmda.Serial(struct{ *pmda.Agent }{a})) // also through what wraps it
	if !ok {
		t.Fatal("no Serving is found")
	}
	a.Log().Error("nobody serves it")
	one, two := logLines(&first), logLines(&second)
	removeFirst := log.BeginServing(one)
	a.Log().Error("first")
	removeSecond := log.BeginServing(two)
	removeAgain := log.BeginServing(one)
	a.Log().Error("both")
	removeFirst()
	removeFirst() // does nothing
	a.Log().Error("both still")
	removeAgain()
	a.Log().Error("second")
	a.Logger = logLines(&own)
	a.Log().Error("own")
	a.Logger = nil
	removeSecond()
	a.Log().Error("nobody")
	for _, tt := range []struct {
		name string
		log  *pcptest.LogBuffer
		want []string
	}{
		{"default", &other, []string{"nobody serves it", "nobody"}},
		{"first", &first, []string{"first", "both", "both still"}},
		{"second", &second, []string{"both", "both still", "second"}},
		{"own", &own, []string{"own"}},
	} {
		var want pcptest.LogBuffer
		for _, msg := range tt.want {
			logLines(&want).Error(msg)
		}
		if got := tt.log.String(); got != want.String() {
			t.Errorf("%s: got %q, want %q", tt.name, got, want.String())
		}
	}
	if log, ok := pmda.As[pmda.Serving](pmda.Serial(pmda.Unimplemented(pmda.Info{}))); ok {
		t.Errorf("found %v in a Handler without tables", log)
	}
}

// TestLogsServing adds logs to an agent that fails values meanwhile, for the race
// detector.
func TestLogsServing(t *testing.T) {
	a := &pmda.Agent{Name: "a", Domain: 251}
	pmda.Register(a, pmda.Metric[int32]{Name: "a.bad",
		Value: func(context.Context, *pmda.Request, pdu.Instance) (int32, error) { return 0, errors.New("bad") }})
	defer a.BeginServing(slog.New(slog.DiscardHandler))()
	var wg sync.WaitGroup
	wg.Go(func() {
		for range 100 {
			a.BeginServing(slog.New(slog.DiscardHandler))()
		}
	})
	for range 100 {
		fetched(t, a, request(), pdu.MakePMID(251, 0, 0))
	}
	wg.Wait()
}

// TestLogOfAnother checks that a log that is added while values fail gets the failure, too, once.
func TestLogOfAnother(t *testing.T) {
	var first, second pcptest.LogBuffer
	a := &pmda.Agent{Name: "a", Domain: 251}
	pmda.Register(a, pmda.Metric[int32]{Name: "a.bad", Value: always[int32](0),
		Store: func(context.Context, *pmda.Request, pdu.Instance, int32) error { panic("bad") }})
	pmda.Register(a, pmda.Metric[int32]{Name: "a.worse",
		Value: func(context.Context, *pmda.Request, pdu.Instance) (int32, error) { return 0, errors.New("bad") }})
	bad, worse := pdu.MakePMID(251, 0, 0), pdu.MakePMID(251, 0, 1)
	for _, log := range []*pcptest.LogBuffer{&first, &second} {
		defer a.BeginServing(logLines(log))()
		for range 3 {
			fetched(t, a, request(), worse)
			a.Store(t.Context(), request(), stored(t, bad, func(w *pdu.ResultWriter) { w.Int32(-1, 1) }))
		}
	}
	want := `level=WARN msg="no value" agent=a metric=a.worse err=bad` + "\n" +
		`level=ERROR msg="agent panicked" agent=a metric=a.bad function=Store panic=bad` + "\n"
	if got := second.String(); got != want {
		t.Errorf("the second log: %q, want %q", got, want)
	}
	if got := first.String(); got != want+want {
		t.Errorf("the first log: %q, want %q twice", got, want)
	}
}

// TestLimitsOfTwoLogs checks an agent in two collectors, each with a limit in its log. A suppressed
// line counts once.
func TestLimitsOfTwoLogs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var first, second pcptest.LogBuffer
		a := &pmda.Agent{Name: "a", Domain: 251}
		n := 0
		pmda.Register(a, pmda.Metric[int32]{Name: "a.bad",
			Value: func(context.Context, *pmda.Request, pdu.Instance) (int32, error) {
				n++
				return 0, fmt.Errorf("bad %d", n)
			}})
		for _, log := range []*pcptest.LogBuffer{&first, &second} {
			l := loglimit.New(logLines(log))
			defer loglimit.Flush(l)
			defer a.BeginServing(l)()
		}
		for range 100 {
			fetched(t, a, request(), pdu.MakePMID(251, 0, 0))
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		fetched(t, a, request(), pdu.MakePMID(251, 0, 0))
		for _, log := range []*pcptest.LogBuffer{&first, &second} {
			if got := log.String(); strings.Count(got, "no value") != 12 || !strings.Contains(got, "90 more of this kind") {
				t.Errorf("%s\nhas %d lines, want 10, how many others there were, and the last", got, strings.Count(got, "no value"))
			}
		}
	})
}

// TestServeLogs checks that failures of an agent under Serve reach slog.Default.
func TestServeLogs(t *testing.T) {
	var log pcptest.LogBuffer
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(logLines(&log))
	a := &pmda.Agent{Name: "a", Domain: 251}
	pmda.Register(a, pmda.Metric[int32]{Name: "a.bad",
		Value: func(context.Context, *pmda.Request, pdu.Instance) (int32, error) { panic("oops") }})
	near, far := net.Pipe()
	served := make(chan error, 1)
	go func() { served <- pmda.Serve(t.Context(), a, far) }()
	conn := pdu.NewConn(near)
	if _, err := pdu.AcceptAgent(conn, 1); err != nil {
		t.Fatal(err)
	}
	if err := conn.Write(1, pdu.Fetch{PMIDs: []pdu.PMID{pdu.MakePMID(251, 0, 0)}}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := conn.Read(); err != nil {
		t.Fatal(err)
	}
	near.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if got, want := log.String(), `level=ERROR msg="agent panicked" agent=a metric=a.bad function=Value panic=oops`+"\n"; got != want {
		t.Errorf("log %q, want %q", got, want)
	}
}

// TestFailureLogging checks that a failure is logged when it begins, changes and comes back.
func TestFailureLogging(t *testing.T) {
	var log pcptest.LogBuffer
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
		log.Take()
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

// TestGivenUpLogging checks that an abandoned request is not logged as a failure. The same error
// without the end of the request is logged.
func TestGivenUpLogging(t *testing.T) {
	var log pcptest.LogBuffer
	a := &pmda.Agent{Name: "a", Domain: 251, Logger: logLines(&log)}
	fail := func(context.Context, *pmda.Request) error { return fmt.Errorf("read: %w", context.Canceled) }
	value := func(ctx context.Context, r *pmda.Request, _ pdu.Instance) (int32, error) { return 0, fail(ctx, r) }
	store := func(ctx context.Context, r *pmda.Request, _ pdu.Instance, _ int32) error { return fail(ctx, r) }
	d := a.AddInDom("shard", "red")
	d.Refresh = fail
	register(t, a, pmda.Metric[int32]{Name: "a.group", Group: a.Group(fail), Value: value})
	register(t, a, pmda.Metric[int32]{Name: "a.shard", InDom: d, Value: value})
	register(t, a, pmda.Metric[int32]{Name: "a.value", Value: value, Store: store})
	requests := func(ctx context.Context) {
		var w pdu.ResultWriter
		_ = a.Fetch(ctx, request(), []pdu.PMID{pdu.MakePMID(251, 0, 0), pdu.MakePMID(251, 0, 1), pdu.MakePMID(251, 0, 2)}, &w)
		_ = a.Store(ctx, request(), stored(t, pdu.MakePMID(251, 0, 2), func(w *pdu.ResultWriter) { w.Int32(-1, 1) }))
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if requests(ended); log.String() != "" {
		t.Errorf("log of requests of a client that has gone:\n%s", log.String())
	}
	if requests(t.Context()); strings.Count(log.String(), "err=\"read: context canceled\"\n") != 4 {
		t.Errorf("log of requests:\n%s", log.String())
	}
}

// TestFlappingFailures checks failures that come and go 1,000 times in 250 s, and a request that
// always fails. The first lines are logged and further ones counted.
func TestFlappingFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log pcptest.LogBuffer
		a := &pmda.Agent{Name: "a", Domain: 251, Logger: logLines(&log)}
		n := 0
		flap := func() error {
			if n++; n%2 == 0 {
				return nil
			}
			return fmt.Errorf("port %d is closed", n)
		}
		register(t, a, pmda.Metric[int32]{Name: "a.fails",
			Value: func(context.Context, *pmda.Request, pdu.Instance) (int32, error) { return 0, flap() }})
		register(t, a, pmda.Metric[int32]{Name: "a.panics",
			Value: func(context.Context, *pmda.Request, pdu.Instance) (int32, error) { n++; panic(fmt.Sprint("at ", n)) }})
		for range 1000 {
			fetched(t, a, request(), pdu.MakePMID(251, 0, 0), pdu.MakePMID(251, 0, 1))
			time.Sleep(250 * time.Millisecond)
		}
		a.Use(func(next pmda.Handler) pmda.Handler { return failing{next} })
		p := serve(t.Context(), t, a)
		for i := range 1000 {
			p.request(1, pdu.DescReq{PMID: pdu.MakePMID(251, 0, i%2)})
		}
		p.end()
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		for _, of := range []struct{ what, count string }{
			{`msg="no value" agent=a metric=a.fails`, `msg="no value: `},
			{`msg="agent panicked" agent=a metric=a.panics`, `msg="agent panicked: `},
			{`msg="agent failed a request" request=`, `msg="agent failed a request: 990 more of this kind in the last 1 s"`},
		} {
			written, counts := 0, 0
			for _, l := range lines {
				if strings.Contains(l, of.what) {
					written++
				}
				if strings.Contains(l, of.count) {
					counts++
				}
			}
			if written < 10 || written > 20 || counts < 1 || counts > 10 {
				t.Errorf("%d lines with %s, %d with %s", written, of.what, counts, of.count)
			}
		}
		if t.Failed() || len(lines) > 60 {
			t.Errorf("%d lines:\n%s", len(lines), strings.Join(lines, "\n"))
		}
	})
}

// A failing is an agent that cannot describe its metrics.
type failing struct{ pmda.Handler }

func (failing) Desc(context.Context, *pmda.Request, pdu.PMID) (pdu.Desc, error) {
	return pdu.Desc{}, errors.New("broken")
}
