package collector_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/collector/internal/collectortest"
	"github.com/pcp-go/pcp/pmda/collector/internal/pmcdagent"
	"github.com/pcp-go/pcp/pmda/collector/pmcdconf"
)

func TestPMCDLabels(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "optional"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.json"), []byte(`{"role":"test","n":1.50}`), 0o644); err != nil {
		t.Fatal(err)
	}
	b := collector.NewFixture(t, &collector.Server{Labels: collector.ContextLabels{Dir: dir}})
	b.Want("labels", `{"n":1.50,"role":"test"}`)
	b.Labels.Dir = filepath.Join(dir, "none")
	b.Want("labels", "error No such file or directory")
}

func TestPMCDAgents(t *testing.T) {
	b := collector.NewFixture(t, &collector.Server{})
	b.Want("numagents", "1")
	for _, a := range []pmda.Handler{collectortest.EmptyAgent("zebra", 250), collectortest.EmptyAgent("aardvark", 7), collectortest.EmptyAgent("zebra", 251)} {
		if err := b.Add(a); err != nil {
			t.Fatal(err)
		}
	}
	b.Want("seqnum", "5")
	b.Want("numagents", "4")
	b.Want("agent.name", "pmcd pmcd", "aardvark aardvark", "zebra zebra", "zebra.251 zebra")
	b.Want("agent.type", "pmcd 0", "aardvark 0", "zebra 0", "zebra.251 0")
	b.Want("agent.status", "pmcd 0", "aardvark 0", "zebra 0", "zebra.251 0")
	if err := b.Remove(7); err != nil {
		t.Fatal(err)
	}
	b.Want("numagents", "3")
	b.Want("agent.fenced", "pmcd 0", "zebra 0", "zebra.251 0")
	err := b.StartAgent(pmcdconf.Agent{Name: "gone", Domain: 8, Kind: "pipe", Argv: []string{filepath.Join(t.TempDir(), "none")}})
	if err == nil {
		t.Fatal("an agent without a program has started")
	}
	b.Want("numagents", "3")
	b.Want("agent.type", "pmcd 0", "gone 4", "zebra 0", "zebra.251 0")
	b.Want("agent.status", "pmcd 0", "gone 4", "zebra 0", "zebra.251 0")
}

func TestPMCDHostname(t *testing.T) {
	collector.NewFixture(t, &collector.Server{Hostname: "here.example"}).Want("hostname", "here.example")
	if host, err := os.Hostname(); err == nil {
		collector.NewFixture(t, &collector.Server{}).Want("hostname", host)
	}
}

// A noListener is a listener that never gets a connection.
type noListener struct {
	addr   net.Addr
	ctx    context.Context
	closed context.CancelFunc // ends ctx
}

func (l noListener) Addr() net.Addr { return l.addr }

func (l noListener) Accept() (net.Conn, error) {
	<-l.ctx.Done()
	return nil, net.ErrClosed
}

func (l noListener) Close() error {
	l.closed()
	return nil
}

// TestPMCDLocal checks that pmcd.feature.local is 1 if no listener can be reached from other
// hosts.
func TestPMCDLocal(t *testing.T) {
	tcp := func(ip string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(ip), Port: 44321} }
	unix := &net.UnixAddr{Net: "unix", Name: "/run/pmcd.socket"}
	for _, tt := range []struct {
		name  string
		addrs []net.Addr
		want  string
	}{
		{"no listener", nil, "1"},
		{"loopback and unix", []net.Addr{tcp("127.0.0.1"), tcp("::1"), unix}, "1"},
		{"any", []net.Addr{tcp("127.0.0.1"), tcp("0.0.0.0"), unix}, "0"},
		{"any IPv6", []net.Addr{tcp("::")}, "0"},
		{"an address", []net.Addr{tcp("192.0.2.1")}, "0"},
		{"another network", []net.Addr{&net.IPAddr{IP: net.IPv4(127, 0, 0, 1)}}, "0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var ln []net.Listener
			for _, a := range tt.addrs {
				ctx, closed := context.WithCancel(t.Context())
				ln = append(ln, noListener{a, ctx, closed})
			}
			b := collector.NewFixture(t, &collector.Server{})
			served := make(chan error)
			go func() { served <- b.Serve(t.Context(), ln...) }()
			defer func() {
				b.Close()
				if err := <-served; err != nil {
					t.Error(err)
				}
			}()
			collectortest.Eventually(t, "feature.local "+tt.want, func() bool { return slices.Equal(b.Fetch("feature.local"), []string{tt.want}) })
		})
	}
}

// TestPMCDContainers checks that pmcd.feature.containers is 1 while an agent uses the containers
// of clients.
func TestPMCDContainers(t *testing.T) {
	b := collector.NewFixture(t, &collector.Server{})
	b.Want("feature.containers", "0")
	if err := b.Add(&pmda.Agent{Name: "plain", Domain: 7}); err != nil {
		t.Fatal(err)
	}
	b.Want("feature.containers", "0")
	if err := b.Add(&pmda.Agent{Name: "looks", Domain: 8, ClientAttributes: true}); err != nil {
		t.Fatal(err)
	}
	b.Want("feature.containers", "1")
	if err := b.Remove(8); err != nil {
		t.Fatal(err)
	}
	b.Want("feature.containers", "0")
}

// TestLabelChange checks that clients learn of a change of the label files after a reset, or
// after a request that reads the changed files.
func TestLabelChange(t *testing.T) {
	dir := t.TempDir()
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(dir, "labels"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"a":1}`)
	s := collectortest.CloseAtEnd(t, &collector.Server{Labels: collector.ContextLabels{Dir: dir}})
	g := collectortest.Connect(t, s)
	told := func(what string, want bool) {
		t.Helper()
		got := g.Request(pdu.Fetch{PMIDs: []pdu.PMID{pdu.MakePMID(pmcdagent.Domain, 0, 23)}})
		if strings.HasPrefix(got, "change: ") {
			g.Receive()
		}
		if (got == "change: labels") != want {
			t.Errorf("%s: %s", what, got)
		}
	}
	s.Reset()
	g.Request(pdu.LabelReq{Class: pdu.LabelContext})
	told("nothing has changed", false)
	write(`{"a":2}`)
	told("before a reset", false)
	s.Reset()
	told("reset", true)
	told("told already", false)
	write(`{"a":3}`)
	g.Request(pdu.LabelReq{Class: pdu.LabelContext})
	told("request", true)
	s.Reset()
	told("noticed already", false)
}

// TestPMCDConcurrency fetches and stores all metrics while clients and agents are added and
// removed.
func TestPMCDConcurrency(t *testing.T) {
	b := collector.NewFixture(t, &collector.Server{TmpDir: t.TempDir()})
	var ids []pdu.PMID
	for _, id := range b.Agent.Namespace().All() {
		ids = append(ids, id)
	}
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for range 20 {
				conn, err := b.DialContext(t.Context(), "", "")
				if err != nil {
					t.Error(err)
					return
				}
				conn.SetDeadline(time.Now().Add(time.Minute))
				if err := fetchOver(conn, ids); err != nil {
					t.Error(err)
				}
				conn.Close()
				r := &pmda.Request{Client: pmda.NewClient(uint32(worker), uint64(worker))}
				for serial := 1; serial <= 6; serial++ {
					if _, err := b.Agent.Instances(t.Context(), r, pdu.MakeInDom(pmcdagent.Domain, serial), pdu.NoInst, ""); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Go(func() {
		for i := range 40 {
			if err := b.Add(collectortest.EmptyAgent(fmt.Sprint("a", i), pdu.Domain(100+i))); err != nil {
				t.Error(err)
			}
			for _, name := range []string{"control.traceconn", "control.tracepdu", "control.dumptrace", "control.dumpconn", "agent.fenced"} {
				if err := b.Store(name, i%2); err != nil {
					t.Error(err)
				}
			}
			if err := b.Remove(pdu.Domain(100 + i)); err != nil {
				t.Error(err)
			}
			b.Reset()
		}
	})
	wg.Wait()
}

// fetchOver greets a collector, fetches metrics and stores a container.
func fetchOver(conn net.Conn, ids []pdu.PMID) error {
	c := pdu.NewConn(conn)
	if _, _, err := c.Read(); err != nil {
		return err
	}
	if err := c.Queue(0, pdu.Creds{Version: pdu.ProtocolVersion}); err != nil {
		return err
	}
	if err := c.Queue(0, pdu.SetProfile{}); err != nil {
		return err
	}
	if err := c.Write(0, pdu.Fetch{PMIDs: ids}); err != nil {
		return err
	}
	for {
		h, body, err := c.Read()
		if err != nil {
			return err
		}
		if h.Kind == pdu.KindError {
			continue // a change of state
		}
		res := pdu.Result{Format: pdu.FormatLowRes}
		if err := res.Decode(body); err != nil {
			return err
		}
		if res.Len() != len(ids) {
			return fmt.Errorf("%d metrics, want %d", res.Len(), len(ids))
		}
		break
	}
	var w pdu.ResultWriter
	w.Begin(pdu.MakePMID(pmcdagent.Domain, 6, 2))
	w.String(pdu.NoInst, "box")
	if err := c.Write(0, w.PDU(pdu.FormatLowRes)); err != nil {
		return err
	}
	_, _, err := c.Read()
	return err
}
