package collector_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/collector/internal/collectortest"
	"github.com/pcp-go/pcp/pmda/collector/pmcdconf"
)

// TestNil checks that nil Handlers are refused at once, and that the Server continues.
func TestNil(t *testing.T) {
	s := collectortest.CloseAtEnd(t, &collector.Server{Logger: slog.New(slog.DiscardHandler),
		DSO: map[string]func(pdu.Domain) (pmda.Handler, error){"nil_init": func(pdu.Domain) (pmda.Handler, error) { return nil, nil }}})
	var agent *pmda.Agent
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"Handler", s.Add(nil), "collector: add: the Handler is nil"},
		{"agent", s.Add(agent), "collector: add: pmda: serve: the *Agent is nil"},
		{"wrapped agent", s.Add(struct{ *pmda.Agent }{agent}), "collector: add: pmda: serve: the *Agent is nil"},
		{"serial agent", s.Add(pmda.Serial(agent)), "collector: add: pmda: serve: the *Agent is nil"},
		{"serial Handler", s.Add(pmda.Serial(nil)), "collector: add: the Handler is nil"},
		{"DSO", s.StartAgent(pmcdconf.Agent{Name: "none", Domain: 12, Kind: "dso", Entry: "nil_init"}), `collector: start agent "none": the Handler is nil`},
	} {
		if tt.err == nil || tt.err.Error() != tt.want {
			t.Errorf("%s: error %v, want %s", tt.name, tt.err, tt.want)
		}
	}
	c, err := pmapi.Local(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Traverse(t.Context(), ""); err != nil {
		t.Error(err)
	}
}

// TestNilListener checks that Serve fails at once for a nil listener, and closes the other
// listeners.
func TestNilListener(t *testing.T) {
	ln := listen(t)
	err := new(collector.Server).Serve(t.Context(), ln, nil)
	const want = "collector: serve: listener 2 of 2 is nil: look at the error of net.Listen"
	if err == nil || err.Error() != want {
		t.Errorf("Serve: %v, want %s", err, want)
	}
	if _, err := ln.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the other listener: %v, want it closed", err)
	}
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return ln
}

// TestServeAgain checks that a second Serve does not disturb the first, even with the same
// listener.
func TestServeAgain(t *testing.T) {
	s := new(collector.Server)
	ln := listen(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first := make(chan error, 1)
	go func() { first <- s.Serve(ctx, ln) }()
	dial := func() {
		t.Helper()
		c, err := pmapi.Dial(t.Context(), ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Traverse(t.Context(), ""); err != nil {
			t.Error(err)
		}
	}
	dial()
	const want = "collector: serve: the server serves already, or has served: make another Server, or give all listeners to one call"
	for _, again := range [][]net.Listener{{ln}, {nil}, {}} {
		if err := s.Serve(ctx, again...); err == nil || err.Error() != want {
			t.Errorf("Serve again: %v, want %s", err, want)
		}
		dial()
	}
	cancel()
	if err := <-first; err != nil {
		t.Errorf("the first Serve: %v", err)
	}
}

// TestTwoServers checks that both Servers of an agent log its errors, and that the remaining one
// does so after the other has closed.
func TestTwoServers(t *testing.T) {
	a := &pmda.Agent{Name: "shared", Domain: 250}
	why := "first"
	pmda.Register(a, pmda.Metric[uint64]{Name: "shared.bad",
		Value: func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) { return 0, errors.New(why) }})
	silent := &collector.Server{Logger: slog.New(slog.DiscardHandler)}
	var one, two pcptest.LogBuffer
	servers := []*collector.Server{silent, {Logger: one.Logger(slog.LevelWarn)}, {Logger: two.Logger(slog.LevelWarn)}}
	fetch := func(s *collector.Server) {
		t.Helper()
		c, err := pmapi.Local(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		var r pdu.Result
		if err := c.Fetch(t.Context(), []pdu.PMID{pdu.MakePMID(250, 0, 0)}, &r); err != nil {
			t.Error(err)
		}
	}
	line := func(why string) string {
		return `level=WARN msg="no value" agent=shared metric=shared.bad err=` + why + "\n"
	}
	for _, s := range servers {
		defer s.Close()
		if err := s.Add(a); err != nil {
			t.Fatal(err)
		}
		fetch(s)
	}
	for range 3 {
		for _, s := range servers {
			fetch(s)
		}
	}
	// The line comes again after a third Server with another log was added.
	if got, want := one.String(), line("first")+line("first"); got != want {
		t.Errorf("the log of the second Server: %q, want %q", got, want)
	}
	if got, want := two.String(), line("first"); got != want {
		t.Errorf("the log of the third Server: %q, want %q", got, want)
	}
	if err := servers[1].Remove(250); err != nil {
		t.Fatal(err)
	}
	one.Take()
	two.Take()
	why = "second"
	for range 3 {
		fetch(servers[0])
		fetch(servers[2])
	}
	if got, want := two.String(), line("second"); got != want {
		t.Errorf("the log of the third Server: %q, want %q", got, want)
	}
	if got := one.String(); got != "" {
		t.Errorf("the Server without the agent logs %q", got)
	}
	var other pcptest.LogBuffer
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(other.Logger(slog.LevelWarn))
	for _, s := range servers {
		s.Close()
	}
	a.Log().Warn("nobody serves it")
	if got, want := other.String(), "level=WARN msg=\"nobody serves it\"\n"; got != want {
		t.Errorf("slog.Default has %q, want %q", got, want)
	}
}
