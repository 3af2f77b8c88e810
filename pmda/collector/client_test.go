package collector_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/collector/internal/collectortest"
	"github.com/pcp-go/pcp/pmda/collector/pmcdconf"
)

// helloPDU is the reply to the challenge of a client without special features.
var helloPDU = pdu.Creds{Version: pdu.ProtocolVersion}

// container returns the PDU that a client sends after CREDS that announce a container.
func container(name string) pdu.Attr {
	return pdu.Attr{Key: pdu.AttrContainer, Value: []byte(name)}
}

// TestCreds checks every form of CREDS and the reply to the next request. The replies are those of
// C pmcd, except that C pmcd serves a client whose CREDS have failed.
func TestCreds(t *testing.T) {
	s := collectortest.CloseAtEnd(t, &collector.Server{})
	collectortest.Add(t, s, &collectortest.Agent{Name: "a", Domain: 10})
	desc := pdu.DescReq{PMID: pdu.MakePMID(10, 0, 1)}
	const described = "{Desc:{PMID:10.0.1 Type:U32 InDom:PM_INDOM_NULL Sem:instant Units:}}"
	fail := func(e pdu.Error) string { return "error: " + e.Error() + "\n" }
	// The second error is the reply to the next request.
	denied := fail(pdu.ErrPermission) + "error: " + pdu.ErrPermission.Error()
	creds := func(f pdu.Features) pdu.PDU { return pdu.Creds{Version: 2, Features: f} }
	for _, test := range []struct {
		name string
		say  []pdu.PDU
		want string
	}{
		{"plain", []pdu.PDU{helloPDU}, described},
		{"an older version", []pdu.PDU{pdu.Creds{Version: 1}}, described},
		{"no version", []pdu.PDU{pdu.Creds{Others: []uint32{5 << 24}}}, ""},
		{"no version, then one", []pdu.PDU{pdu.Creds{Others: []uint32{5 << 24}}, helloPDU}, described},
		{"nothing", nil, ""},
		{"twice", []pdu.PDU{helloPDU, helloPDU}, described},
		{"unknown feature", []pdu.PDU{creds(0x20)}, fail(pdu.ErrIPC) + denied},
		{"a feature of the collector alone", []pdu.PDU{creds(pdu.FeatureLabels)}, fail(pdu.ErrIPC) + denied},
		{"TLS", []pdu.PDU{creds(pdu.FeatureSecure)}, fail(pdu.ErrNotConn) + denied},
		{"TLS acknowledgement", []pdu.PDU{creds(pdu.FeatureSecureAck)}, described},
		{"TLS with an acknowledgement", []pdu.PDU{creds(pdu.FeatureSecure | pdu.FeatureSecureAck)}, fail(pdu.ErrNotConn) + fail(pdu.ErrNotConn) + denied},
		{"TLS, then not", []pdu.PDU{creds(pdu.FeatureSecure), helloPDU}, fail(pdu.ErrNotConn) + described},
		{"TLS, then CREDS without a version", []pdu.PDU{creds(pdu.FeatureSecure), pdu.Creds{Others: []uint32{0}}}, fail(pdu.ErrNotConn) + denied},
		{"compression", []pdu.PDU{creds(pdu.FeatureCompress)}, fail(pdu.ErrUnsupported) + denied},
		{"SASL", []pdu.PDU{creds(pdu.FeatureAuth)}, fail(pdu.ErrUnsupported) + denied},
		{"no container", []pdu.PDU{creds(pdu.FeatureContainer), helloPDU}, fail(pdu.ErrIPC) + denied},
		{"container", []pdu.PDU{creds(pdu.FeatureContainer), container("web.1_a-b")}, described},
		{"container of another name", []pdu.PDU{creds(pdu.FeatureContainer), container("web/1")}, fail(-22) + denied},
		{"container without a name", []pdu.PDU{creds(pdu.FeatureContainer), container("")}, fail(-22) + denied},
		{"container with a NUL", []pdu.PDU{creds(pdu.FeatureContainer), container("web\x00")}, fail(-22) + denied},
		{"container with a long name", []pdu.PDU{creds(pdu.FeatureContainer), container(strings.Repeat("x", 256))}, fail(-22) + denied},
		{"container with the longest name", []pdu.PDU{creds(pdu.FeatureContainer), container(strings.Repeat("x", 255))}, described},
		{"another attribute", []pdu.PDU{creds(pdu.FeatureContainer), pdu.Attr{Key: pdu.AttrUserID, Value: []byte("0")}}, fail(pdu.ErrIPC) + denied},
		{"credentials of a known user", []pdu.PDU{creds(pdu.FeatureCredsRequired)}, described},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := collectortest.Dial(t, s)
			if got, want := g.Receive(), "challenge 0xe40"; got != want {
				t.Errorf("%s, want %s", got, want)
			}
			done := make(chan string)
			go func() { done <- g.ReceiveAll() }()
			for _, p := range append(test.say, desc) {
				g.Conn.Write(0, p) // the collector may have closed the connection
			}
			if test.want != "" {
				// PROFILE has no reply. The bytes after it end the connection after all replies.
				g.Conn.Write(0, pdu.SetProfile{})
				g.SendBytes(make([]byte, 12))
			}
			if got := <-done; got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

// TestFraming checks that replies come in the order of the requests, however the requests are
// split. Bytes that cannot be a PDU end only their own connection.
func TestFraming(t *testing.T) {
	s := &collector.Server{MaxPDU: 100}
	collectortest.Add(t, s, &collectortest.Agent{Name: "a", Domain: 10})
	addr := collectortest.ServeTCP(t, s)
	other := collectortest.DialTCP(t, addr).Hello()
	desc := func(item int) pdu.DescReq { return pdu.DescReq{PMID: pdu.MakePMID(10, 0, item)} }
	head := func(n int, k pdu.Kind) []byte {
		b := binary.BigEndian.AppendUint32(nil, uint32(n))
		return append(binary.BigEndian.AppendUint32(b, uint32(k)), 0, 0, 0, 0)
	}
	t.Run("pipelined", func(t *testing.T) {
		g := collectortest.DialTCP(t, addr).Hello()
		var all []byte
		for i := range 50 {
			all = append(all, head(16, pdu.KindDescReq)...)
			all = binary.BigEndian.AppendUint32(all, uint32(desc(i).PMID))
		}
		for len(all) > 0 {
			n := min(7, len(all))
			g.SendBytes(all[:n])
			all = all[n:]
		}
		for i := range 50 {
			if got, want := g.Receive(), fmt.Sprintf("{Desc:{PMID:10.0.%d ", i); !strings.HasPrefix(got, want) {
				t.Fatalf("%s, want %s", got, want)
			}
		}
	})
	t.Run("unknown kinds", func(t *testing.T) {
		g := collectortest.DialTCP(t, addr).Hello()
		for _, k := range []pdu.Kind{0, 1, 0x6fff, 0x700a, 0x700b, 0x7018, 0x7fffffff} {
			g.SendBytes(head(12, k))
			if got, want := g.Receive(), "error: "+pdu.ErrIPC.Error(); got != want {
				t.Errorf("kind %#x: %s", int(k), got)
			}
		}
		if got := g.Request(desc(1)); !strings.HasPrefix(got, "{Desc:") {
			t.Errorf("afterwards: %s", got)
		}
	})
	for name, b := range map[string][]byte{
		"short":            head(11, pdu.KindDescReq),
		"zero":             head(0, pdu.KindDescReq),
		"negative":         head(-1, pdu.KindDescReq),
		"nearly 2 GiB":     head(1<<31-1, pdu.KindDescReq),
		"above the limit":  append(head(101, pdu.KindDescReq), make([]byte, 89)...),
		"negative kind":    head(12, -1),
		"http":             []byte("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"),
		"end within a PDU": head(16, pdu.KindDescReq),
	} {
		t.Run(name, func(t *testing.T) {
			g := collectortest.DialTCP(t, addr).Hello()
			g.SendBytes(b)
			if strings.HasPrefix(name, "end") {
				g.Net.(*net.TCPConn).CloseWrite()
			}
			if got := g.ReceiveAll(); got != "" {
				t.Errorf("replied %s", got)
			}
			if got := other.Request(desc(1)); !strings.HasPrefix(got, "{Desc:") {
				t.Errorf("another client: %s", got)
			}
		})
	}
}

// TestClientTimeouts checks that a client that sends nothing, or half of a PDU, is disconnected
// in time. An idle client is not.
func TestClientTimeouts(t *testing.T) {
	for _, test := range []struct {
		name  string
		act   func(g *collectortest.Client)
		after time.Duration // 0 for never
		line  bool
	}{
		{"no hello", func(g *collectortest.Client) { g.Receive() }, 60 * time.Second, true},
		{"half a hello", func(g *collectortest.Client) { g.Receive(); g.SendBytes([]byte{0, 0, 0, 20, 0}) }, 5 * time.Second, true},
		{"half a request", func(g *collectortest.Client) { g.Hello(); g.SendBytes([]byte{0}) }, 5 * time.Second, true},
		{"drop by drop", func(g *collectortest.Client) {
			g.Hello()
			go func() {
				for range 15 {
					g.SendBytes([]byte{0, 0, 0, 16, 0, 0, 0x70, 4}[:1])
					time.Sleep(time.Second)
				}
			}()
		}, 5 * time.Second, true},
		{"half a large request", func(g *collectortest.Client) {
			g.Hello()
			g.SendBytes(append([]byte{0, 0, 0xff, 0, 0, 0, 0x70, 3, 0, 0, 0, 0}, make([]byte, 2000)...))
		}, 5 * time.Second, true},
		{"credentials without a version, late", func(g *collectortest.Client) {
			g.Receive()
			g.Send(pdu.Creds{Others: []uint32{5 << 24}})
		}, 60 * time.Second, true},
		{"does not read", func(g *collectortest.Client) {
			g.Hello()
			g.Send(pdu.DescReq{PMID: pdu.MakePMID(2, 0, 7)})
		}, 30 * time.Second, true},
		{"idle", func(g *collectortest.Client) { g.Hello() }, 0, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := collectortest.NewMessages()
				s := collectortest.CloseAtEnd(t, &collector.Server{Logger: slog.New(log)})
				g := collectortest.Dial(t, s)
				g.Net.SetDeadline(time.Time{})
				test.act(g)
				began := time.Now()
				synctest.Wait()
				n := s.NumClients()
				if n != 1 {
					t.Fatalf("%d clients", n)
				}
				for range 600 {
					time.Sleep(time.Second / 5)
					synctest.Wait()
					if s.NumClients() == 0 {
						break
					}
				}
				took := time.Since(began)
				switch {
				case test.after == 0 && took < 100*time.Second:
					t.Errorf("cut off after %v", took)
				case test.after > 0 && (took < test.after || took > test.after*5/4+time.Second):
					t.Errorf("cut off after %v, want %v", took, test.after)
				}
				want := []string(nil)
				if test.line {
					want = []string{"client closed"}
				}
				if diff := cmp.Diff(want, log.Take()); diff != "" {
					t.Errorf("log (-want +got):\n%s", diff)
				}
				g.Net.Close()
				time.Sleep(20 * time.Second) // for the client that sends single bytes
			})
		})
	}
}

// TestStateChanges checks that each client gets a change once, with its next fetch. A client that
// connects later does not get it.
func TestStateChanges(t *testing.T) {
	s := collectortest.CloseAtEnd(t, &collector.Server{})
	changing := &collectortest.Agent{Name: "a", Domain: 10}
	var changed pdu.Change
	changing.Fetched = func(_ *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
		w.Changed, changed = changed, 0
		for _, id := range ids {
			w.Begin(id)
		}
		return nil
	}
	collectortest.Add(t, s, changing)
	fetch := pdu.Fetch{PMIDs: []pdu.PMID{pdu.MakePMID(10, 0, 1)}}
	other := pdu.Fetch{PMIDs: []pdu.PMID{pdu.MakePMID(11, 0, 1)}}
	a, b := collectortest.Connect(t, s), collectortest.Connect(t, s)
	want := func(g *collectortest.Client, p pdu.PDU, change string) {
		t.Helper()
		got := g.Request(p)
		if text, ok := strings.CutPrefix(got, "change: "); ok {
			got = text
			g.Receive()
		} else {
			got = ""
		}
		if got != change {
			t.Errorf("told %q, want %q", got, change)
		}
	}
	want(a, fetch, "")
	collectortest.Add(t, s, collectortest.EmptyAgent("b", 11))
	want(a, fetch, "add agent")
	want(a, fetch, "")
	if err := s.Remove(11); err != nil {
		t.Fatal(err)
	}
	s.SetNames(nil)
	want(a, other, "drop agent,names")
	want(b, other, "add agent,drop agent,names")
	changed = pdu.ChangeLabels | pdu.ChangeAddAgent | 1<<20
	want(a, fetch, "labels")
	want(a, fetch, "")
	want(b, other, "labels")
	changed = pdu.ChangeNames
	want(b, pdu.Fetch{PMIDs: append(other.PMIDs, fetch.PMIDs...)}, "names")
	want(a, fetch, "names")
	want(collectortest.Connect(t, s), fetch, "")
	if got := a.Request(pdu.DescReq{PMID: pdu.MakePMID(11, 0, 1)}); got != "error: "+pdu.ErrPMID.Error() {
		t.Errorf("an agent that was removed: %s", got)
	}
}

// attributesAgent is an agent that passes the users of clients to the test.
type attributesAgent struct {
	collectortest.Agent
	users chan int
}

func (w *attributesAgent) SetClient(c *pmda.Client) { w.users <- c.UID }

// TestAttributes checks that an agent gets the attributes of clients that connect, and of those
// that are connected when it is added. A client in this process has the user of the process.
func TestAttributes(t *testing.T) {
	s := collectortest.CloseAtEnd(t, &collector.Server{})
	uid := syscall.Getuid()
	if runtime.GOOS == "windows" {
		t.Skip("users have no numbers")
	}
	before := &attributesAgent{collectortest.Agent{Name: "before", Domain: 10}, make(chan int, 9)}
	collectortest.Add(t, s, collectortest.Panicking{Handler: collectortest.EmptyAgent("panicking", 12)}, before)
	collectortest.Connect(t, s)
	if got := <-before.users; got != uid {
		t.Errorf("user %d", got)
	}
	after := &attributesAgent{collectortest.Agent{Name: "after", Domain: 11}, make(chan int, 9)}
	collectortest.Add(t, s, after)
	if got := <-after.users; got != uid {
		t.Errorf("user %d", got)
	}
}

// rules parses an access section.
func rules(t *testing.T, text string) *pmcdconf.Access {
	t.Helper()
	conf, err := pmcdconf.Parse("rules", strings.NewReader("[access]\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	return conf.Access
}

// everyRequest returns one request of each kind that needs a permission. The store is the last
// one.
func everyRequest() []pdu.PDU {
	id := pdu.MakePMID(10, 0, 1)
	return []pdu.PDU{
		pdu.SetProfile{}, pdu.Fetch{PMIDs: []pdu.PMID{id}}, pdu.Fetch{PMIDs: []pdu.PMID{id}, HighRes: true},
		pdu.DescReq{PMID: id}, pdu.DescsReq{PMIDs: []pdu.PMID{id}}, pdu.InstanceReq{InDom: pdu.MakeInDom(10, 1), Inst: pdu.NoInst},
		pdu.TextReq{Ident: uint32(id), Text: pdu.TextPMID}, pdu.LabelReq{Ident: uint32(id), Class: pdu.LabelItem},
		pdu.NameList{Names: []string{"x"}}, pdu.PMIDList{PMIDs: []pdu.PMID{id}}, pdu.ChildReq{}, pdu.TraverseReq{},
		collectortest.Storing(id),
	}
}

// TestDenied checks that every denied operation fails, and that the connection stays open.
func TestDenied(t *testing.T) {
	denied := "error: " + pdu.ErrPermission.Error()
	for _, test := range []struct {
		rules        string
		fetch, store bool
	}{
		{`disallow "unix:": fetch;`, false, true},
		{`disallow "unix:": store;`, true, false},
		{`allow "unix:": all;`, true, true},
		{`disallow .*: all;`, true, true},
	} {
		t.Run(test.rules, func(t *testing.T) {
			s := collectortest.CloseAtEnd(t, &collector.Server{Access: rules(t, test.rules)})
			collectortest.Add(t, s, &collectortest.Agent{Name: "a", Domain: 10})
			g := collectortest.Dial(t, s)
			g.Receive()
			g.Send(helloPDU)
			all := everyRequest()
			for i, p := range all {
				may := test.fetch
				if i == len(all)-1 {
					may = test.store
				}
				if p.Kind() == pdu.KindProfile && may {
					g.Send(p) // has no reply
					continue
				}
				if got := g.Request(p); (got != denied) != may {
					t.Errorf("%v: %s", p.Kind(), got)
				}
			}
		})
	}
	t.Run("refused", func(t *testing.T) {
		s := collectortest.CloseAtEnd(t, &collector.Server{Access: rules(t, `disallow "unix:": all;`)})
		if got, want := collectortest.Dial(t, s).ReceiveAll(), "refused: "+pdu.ErrPermission.Error(); got != want {
			t.Error(got)
		}
	})
	t.Run("limit", func(t *testing.T) {
		s := collectortest.CloseAtEnd(t, &collector.Server{Access: rules(t, `allow "unix:": maximum 1 connections;`)})
		first := collectortest.Connect(t, s)
		if got, want := collectortest.Dial(t, s).ReceiveAll(), "refused: "+pdu.ErrConnLimit.Error(); got != want {
			t.Error(got)
		}
		first.Net.Close()
		collectortest.Eventually(t, "room", func() bool { return s.NumClients() == 0 })
		collectortest.Connect(t, s).Request(pdu.ChildReq{})
	})
}

// TestUnknownUser checks that a client whose user is unknown gets nothing if there are rules for
// users, with any features in its CREDS. C pmcd continues to serve such a client.
func TestUnknownUser(t *testing.T) {
	s := &collector.Server{Access: rules(t, "allow user *: all;")}
	collectortest.Add(t, s, &collectortest.Agent{Name: "a", Domain: 10})
	addr := collectortest.ServeTCP(t, s)
	for _, f := range []pdu.Features{0, pdu.FeatureSecure, pdu.FeatureAuth, pdu.FeatureContainer, 0x20, pdu.FeatureCredsRequired} {
		g := collectortest.DialTCP(t, addr)
		g.Receive()
		if got := g.Request(pdu.Creds{Version: 2, Features: f}); !strings.HasPrefix(got, "error: ") {
			t.Errorf("features %#x: %s", int(f), got)
		}
		for _, p := range everyRequest() {
			if got, want := g.Request(p), "error: "+pdu.ErrPermission.Error(); got != want {
				t.Errorf("features %#x: %v: %s", int(f), p.Kind(), got)
			}
		}
	}
	if runtime.GOOS == "windows" {
		return
	}
	if got := collectortest.Connect(t, s).Request(pdu.ChildReq{Name: "nothing"}); got != "error: "+pdu.ErrName.Error() {
		t.Errorf("a user that is known: %s", got)
	}
}

// TestNewRules checks that new rules apply at once to connected clients. A client that they
// refuse gets an error and is disconnected, and its connection no longer counts.
func TestNewRules(t *testing.T) {
	s := collectortest.CloseAtEnd(t, &collector.Server{})
	collectortest.Add(t, s, &collectortest.Agent{Name: "a", Domain: 10})
	configure := func(text string) {
		t.Helper()
		if err := s.Configure(&pmcdconf.Config{Access: rules(t, text)}); err != nil {
			t.Fatal(err)
		}
	}
	g := collectortest.Connect(t, s)
	desc := pdu.DescReq{PMID: pdu.MakePMID(10, 0, 1)}
	denied := "error: " + pdu.ErrPermission.Error()
	g.Request(desc) // after the reply the collector has the profile
	configure(`disallow "unix:": fetch;`)
	if got := g.Request(desc); got != denied {
		t.Errorf("fetch denied: %s", got)
	}
	configure(`allow "unix:": all, maximum 1 connections;`)
	if got := g.Request(desc); got == denied {
		t.Errorf("fetch allowed again: %s", got)
	}
	configure(`allow "unix:": all, maximum 2 connections;`)
	h := collectortest.Connect(t, s)
	h.Request(desc)
	g.Net.Close()
	collectortest.Eventually(t, "end", func() bool { return s.NumClients() == 1 })
	other := collectortest.Connect(t, s)
	other.Request(desc)
	configure(`disallow "unix:": all;`)
	if got := other.ReceiveAll(); got != denied {
		t.Errorf("cut off with %q", got)
	}
	if got := h.ReceiveAll(); got != denied {
		t.Errorf("cut off with %q", got)
	}
	collectortest.Eventually(t, "end", func() bool { return s.NumClients() == 0 })
	configure(`allow "unix:": all, maximum 1 connections;`)
	collectortest.Connect(t, s).Request(desc) // no connection counts any more
}

// TestManyClients runs many clients in parallel, each with its own contexts and profiles.
func TestManyClients(t *testing.T) {
	s := &collector.Server{}
	for d := range pdu.Domain(3) {
		f := &collectortest.Agent{Name: fmt.Sprint("a", d), Domain: 10 + d}
		f.Fetched = func(r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
			// The value depends on the profile.
			insts := r.Profile.For(pdu.MakeInDom(1, 1)).Insts
			for _, id := range ids {
				w.Begin(id)
				w.Uint32(pdu.InstID(r.ContextID), uint32(insts[0]))
			}
			return nil
		}
		collectortest.Add(t, s, f)
	}
	addr := collectortest.ServeTCP(t, s)
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			var g *collectortest.Client
			if i%2 == 0 {
				g = collectortest.DialTCP(t, addr).Hello()
			} else {
				g = collectortest.Connect(t, s)
			}
			for ctx := range 3 {
				p := pdu.Profile{}
				p.Add(pdu.MakeInDom(1, 1), pdu.InstID(1000*i+ctx))
				g.Send(pdu.SetProfile{Context: int32(ctx), Profile: p})
			}
			for n := range 20 {
				ctx := n % 3
				v := fmt.Sprintf(" %d=%d", ctx, 1000*i+ctx)
				want := "RESULT 10.0.1" + v + "; 11.0.1" + v + "; 10.0.2" + v + "; 12.0.1" + v + "; 13.0.1 " + pdu.ErrNoAgent.Error() + "; 10.0.1" + v
				if got := g.Request(pdu.Fetch{Context: int32(ctx), PMIDs: []pdu.PMID{pdu.MakePMID(10, 0, 1), pdu.MakePMID(11, 0, 1),
					pdu.MakePMID(10, 0, 2), pdu.MakePMID(12, 0, 1), pdu.MakePMID(13, 0, 1), pdu.MakePMID(10, 0, 1)}}); got != want {
					t.Errorf("client %d: got  %s\nwant %s", i, got, want)
					return
				}
			}
			g.Net.Close()
		})
	}
	all.Wait()
	collectortest.Eventually(t, "ends", func() bool { return s.NumClients() == 0 })
}

// TestFetch checks fetches that fail as a whole, and the formats of successful ones.
func TestFetch(t *testing.T) {
	s := collectortest.CloseAtEnd(t, &collector.Server{MaxMetrics: 3})
	lacking := &collectortest.Agent{Name: "lacking", Domain: 12}
	lacking.Fetched = func(_ *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
		w.Begin(ids[0])
		return nil
	}
	collectortest.Add(t, s, &collectortest.Agent{Name: "a", Domain: 10}, &collectortest.Agent{Name: "b", Domain: 11}, lacking,
		&collectortest.Agent{Name: "failing", Domain: 13, Failing: func() error { return pdu.ErrAppVersion }},
		&collectortest.Agent{Name: "panicking", Domain: 14, Failing: func() error { panic("on purpose") }})
	ids := func(ds ...pdu.Domain) (ids []pdu.PMID) {
		for i, d := range ds {
			ids = append(ids, pdu.MakePMID(d, 0, i))
		}
		return ids
	}
	g := collectortest.Connect(t, s)
	for _, test := range []struct {
		name string
		ask  pdu.Fetch
		want string
	}{
		{"one", pdu.Fetch{PMIDs: ids(10)}, "RESULT 10.0.0 -1=0"},
		{"high resolution", pdu.Fetch{PMIDs: ids(10), HighRes: true}, "HIGHRES_RESULT 10.0.0 -1=0"},
		{"no profile", pdu.Fetch{Context: 1, PMIDs: ids(10)}, "error: " + pdu.ErrNoProfile.Error()},
		{"negative context", pdu.Fetch{Context: -1, PMIDs: ids(10)}, "error: " + pdu.ErrNoProfile.Error()},
		{"too many", pdu.Fetch{PMIDs: ids(10, 10, 10, 10)}, "error: " + pdu.ErrTooBig.Error()},
		{"domains in turn", pdu.Fetch{PMIDs: ids(10, 11, 10)}, "RESULT 10.0.0 -1=0; 11.0.1 -1=1; 10.0.2 -1=2"},
		{"the same", pdu.Fetch{PMIDs: append(ids(10), ids(10)...)}, "RESULT 10.0.0 -1=0; 10.0.0 -1=0"},
		{"wrong number of sets", pdu.Fetch{PMIDs: ids(12, 10, 12)},
			"RESULT 12.0.0 " + pdu.ErrPMID.Error() + "; 10.0.1 -1=1; 12.0.2 " + pdu.ErrPMID.Error()},
		{"failing", pdu.Fetch{PMIDs: ids(13, 10)}, "RESULT 13.0.0 " + pdu.ErrAppVersion.Error() + "; 10.0.1 -1=1"},
		{"panicking", pdu.Fetch{PMIDs: ids(14, 10)}, "RESULT 14.0.0 " + pdu.ErrGeneric.Error() + "; 10.0.1 -1=1"},
		{"no agent", pdu.Fetch{PMIDs: ids(10, 99, 511)}, "RESULT 10.0.0 -1=0; 99.0.1 " + pdu.ErrNoAgent.Error() + "; 511.0.2 " + pdu.ErrNoAgent.Error()},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := g.Request(test.ask); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
	// A client of many collectors numbers its contexts with all of them.
	for i := range int32(collector.DefaultMaxContexts - 1) { // it has one already
		g.Send(pdu.SetProfile{Context: 1000 * (i + 1)})
	}
	if got, want := g.Request(pdu.SetProfile{Context: 63}), "error: "+collector.ErrTryAgain.Error(); got != want {
		t.Errorf("one context too many: %s", got)
	}
	g.Send(pdu.SetProfile{Context: 63000}) // a known context
	if got := g.Request(pdu.Fetch{Context: 63000, PMIDs: ids(10)}); got != "RESULT 10.0.0 -1=0" {
		t.Errorf("context 63000: %s", got)
	}
	s.Fence(10)
	if got := g.Request(pdu.Fetch{PMIDs: ids(10, 11)}); got != "RESULT 10.0.0 "+pdu.ErrPMDAFenced.Error()+"; 11.0.1 -1=1" {
		t.Errorf("fenced: %s", got)
	}
}

// TestClose checks that Close disconnects idle clients at once, and busy ones when they have
// their reply.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &collector.Server{}
		gate := make(chan struct{})
		busy := &collectortest.Agent{Name: "busy", Domain: 10, Failing: func() error { <-gate; return nil }}
		collectortest.Add(t, s, busy)
		idle, asking := collectortest.Connect(t, s), collectortest.Connect(t, s)
		half := collectortest.Connect(t, s)
		half.SendBytes([]byte{0, 0, 0})
		new := collectortest.Dial(t, s)
		new.Receive()
		asking.Send(pdu.DescReq{PMID: pdu.MakePMID(10, 0, 1)})
		synctest.Wait()
		began := time.Now()
		var closers sync.WaitGroup
		for range 2 {
			closers.Go(func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		for _, g := range []*collectortest.Client{idle, half, new} {
			g.ReceiveAll()
		}
		if d := time.Since(began); d != 0 {
			t.Errorf("idle clients are cut off after %v", d)
		}
		if _, err := s.DialContext(t.Context(), "", ""); !errors.Is(err, collector.ErrClosed) {
			t.Errorf("dial: %v", err)
		}
		time.Sleep(time.Second)
		close(gate)
		if got := asking.ReceiveAll(); !strings.HasPrefix(got, "{Desc:") {
			t.Errorf("busy client: %s", got)
		}
		closers.Wait()
		if d := time.Since(began); d != time.Second {
			t.Errorf("took %v", d)
		}
	})
}

// TestCloseStuck checks that an agent that does not return does not keep the Server from ending.
// The error names the agent. An agent that waits for its context returns when clients are
// disconnected.
func TestCloseStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &collector.Server{Timeout: -1}
		gate := make(chan struct{})
		stuck := &collectortest.Agent{Name: "stuck", Domain: 10, Failing: func() error { <-gate; return nil }}
		returning := untilCancelled{collectortest.EmptyAgent("returning", 11)}
		collectortest.Add(t, s, stuck, returning)
		a, b := collectortest.Connect(t, s), collectortest.Connect(t, s)
		a.Send(pdu.DescReq{PMID: pdu.MakePMID(10, 0, 1)})
		b.Send(pdu.DescReq{PMID: pdu.MakePMID(11, 0, 1)})
		c := collectortest.Connect(t, s)
		c.Send(pdu.ChildReq{Name: ""}) // and never reads the reply
		synctest.Wait()
		began := time.Now()
		err := s.Close()
		const want = `collector: stop agent "stuck": it has not returned from 1 requests`
		if err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
		if op, ok := errors.AsType[*collector.OpError](err); !ok || op.Agent != "stuck" || !op.Timeout() {
			t.Errorf("error %#v", err)
		}
		if again := s.Close(); again == nil || again.Error() != want {
			t.Errorf("again: %v", again)
		}
		if d := time.Since(began); d < collector.DefaultGrace || d > collector.DefaultGrace+2*time.Second {
			t.Errorf("took %v", d)
		}
		close(gate)
		synctest.Wait()
	})
}

// TestCloseStuckRemoved checks that the error also names an agent that was removed during a call.
func TestCloseStuckRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &collector.Server{}
		gate := make(chan struct{})
		block := func() error { <-gate; return nil }
		collectortest.Add(t, s, &collectortest.Agent{Name: "stuck", Domain: 10, Failing: block}, &collectortest.Agent{Name: "stays", Domain: 11, Failing: block}, collectortest.EmptyAgent("idle", 12))
		for d := range pdu.Domain(2) {
			collectortest.Connect(t, s).Send(pdu.DescReq{PMID: pdu.MakePMID(10+d, 0, 1)})
		}
		synctest.Wait()
		for _, d := range []pdu.Domain{10, 12} {
			if err := s.Remove(d); err != nil {
				t.Error(err)
			}
		}
		err := s.Close()
		const want = `collector: stop agent "stays": it has not returned from 1 requests` + "\n" +
			`collector: stop agent "stuck": it has not returned from 1 requests`
		if err == nil || err.Error() != want {
			t.Errorf("error %v\nwant  %s", err, want)
		}
		close(gate)
		synctest.Wait()
	})
}

// untilCancelled is an agent that returns when its context ends.
type untilCancelled struct{ pmda.Handler }

func (untilCancelled) Desc(ctx context.Context, _ *pmda.Request, _ pdu.PMID) (pdu.Desc, error) {
	<-ctx.Done()
	return pdu.Desc{}, context.Cause(ctx)
}

// A fakeListener accepts the connections that a test sends it.
type fakeListener struct {
	accepts chan any // net.Conn or error
	once    sync.Once
	closed  chan struct{}
}

func newFakeListener() *fakeListener {
	return &fakeListener{accepts: make(chan any), closed: make(chan struct{})}
}

func (l *fakeListener) Accept() (net.Conn, error) {
	select {
	case a := <-l.accepts:
		if err, ok := a.(error); ok {
			return nil, err
		}
		return a.(net.Conn), nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *fakeListener) Close() error   { l.once.Do(func() { close(l.closed) }); return nil }
func (l *fakeListener) Addr() net.Addr { return &net.UnixAddr{Name: "fake", Net: "unix"} }

// TestAcceptBackOff checks that a Server that is out of descriptors continues to serve its clients,
// logs a line once a minute, and accepts clients again later.
func TestAcceptBackOff(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("errors of accept do not pass there")
	}
	synctest.Test(t, func(t *testing.T) {
		log := collectortest.NewMessages()
		s := &collector.Server{Logger: slog.New(log)}
		l := newFakeListener()
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error)
		go func() { served <- s.Serve(ctx, l) }()
		began := time.Now()
		for range 20 {
			l.accepts <- &net.OpError{Op: "accept", Err: syscall.EMFILE}
		}
		if d := time.Since(began); d < 5*time.Second || d > 20*time.Second {
			t.Errorf("20 failures took %v", d)
		}
		near, far := net.Pipe()
		l.accepts <- far
		collectortest.NewClient(t, near).Hello().Request(pdu.ChildReq{})
		if diff := cmp.Diff([]string{"cannot accept clients"}, log.Take()); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

// TestSpareFromTheStart checks that a descriptor is reserved before the first client connects,
// because none may be left then.
func TestSpareFromTheStart(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("errors of accept do not pass there")
	}
	synctest.Test(t, func(t *testing.T) {
		s := &collector.Server{}
		l := newFakeListener()
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error)
		go func() { served <- s.Serve(ctx, l) }()
		began := time.Now()
		l.accepts <- &net.OpError{Op: "accept", Err: syscall.EMFILE}
		near, far := net.Pipe()
		l.accepts <- far
		if d := time.Since(began); d != 0 {
			t.Errorf("the client had to wait %v", d)
		}
		collectortest.NewClient(t, near).Hello().Request(pdu.ChildReq{})
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

// TestServe checks that Serve ends when all listeners have failed, when ctx ends, or on Close,
// and that it runs only once.
func TestServe(t *testing.T) {
	broken := errors.New("broken")
	t.Run("failures", func(t *testing.T) {
		log := collectortest.NewMessages()
		s := &collector.Server{Logger: slog.New(log)}
		a, b := newFakeListener(), newFakeListener()
		served := make(chan error)
		go func() { served <- s.Serve(t.Context(), a, b) }()
		a.accepts <- broken
		collectortest.Eventually(t, "line in the log", func() bool {
			return cmp.Diff([]string{"no longer accepting clients"}, log.Take()) == ""
		})
		near, far := net.Pipe()
		b.accepts <- far
		collectortest.NewClient(t, near).Hello().Request(pdu.ChildReq{})
		b.accepts <- broken
		err := <-served
		const want = "collector: accept: broken"
		if !errors.Is(err, broken) || err.Error() != want+"\n"+want {
			t.Errorf("error %v", err)
		}
		l := newFakeListener()
		if err := s.Serve(t.Context(), l); err == nil {
			t.Error("served twice")
		}
		<-l.closed
	})
	for _, n := range []int{0, 1} {
		t.Run(fmt.Sprintf("close with %d listeners", n), func(t *testing.T) {
			s := &collector.Server{}
			served := make(chan error)
			var ln []net.Listener
			for range n {
				ln = append(ln, newFakeListener())
			}
			go func() { served <- s.Serve(context.Background(), ln...) }()
			collectortest.Connect(t, s)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if err := <-served; err != nil {
				t.Error(err)
			}
			for _, l := range ln {
				<-l.(*fakeListener).closed
			}
		})
	}
	t.Run("after Close", func(t *testing.T) {
		s := &collector.Server{}
		s.Close()
		if err := s.Serve(context.Background(), newFakeListener()); err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := s.DialContext(ctx, "", ""); err != context.Canceled {
			t.Errorf("dial: %v", err)
		}
	})
	t.Run("a client that goes before the challenge", func(t *testing.T) {
		log := collectortest.NewMessages()
		s := &collector.Server{Logger: slog.New(log)}
		addr := collectortest.ServeTCP(t, s)
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		io.ReadFull(c, make([]byte, 20))
		c.Close()
		collectortest.Dial(t, s).Net.Close()
		collectortest.Eventually(t, "ends", func() bool { return s.NumAccepted() == 2 && s.NumClients() == 0 })
		if lines := log.Take(); lines != nil {
			t.Errorf("logged %q", lines)
		}
	})
}

// A slowAttributes is an agent whose SetClient waits until gate is closed.
type slowAttributes struct {
	*collectortest.Agent
	gate chan struct{}
}

func (l slowAttributes) SetClient(*pmda.Client) { <-l.gate }

// TestAttributesFirst checks that a new agent gets the attributes of a client before that
// client's first request.
func TestAttributesFirst(t *testing.T) {
	s := collectortest.CloseAtEnd(t, &collector.Server{})
	g := collectortest.Connect(t, s)
	l := slowAttributes{&collectortest.Agent{Name: "attributes", Domain: 30}, make(chan struct{})}
	added := make(chan error, 1)
	go func() { added <- s.Add(l) }()
	ask := pdu.Fetch{PMIDs: []pdu.PMID{pdu.MakePMID(30, 0, 1)}}
	for end := time.Now().Add(100 * time.Millisecond); time.Now().Before(end); {
		if got, want := g.Request(ask), "RESULT 30.0.1 "+pdu.ErrNoAgent.Error(); got != want {
			t.Errorf("got %s, want %s", got, want)
			break
		}
	}
	close(l.gate)
	if err := <-added; err != nil {
		t.Error(err)
	}
	g.Send(ask)
	for _, want := range []string{"change: add agent", "RESULT 30.0.1 -1=1"} {
		if got := g.Receive(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
