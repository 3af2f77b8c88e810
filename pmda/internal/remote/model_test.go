package remote_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pdu/pdutest"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/remote"
)

// TestUnreliableAgent: many clients come, make requests, give up and go, while the agent replies
// in time, late, in pieces, wrongly or not at all, is not ready, ends and starts anew. No request
// may get the reply to another or exceed its timeout. An agent that keeps to the protocol keeps
// its connection and learns of clients in order. In the end no goroutine is left.
func TestUnreliableAgent(t *testing.T) {
	seeds := 100
	if testing.Short() {
		seeds = 20
	}
	var replied, failed atomic.Int64
	for seed := range uint64(seeds) {
		synctest.Test(t, func(t *testing.T) {
			m := &model{t: t, seed: seed}
			var wg sync.WaitGroup
			for slot := range uint32(5) {
				wg.Go(func() { m.runClients(slot, 12) })
			}
			wg.Wait()
			m.connection().Close()
			m.agents.Wait()
			replied.Add(m.replied.Load())
			failed.Add(m.failed.Load())
		})
		if t.Failed() {
			t.Fatalf("with seed %d", seed)
		}
	}
	if r, f := replied.Load(), failed.Load(); r < f/3 || f < r/3 {
		t.Errorf("%d requests got a reply and %d failed: the test tests little", r, f)
	}
}

// A model is a collector's part of TestUnreliableAgent.
type model struct {
	t       *testing.T
	seed    uint64
	seq     atomic.Uint64 // of the latest client
	request atomic.Uint32 // the number of the latest request

	replied, failed atomic.Int64 // requests

	mu          sync.Mutex
	connections uint64
	current     *remote.Agent
	far         *unreliableAgent
	agents      sync.WaitGroup
}

// connection is the present connection, or a new one if it has ended.
func (m *model) connection() *remote.Agent {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.current != nil {
		select {
		case <-m.current.Done():
		default:
			return m.current
		}
		if err := m.current.Err(); !m.far.broken.Load() {
			m.t.Errorf("the connection of an agent that keeps to the protocol has ended: %v", err)
		}
		begin := time.Now()
		m.current.Close()
		checkTook(m.t, begin, 0)
	}
	near, stream := net.Pipe()
	m.connections++
	rnd := rand.New(rand.NewPCG(m.seed, m.connections))
	m.far = &unreliableAgent{
		Peer: pdutest.Peer{Conn: pdu.NewConn(stream), Stream: stream}, t: m.t, rnd: rnd, prompt: 60 + rnd.IntN(40),
		clients: map[int32]uint64{}, attributes: map[int32]uint64{}, ended: map[int32]uint64{},
	}
	far, notReady := m.far, rnd.IntN(4) == 0
	m.agents.Go(func() { far.run(notReady) })
	cfg := quiet()
	cfg.NotReady = notReady
	var err error
	m.current, err = remote.New(m.t.Context(), pmda.Info{Name: "unreliable", Domain: 251}, near, cfg)
	if err != nil {
		panic(err)
	}
	return m.current
}

// runClients has clients in a slot, one after the other.
func (m *model) runClients(slot uint32, clients int) {
	rnd := rand.New(rand.NewPCG(m.seed, 1<<32+uint64(slot)))
	for range clients {
		c := pmda.NewClient(slot, m.seq.Add(1))
		if c.Seq%2 == 0 { // a client with an attribute
			c.PID = int(c.Seq)
		}
		var used []*remote.Agent
		var profile *pdu.Profile
		for range rnd.IntN(12) {
			agent := m.connection()
			if len(used) == 0 || used[len(used)-1] != agent {
				used = append(used, agent)
				m.atOnce(func() { agent.SetClient(c) })
			}
			if profile == nil || rnd.IntN(5) == 0 {
				profile = markedProfile(c.Seq, rnd.IntN(100))
			}
			err := m.makeRequest(rnd, agent, &pmda.Request{Client: c, ContextID: int32(rnd.IntN(2)), Profile: profile})
			if err != nil || rnd.IntN(3) == 0 {
				time.Sleep(time.Duration(rnd.Int64N(int64(3 * timeout))))
			}
		}
		for _, agent := range used {
			m.atOnce(func() { agent.EndClient(c) })
		}
	}
}

// atOnce checks that f does not wait.
func (m *model) atOnce(f func()) {
	begin := time.Now()
	f()
	checkTook(m.t, begin, 0)
}

// markedProfile is a profile that says whose it is.
func markedProfile(seq uint64, mark int) *pdu.Profile {
	return &pdu.Profile{InDoms: []pdu.InDomProfile{{InDom: pdu.MakeInDom(251, int(seq)), Insts: []pdu.InstID{pdu.InstID(mark)}}}}
}

// makeRequest makes a request and checks when and how it ends.
func (m *model) makeRequest(rnd *rand.Rand, agent *remote.Agent, r *pmda.Request) error {
	begin := time.Now()
	latest := begin.Add(2 * timeout) // one for the turn and one for the reply
	earlier := func() time.Time {
		d := time.Duration(rnd.Int64N(int64(2 * timeout)))
		if begin.Add(d).Before(latest) {
			latest = begin.Add(d)
		}
		return begin.Add(d)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if rnd.IntN(4) == 0 {
		r.Deadline = earlier()
	}
	if rnd.IntN(6) == 0 {
		defer time.AfterFunc(time.Until(earlier()), cancel).Stop()
	}
	n := m.request.Add(1)
	err := numberedRequest(ctx, rnd.IntN(4), n, agent, r)
	if now := time.Now(); now.After(latest) {
		m.t.Errorf("request %d took %v, %v too long", n, now.Sub(begin), now.Sub(latest))
	}
	if err == nil {
		m.replied.Add(1)
		return nil
	}
	m.failed.Add(1)
	switch {
	case err == pdu.ErrTimeout, err == pdu.ErrAgain, err == pdu.ErrPMID, err == pdu.ErrNoAgent:
	case err == context.Canceled && ctx.Err() != nil:
	case errors.Is(err, errOtherReply):
		m.t.Error(err)
	default:
		select {
		case <-agent.Done():
		default:
			m.t.Errorf("request %d: %v, but the connection has not ended", n, err)
		}
	}
	return err
}

var errOtherReply = errors.New("the reply to another request")

// replyTo returns the text in the unreliable agent's reply to request n of a client.
func replyTo(n uint32, client uint32) string { return fmt.Sprintf("%d of %d", n, client) }

// numberedRequest makes request n, of one of four kinds, and checks that the reply
// belongs to it.
func numberedRequest(ctx context.Context, kind int, n uint32, agent *remote.Agent, r *pmda.Request) error {
	want := replyTo(n, r.Client.ID)
	id := pdu.PMID(n)
	var got string
	var err error
	switch kind {
	case 0:
		var w pdu.ResultWriter
		if err = agent.Fetch(ctx, r, []pdu.PMID{id}, &w); err == nil {
			v, _ := w.Result()
			got, _ = pdu.As[string](v.At(0).Atom(0, pdu.TypeString))
		}
	case 1:
		got, err = agent.Text(ctx, r, pdu.TextOfMetric(pdu.PMID(n)), 0)
	case 2:
		var names []string
		names, err = agent.Names(ctx, r, id)
		got = strings.Join(names, ",")
	case 3:
		id, err = agent.PMID(ctx, r, want)
		got = replyTo(uint32(id), r.Client.ID)
	}
	if err == nil && got != want {
		return fmt.Errorf("%w: %q, not %q", errOtherReply, got, want)
	}
	return err
}

// An unreliableAgent draws its replies at random, and checks the PDUs that it gets.
type unreliableAgent struct {
	pdutest.Peer
	t      *testing.T
	rnd    *rand.Rand
	prompt int         // how often it just replies, in 100
	broken atomic.Bool // it has broken the protocol, or ended

	// By slot, as it was told: a client's Seq.
	clients    map[int32]uint64 // the client in the slot
	attributes map[int32]uint64 // the client whose attributes the agent has
	ended      map[int32]uint64 // the last client that ended

	profile struct {
		from    int32
		context int32
		seq     uint64 // of the client, from the profile itself
	}
}

func (a *unreliableAgent) run(notReady bool) {
	defer a.Stream.Close()
	if err := pdutest.AgentHello(pdu.FeatureAuth)(&a.Peer); err != nil {
		panic(err)
	}
	if notReady {
		a.pause(0, 3*timeout)
		a.Conn.Write(0, pdu.Status{Code: pdu.ErrPMDAReady})
	}
	for {
		h, p, err := a.Receive()
		if err != nil {
			return
		}
		if reply := a.replyTo(h.From, p); reply != nil && !a.send(reply) {
			a.broken.Store(true)
			return
		}
	}
}

func (a *unreliableAgent) pause(least, most time.Duration) {
	time.Sleep(least + time.Duration(a.rnd.Int64N(int64(most-least))))
}

// replyTo notes what a PDU says, and returns the reply that a request expects.
func (a *unreliableAgent) replyTo(from int32, p pdu.PDU) pdu.PDU {
	text := func(n uint32) string { return replyTo(n, uint32(from)) }
	switch p := p.(type) {
	case *pdu.Status:
		if p.Code != pdu.ErrNotConn {
			a.t.Errorf("it was sent %v", p.Code)
		}
		a.ended[from] = max(a.ended[from], a.clients[from])
		delete(a.clients, from)
		delete(a.attributes, from)
	case *pdu.Attr:
		seq, _ := strconv.ParseUint(strings.TrimRight(string(p.Value), "\x00"), 10, 64)
		a.checkClient(from, seq, "attributes")
		a.attributes[from] = seq
	case *pdu.SetProfile:
		a.profile.from, a.profile.context, a.profile.seq = from, p.Context, uint64(p.Profile.InDoms[0].InDom.Serial())
		a.checkClient(from, a.profile.seq, "profile")
	case *pdu.Fetch:
		if a.profile.from != from || a.profile.context != p.Context {
			a.t.Errorf("client %d fetches in context %d with the profile of client %d in %d", from, p.Context, a.profile.from, a.profile.context)
		}
		a.checkClient(from, a.profile.seq, "fetch")
		var w pdu.ResultWriter
		w.Begin(p.PMIDs[0])
		w.String(0, text(uint32(p.PMIDs[0])))
		return w.PDU(pdu.FormatLowRes)
	case *pdu.TextReq:
		return pdu.TextReply{Text: text(p.Ident)}
	case *pdu.PMIDList:
		return pdu.NameList{Names: []string{text(uint32(p.PMIDs[0]))}}
	case *pdu.NameList:
		var n uint32
		fmt.Sscanf(p.Names[0], "%d", &n)
		return pdu.PMIDList{Status: 1, PMIDs: []pdu.PMID{pdu.PMID(n)}}
	default:
		a.t.Errorf("it was sent %v", p)
	}
	return nil
}

// checkClient checks that a client may appear in a slot now.
func (a *unreliableAgent) checkClient(slot int32, seq uint64, what string) {
	if present := a.clients[slot]; present != 0 && present != seq {
		a.t.Errorf("%s of client %d in slot %d, where %d has not ended", what, seq, slot, present)
	}
	if last := a.ended[slot]; seq <= last {
		a.t.Errorf("%s of client %d in slot %d, where %d has ended", what, seq, slot, last)
	}
	if what != "attributes" && seq%2 == 0 && a.attributes[slot] != seq {
		a.t.Errorf("%s of client %d in slot %d, before its attributes", what, seq, slot)
	}
	a.clients[slot] = seq
}

// send sends a reply, or does something else; false ends the agent.
func (a *unreliableAgent) send(p pdu.PDU) bool {
	late := func(least, most time.Duration) bool {
		a.pause(least, most)
		return a.Conn.Write(0, p) == nil
	}
	if a.rnd.IntN(100) < a.prompt {
		return a.Conn.Write(0, p) == nil
	}
	switch n := a.rnd.IntN(40); {
	case n < 10:
		return late(0, timeout)
	case n < 20:
		return late(timeout, 5*timeout)
	case n < 24:
		a.Conn.Write(0, pdu.Status{Code: pdu.ErrPMID})
	case n < 28: // at the very moment of the time-out
		time.Sleep(timeout)
		return a.Conn.Write(0, p) == nil
	case n < 32:
		a.pause(0, 2*timeout)
		a.Conn.Write(0, pdu.Status{Code: pdu.ErrPMDANotReady})
		a.pause(0, 20*timeout)
		a.Conn.Write(0, pdu.Status{Code: pdu.ErrPMDAReady})
	case n < 35: // in pieces
		var b bytes.Buffer
		pdu.NewConn(&b).Write(0, p)
		for b.Len() > 0 {
			a.pause(0, timeout)
			a.Stream.Write(b.Next(1 + a.rnd.IntN(b.Len())))
		}
	case n < 36: // a PDU that is no reply
		a.broken.Store(true)
		a.Conn.Write(0, pdu.Creds{Version: 2})
	case n < 37: // a malformed reply
		a.broken.Store(true)
		a.Conn.Write(0, pdutest.Raw(p.Kind(), []byte("???")))
	case n < 38: // the reply twice
		a.broken.Store(true)
		a.Conn.Queue(0, p)
		a.Conn.Write(0, p)
	case n < 39: // longer than a late reply may take
		a.broken.Store(true)
		time.Sleep(12 * timeout)
	default:
		return false
	}
	return true
}
