//go:build unix

package collector_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/collector/internal/collectortest"
	"github.com/pcp-go/pcp/pmda/internal/remote"
)

// The hostile inputs are of the classes in PCP's security advisories. The sender must get an error
// or be disconnected, the collector must need little memory, and other clients must not be
// affected.

// raw returns a PDU of words and strings. The strings are not padded.
func raw(kind pdu.Kind, parts ...any) []byte {
	b := make([]byte, pdu.HeaderLen)
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			b = binary.BigEndian.AppendUint32(b, uint32(p))
		case string:
			b = append(b, p...)
		}
	}
	return collectortest.PutHeader(b, kind)
}

// hostileCost is how many bytes the collector and the test may allocate for a hostile PDU. That
// is enough for buffers, but not for a count of millions.
const hostileCost = 4 << 20

// underAttack runs an attack on a collector. It checks that another client is served and that the
// collector allocates little memory.
func underAttack(t *testing.T, s *collector.Server, attack func(g *collectortest.Client)) {
	t.Helper()
	if err := s.Add(collectortest.NewExactAgent(10)); err != nil {
		t.Fatal(err)
	}
	other, g := collectortest.Connect(t, s), collectortest.Connect(t, s)
	ids := []pdu.PMID{pdu.MakePMID(10, 0, 0), pdu.MakePMID(10, 0, 2)}
	other.FetchExact(ids...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	attack(g)
	runtime.ReadMemStats(&after)
	if cost := after.TotalAlloc - before.TotalAlloc; cost > hostileCost {
		t.Errorf("%d bytes were allocated", cost)
	}
	if diff := cmp.Diff([]pdu.Error{0, 0}, other.FetchExact(ids...)); diff != "" {
		t.Errorf("another client (-want +got):\n%s", diff)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestHostileLength(t *testing.T) {
	for _, length := range []uint32{1<<31 - 1, 1<<31 - 16, 1 << 31, 1<<32 - 1, 1<<32 - 16, 0, 11, collector.DefaultMaxPDU + 1} {
		t.Run(fmt.Sprintf("%#x", length), func(t *testing.T) {
			log := collectortest.NewMessages()
			underAttack(t, &collector.Server{Logger: slog.New(log)}, func(g *collectortest.Client) {
				b := raw(pdu.KindFetch)
				binary.BigEndian.PutUint32(b, length)
				g.SendBytes(b)
				if _, body, err := g.Conn.Read(); err == nil {
					g.Code(pdu.DescReq{PMID: 1}) // at most an error, then the end
					t.Errorf("not disconnected, but replied to with %x", body)
				}
			})
			if diff := cmp.Diff([]string{"client closed"}, log.Take()); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
		})
	}
}

const (
	hostileHigh = math.MaxInt32
	hostileWrap = 1 << 30 // times four it overflows to 0
)

// malformed maps names to requests that must get the reply pdu.ErrIPC. The client stays
// connected.
type malformed map[string][]byte

func (m malformed) run(t *testing.T) {
	for name, b := range m {
		t.Run(name, func(t *testing.T) {
			underAttack(t, &collector.Server{}, func(g *collectortest.Client) {
				g.SendBytes(b)
				kind, body := g.Reply()
				var s pdu.Status
				if kind != pdu.KindError || s.Decode(body) != nil || s.Code != pdu.ErrIPC {
					t.Errorf("replied to with %v %x", kind, body)
				}
				g.Send(helloPDU) // malformed credentials deny everything until valid ones arrive
				if diff := cmp.Diff([]pdu.Error{0}, g.FetchExact(pdu.MakePMID(10, 0, 0))); diff != "" {
					t.Errorf("afterwards (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestHostileCounts(t *testing.T) {
	id := int(pdu.MakePMID(10, 0, 0))
	m := malformed{}
	for _, n := range []int{hostileHigh, hostileWrap, -1, math.MinInt32, 5} {
		add := func(name string, kind pdu.Kind, parts ...any) { m[fmt.Sprintf("%s=%d", name, n)] = raw(kind, parts...) }
		add("fetch", pdu.KindFetch, 0, 0, 0, n, id)
		add("highres", pdu.KindHighResFetch, 0, 0, 0, n, id)
		add("profile entries", pdu.KindProfile, 0, 0, n, 0)
		add("profile instances", pdu.KindProfile, 0, 0, 1, 0, int(pdu.MakeInDom(10, 0)), 1, n, 0, 1)
		add("descs", pdu.KindDescIDs, -1, n, id)
		add("names", pdu.KindPMNSNames, 2, 0, n, 1, "a\x00\x00\x00")
		add("statuses", pdu.KindPMNSNames, 2, n, 1, 1, "a\x00\x00\x00")
		add("name", pdu.KindPMNSNames, 2, 0, 1, n, "a\x00\x00\x00")
		add("pmids", pdu.KindPMNSIDs, 0, n, id)
		add("instance name", pdu.KindInstanceReq, int(pdu.MakeInDom(10, 0)), 0, 0, -1, n, "a\x00\x00\x00")
		add("child name", pdu.KindPMNSChild, 0, n, "a\x00\x00\x00")
		add("traverse name", pdu.KindPMNSTraverse, 0, n, "a\x00\x00\x00")
		add("sets", pdu.KindResult, 0, 0, n, id, 1, 0, -1, 7)
		if n > 0 { // negative values are error codes
			add("values", pdu.KindResult, 0, 0, 1, id, n, 0, -1, 7)
		}
		add("credentials", pdu.KindCreds, n, 0x01020000)
		add("block", pdu.KindResult, 0, 0, 1, id, 1, 1, -1, n+100, 0x03<<24|12, 0, 7) // word index
	}
	m["block length"] = raw(pdu.KindResult, 0, 0, 1, id, 1, 1, -1, 11, 0x03<<24|0xffffff, 0, 7)
	m["block of nothing"] = raw(pdu.KindResult, 0, 0, 1, id, 1, 1, -1, 11, 0x03<<24, 0, 7)
	m.run(t)
}

func TestHostilePadding(t *testing.T) {
	m := malformed{}
	for length := 1; length <= 9; length++ {
		for _, room := range []int{0, length / 2, length - 1} {
			name := string(make([]byte, room))
			add := func(what string, kind pdu.Kind, parts ...any) {
				m[fmt.Sprintf("%s of %d in %d", what, length, room)] = raw(kind, parts...)
			}
			add("instance", pdu.KindInstanceReq, int(pdu.MakeInDom(10, 0)), 0, 0, -1, length, name)
			add("child", pdu.KindPMNSChild, 0, length, name)
			add("traverse", pdu.KindPMNSTraverse, 0, length, name)
			add("names", pdu.KindPMNSNames, length+1, 0, 1, length, name)
		}
	}
	m.run(t)
}

func TestHostileContexts(t *testing.T) {
	s := &collector.Server{}
	underAttack(t, s, func(g *collectortest.Client) {
		var p pdu.SetProfile
		for p.Context = 0; p.Context < collector.DefaultMaxContexts; p.Context++ {
			if err := g.Conn.Write(1, p); err != nil {
				t.Fatal(err)
			}
		}
		for _, p.Context = range []int32{collector.DefaultMaxContexts, 1000, 1 << 20, math.MaxInt32} {
			if got := g.Code(p); got != -11 { // EAGAIN
				t.Errorf("context %d: %v", p.Context, got)
			}
		}
		if got := g.Code(pdu.Fetch{Context: math.MaxInt32, PMIDs: []pdu.PMID{1}}); got != pdu.ErrNoProfile {
			t.Errorf("fetch: %v", got)
		}
		g.SendBytes(raw(pdu.KindProfile, -1, 0, 0, 0))
		if kind, _ := g.Reply(); kind != pdu.KindError {
			t.Errorf("negative context replied to with %v", kind)
		}
		if n := s.MostProfiles(); n > collector.DefaultMaxContexts {
			t.Errorf("%d profiles are kept", n)
		}
	})
}

func TestHostilePMIDs(t *testing.T) {
	many := make([]pdu.PMID, 16000) // as many as a PDU may have
	for i := range many {
		many[i] = pdu.MakePMID(10, 0, 2)
	}
	t.Run("more than allowed", func(t *testing.T) {
		underAttack(t, &collector.Server{MaxMetrics: 1000}, func(g *collectortest.Client) {
			if got := g.Code(pdu.Fetch{PMIDs: many[:1001]}); got != pdu.ErrTooBig {
				t.Error(got)
			}
		})
	})
	t.Run("a reply larger than allowed", func(t *testing.T) {
		underAttack(t, &collector.Server{MaxReply: 64 << 10}, func(g *collectortest.Client) {
			if got := g.Code(pdu.Fetch{PMIDs: many[:4000]}); got != pdu.ErrTooBig {
				t.Error(got)
			}
			if diff := cmp.Diff([]pdu.Error{0}, g.FetchExact(many[0])); diff != "" {
				t.Errorf("afterwards (-want +got):\n%s", diff)
			}
		})
	})
}

// An eventReader decodes the events that it receives.
type eventReader struct {
	*collectortest.ExactAgent
	err error
}

func (o *eventReader) Store(_ context.Context, _ *pmda.Request, values *pdu.Result) error {
	for _, a := range values.At(0).All(pdu.TypeEvent) {
		_, o.err = a.Events()
	}
	return nil
}

func TestHostileEventCounts(t *testing.T) {
	for _, n := range []int{hostileHigh, hostileWrap, -1, math.MinInt32, 2} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			s, o := &collector.Server{}, &eventReader{ExactAgent: collectortest.NewExactAgent(11)}
			if err := s.Add(o); err != nil {
				t.Fatal(err)
			}
			underAttack(t, s, func(g *collectortest.Client) {
				id := int(pdu.MakePMID(11, 0, 0))
				records := raw(pdu.KindResult, 0, 0, 1, id, 1, 1, -1, 11, int(pdu.TypeEvent)<<24|28, n, 1, 2, 1, 0, 0)
				g.SendBytes(records)
				g.Reply()
				if pdu.FromError(o.err) != pdu.ErrIPC {
					t.Errorf("%d records: %v", n, o.err)
				}
				parameters := raw(pdu.KindResult, 0, 0, 1, id, 1, 1, -1, 11, int(pdu.TypeEvent)<<24|24, 1, 1, 2, 1, n)
				g.SendBytes(parameters)
				g.Reply()
				if pdu.FromError(o.err) != pdu.ErrIPC {
					t.Errorf("%d parameters: %v", n, o.err)
				}
			})
		})
	}
}

// TestHostileLabels and the following tests use a hostile agent, which sends invalid PDUs and is
// disconnected.
func TestHostileLabels(t *testing.T) {
	id := int(pdu.MakePMID(30, 0, 0))
	ask := pdu.LabelReq{Ident: uint32(id), Class: pdu.LabelItem}
	class := int(pdu.LabelItem)
	text := `{"a":1}`
	sets := map[string][]byte{}
	for _, n := range []int{-1, math.MinInt32, hostileHigh, hostileWrap, 4} {
		sets[fmt.Sprintf("offset=%d", n)] = raw(pdu.KindLabel, id, class, 0, 1, -1, 1, n, len(text), 0, 0, text)
		sets[fmt.Sprintf("length=%d", n+4)] = raw(pdu.KindLabel, id, class, 0, 1, -1, 1, 52, n+4, 0, 0, text)
		sets[fmt.Sprintf("labels=%d", n)] = raw(pdu.KindLabel, id, class, 0, 1, -1, max(n, 4), 52, len(text), 0, 0, text)
		sets[fmt.Sprintf("sets=%d", n)] = raw(pdu.KindLabel, id, class, 0, n, -1, 1, 52, len(text), 0, 0, text)
	}
	sets["name beyond the text"] = raw(pdu.KindLabel, id, class, 0, 1, -1, 1, 52, len(text), -0x100, -1, text)
	for name, b := range sets {
		t.Run(name, func(t *testing.T) { hostileAgent(t, ask, b) })
	}
}

func TestHostileAgents(t *testing.T) {
	id := int(pdu.MakePMID(30, 0, 0))
	fetch := pdu.Fetch{PMIDs: []pdu.PMID{pdu.PMID(id)}}
	indom := pdu.MakeInDom(30, 0)
	instances := pdu.InstanceReq{InDom: indom, Inst: pdu.NoInst}
	text := pdu.TextReq{Ident: uint32(id), Text: pdu.TextPMID | pdu.TextOneLine}
	type exchange struct {
		ask   pdu.PDU
		reply []byte
	}
	replies := map[string]exchange{}
	for _, n := range []int{-1, math.MinInt32, hostileHigh, hostileWrap, 100} {
		add := func(what string, ask pdu.PDU, kind pdu.Kind, parts ...any) {
			replies[fmt.Sprintf("%s=%d", what, n)] = exchange{ask, raw(kind, parts...)}
		}
		add("sets", fetch, pdu.KindResult, 0, 0, n, id, 1, 0, -1, 7)
		if n > 0 {
			add("values", fetch, pdu.KindResult, 0, 0, 1, id, n, 0, -1, 7)
		}
		add("instances", instances, pdu.KindInstance, int(indom), n, 0, 1, "a\x00\x00\x00")
		add("instance name", instances, pdu.KindInstance, int(indom), 1, 0, n, "a\x00\x00\x00")
		add("text", text, pdu.KindText, id, n, "a\x00\x00\x00")
	}
	for _, length := range []uint32{1 << 31, 1<<32 - 1, 3} {
		b := raw(pdu.KindResult, 0, 0, 1)
		binary.BigEndian.PutUint32(b, length)
		replies[fmt.Sprintf("length=%#x", length)] = exchange{fetch, b}
	}
	for name, e := range replies {
		t.Run(name, func(t *testing.T) { hostileAgent(t, e.ask, e.reply) })
	}
}

// hostileAgent makes an agent reply to a request with the given bytes. The agent is disconnected,
// and its client gets pdu.ErrIPC, and then pdu.ErrNoAgent.
func hostileAgent(t *testing.T, ask pdu.PDU, reply []byte) {
	t.Helper()
	near, far := net.Pipe()
	said := make(chan error, 1)
	go func() {
		c := pdu.NewConn(far)
		_, err := pdu.AgentHello(c, int32(os.Getpid()), 0)
		for err == nil {
			var h pdu.Header
			if h, _, err = c.Read(); err == nil && h.Kind == ask.Kind() {
				_, err = far.Write(reply)
				break
			}
		}
		c.Read() // until the collector closes the connection
		said <- err
	}()
	m, err := remote.New(t.Context(), pmda.Info{Name: "hostile", Domain: 30}, near, remote.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s := &collector.Server{}
	if err := s.Add(m); err != nil {
		t.Fatal(err)
	}
	underAttack(t, s, func(g *collectortest.Client) {
		g.Net.SetDeadline(time.Now().Add(collectortest.ReplyLimit))
		for _, want := range []pdu.Error{pdu.ErrIPC, pdu.ErrNoAgent} {
			kind, body := g.RoundTrip(ask)
			var st pdu.Status
			var res pdu.Result
			switch {
			case kind == pdu.KindError && st.Decode(body) == nil:
			case kind == pdu.KindResult && res.Decode(body) == nil && res.Len() == 1:
				st.Code = pdu.FromError(res.At(0).Err())
			}
			if st.Code != want {
				t.Errorf("replied to with %v %v, want %v", kind, st.Code, want)
			}
		}
	})
	m.Close()
	if err := <-said; err != nil {
		t.Logf("the agent: %v", err)
	}
}

func TestHostileAttributes(t *testing.T) {
	for _, value := range []string{
		`","userid":0,"x":"`, `\`, `\"`, "\x00", "a\nb", "\u2028", "\xff\xfe", `{"container":1}`, `</script>`,
	} {
		t.Run(fmt.Sprintf("%q", value), func(t *testing.T) {
			s := &collector.Server{Labels: collector.ContextLabels{Hostname: func() (string, error) { return value, nil }}}
			underAttack(t, s, func(g *collectortest.Client) {
				var id pdu.PMIDList
				kind, body := g.RoundTrip(pdu.NameList{Names: []string{"pmcd.client.container"}})
				if err := id.Decode(body); err != nil || kind != pdu.KindPMNSIDs {
					t.Fatal(kind, err)
				}
				var w pdu.ResultWriter
				w.Begin(id.PMIDs[0])
				w.String(0, value)
				stored := g.Code(w.PDU(pdu.FormatLowRes))
				kind, body = g.RoundTrip(pdu.LabelReq{Class: pdu.LabelContext})
				var p pdu.LabelReply
				if err := p.Decode(body); err != nil || kind != pdu.KindLabel || len(p.Sets) != 1 {
					t.Fatalf("labels: %v %v", kind, err)
				}
				var labels map[string]any
				if err := json.Unmarshal(p.Sets[0].JSON, &labels); err != nil {
					t.Fatalf("%q: %v", p.Sets[0].JSON, err)
				}
				if uid, ok := labels["userid"].(float64); ok && int(uid) != os.Getuid() {
					t.Errorf("userid is %v", uid)
				}
				if len(labels) > 7 || labels["x"] != nil {
					t.Errorf("labels were smuggled in: %s", p.Sets[0].JSON)
				}
				// A NUL ends a string, and JSON is valid UTF-8.
				var want any
				if name, _, _ := strings.Cut(value, "\x00"); name != "" {
					quoted, _ := json.Marshal(name)
					if err := json.Unmarshal(quoted, &want); err != nil {
						t.Fatal(err)
					}
				}
				if got := labels["container"]; stored == 0 && got != want {
					t.Errorf("container is %q, want %q", got, want)
				}
			})
		})
	}
}
