package remote_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
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
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/remote"
)

// Many clients come, ask, lose patience and go, while the agent answers in time,
// late, in pieces, wrongly or not at all, is not ready, dies and comes again.
// Whatever happens: nobody gets an answer to somebody else's question, nobody
// waits beyond his time, an agent that does nothing wrong keeps its connection,
// it hears of clients in order, and in the end no goroutine is left.
func TestModel(t *testing.T) {
	seeds := 100
	if testing.Short() {
		seeds = 20
	}
	var answered, refused atomic.Int64
	for seed := range uint64(seeds) {
		synctest.Test(t, func(t *testing.T) {
			w := &world{t: t, seed: seed}
			var wg sync.WaitGroup
			for slot := range uint32(5) {
				wg.Go(func() { w.inhabit(slot, 12) })
			}
			wg.Wait()
			w.remote().Close()
			w.agents.Wait()
			answered.Add(w.answered.Load())
			refused.Add(w.refused.Load())
		})
		if t.Failed() {
			t.Fatalf("with seed %d", seed)
		}
	}
	if a, r := answered.Load(), refused.Load(); a < r/3 || r < a/3 {
		t.Errorf("%d requests were answered and %d were not: the test tests little", a, r)
	}
}

type world struct {
	t    *testing.T
	seed uint64
	seq  atomic.Uint64 // of the latest client
	ask  atomic.Uint32 // of the latest request

	answered, refused atomic.Int64

	mu     sync.Mutex
	conns  uint64
	m      *remote.Agent
	agent  *moody
	agents sync.WaitGroup
}

// remote is the present connection, or a new one if it has ended.
func (w *world) remote() *remote.Agent {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.m != nil {
		select {
		case <-w.m.Done():
		default:
			return w.m
		}
		if err := w.m.Err(); !w.agent.guilty.Load() {
			w.t.Errorf("an agent that did nothing wrong was given up: %v", err)
		}
		begin := time.Now()
		w.m.Close()
		took(w.t, begin, 0)
	}
	ours, theirs := net.Pipe()
	w.conns++
	w.agent = &moody{w: w, stream: theirs, conn: pdu.NewConn(theirs), rnd: rand.New(rand.NewPCG(w.seed, w.conns)),
		heard: map[int32]uint64{}, told: map[int32]uint64{}, ended: map[int32]uint64{}}
	w.agent.temper = 60 + w.agent.rnd.IntN(40)
	notReady := w.agent.rnd.IntN(4) == 0
	agent := w.agent
	w.agents.Go(func() { agent.live(notReady) })
	var err error
	w.m, err = remote.New(w.t.Context(), pmda.Info{Name: "moody", Domain: 251}, ours, remote.Config{NotReady: notReady, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	return w.m
}

// inhabit is the life of a slot: clients one after the other.
func (w *world) inhabit(slot uint32, clients int) {
	rnd := rand.New(rand.NewPCG(w.seed, 1<<32+uint64(slot)))
	for range clients {
		c := pmda.NewClient(slot, w.seq.Add(1))
		if c.Seq%2 == 0 { // a client of whom something is known
			c.PID = int(c.Seq)
		}
		var met []*remote.Agent
		var prof *pdu.Profile
		for range rnd.IntN(12) {
			m := w.remote()
			if len(met) == 0 || met[len(met)-1] != m {
				met = append(met, m)
				w.tells(func() { m.Attributes(c) })
			}
			if prof == nil || rnd.IntN(5) == 0 {
				prof = markedProfile(c.Seq, rnd.IntN(100))
			}
			err := w.request(rnd, m, &pmda.Request{Client: c, Context: int32(rnd.IntN(2)), Profile: prof})
			if err != nil || rnd.IntN(3) == 0 {
				time.Sleep(time.Duration(rnd.Int64N(int64(3 * timeout))))
			}
		}
		for _, m := range met {
			w.tells(func() { m.EndClient(c) })
		}
	}
}

// tells checks that nobody waits.
func (w *world) tells(f func()) {
	begin := time.Now()
	f()
	took(w.t, begin, 0)
}

// markedProfile is a profile that says whose it is.
func markedProfile(seq uint64, mark int) *pdu.Profile {
	return &pdu.Profile{InDoms: []pdu.InDomProfile{{InDom: pdu.MakeInDom(251, int(seq)), Insts: []pdu.InstID{pdu.InstID(mark)}}}}
}

// request asks something of which the answer can be recognised.
func (w *world) request(rnd *rand.Rand, m *remote.Agent, r *pmda.Request) error {
	begin := time.Now()
	latest := begin.Add(2 * timeout) // one for the turn and one for the answer
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
	n := w.ask.Add(1)
	err := askMoody(ctx, rnd.IntN(4), n, m, r)
	if now := time.Now(); now.After(latest) {
		w.t.Errorf("request %d took %v, %v too long", n, now.Sub(begin), now.Sub(latest))
	}
	if err == nil {
		w.answered.Add(1)
		return nil
	}
	w.refused.Add(1)
	switch {
	case err == pdu.ErrTimeout, err == pdu.ErrAgain, err == pdu.ErrPMID, err == pdu.ErrNoAgent:
	case err == context.Canceled && ctx.Err() != nil:
	case errors.Is(err, errMixedUp):
		w.t.Error(err)
	default: // the connection has failed
		select {
		case <-m.Done():
		default:
			w.t.Errorf("request %d: %v, but the connection is fine", n, err)
		}
	}
	return err
}

var errMixedUp = errors.New("an answer to another question")

// askMoody makes request n of one of four kinds.
func askMoody(ctx context.Context, kind int, n uint32, m *remote.Agent, r *pmda.Request) error {
	want := fmt.Sprintf("%d of %d", n, r.Client.ID)
	id := pdu.PMID(n)
	var got string
	var err error
	switch kind {
	case 0:
		var w pdu.ResultWriter
		if err = m.Fetch(ctx, r, []pdu.PMID{id}, &w); err == nil {
			v, _ := w.Result()
			s, _ := pdu.As[string](v.At(0).Atom(0, pdu.TypeString))
			got = s
		}
	case 1:
		got, err = m.Text(ctx, r, pdu.TextOfMetric(pdu.PMID(n)), 0)
	case 2:
		var names []string
		names, err = m.Names(ctx, r, id)
		got = strings.Join(names, ",")
	case 3:
		id, err = m.PMID(ctx, r, want)
		got = fmt.Sprintf("%d of %d", uint32(id), r.Client.ID)
	}
	if err == nil && got != want {
		return fmt.Errorf("%w: %q, not %q", errMixedUp, got, want)
	}
	return err
}

// A moody agent answers as it feels, and checks what it hears.
type moody struct {
	w      *world
	stream net.Conn
	conn   *pdu.Conn
	rnd    *rand.Rand
	temper int         // how often it just answers, in 100
	guilty atomic.Bool // it has done what may cost the connection

	heard   map[int32]uint64 // who is in a slot
	told    map[int32]uint64 // whose attributes it has
	ended   map[int32]uint64 // who was the last to leave
	profile struct {
		from    int32
		context int32
		mark    uint64
	}
}

func (a *moody) live(notReady bool) {
	defer a.stream.Close()
	if _, err := pdu.AgentHello(a.conn, 1, pdu.FeatureAuth); err != nil {
		panic(err)
	}
	if notReady {
		a.rest(0, 3*timeout)
		a.conn.Write(0, pdu.Status{Code: pdu.ErrPMDAReady})
	}
	for {
		h, body, err := a.conn.Read()
		if err != nil {
			return
		}
		p, err := pdu.Decode(h.Kind, bytes.Clone(body))
		if err != nil {
			a.w.t.Error(err)
			return
		}
		if answer := a.hear(h.From, p); answer != nil && !a.answer(answer) {
			a.guilty.Store(true)
			return
		}
	}
}

func (a *moody) rest(least, most time.Duration) {
	time.Sleep(least + time.Duration(a.rnd.Int64N(int64(most-least))))
}

// hear notes what it is told, and gives the answer that a request wants.
func (a *moody) hear(from int32, p pdu.PDU) pdu.PDU {
	want := func(n uint32) string { return fmt.Sprintf("%d of %d", n, from) }
	switch p := p.(type) {
	case *pdu.Status:
		if p.Code != pdu.ErrNotConn {
			a.w.t.Errorf("it was told %v", p.Code)
		}
		a.ended[from] = max(a.ended[from], a.heard[from])
		delete(a.heard, from)
		delete(a.told, from)
	case *pdu.Attr:
		seq, _ := strconv.ParseUint(strings.TrimRight(string(p.Value), "\x00"), 10, 64)
		a.meet(from, seq, "attributes")
		a.told[from] = seq
	case *pdu.SetProfile:
		d := p.Profile.InDoms[0]
		a.profile.from, a.profile.context, a.profile.mark = from, p.Context, uint64(d.InDom.Serial())<<32|uint64(d.Insts[0])
		a.meet(from, uint64(d.InDom.Serial()), "profile")
	case *pdu.Fetch:
		if a.profile.from != from || a.profile.context != p.Context {
			a.w.t.Errorf("client %d fetches in context %d with the profile of client %d in %d", from, p.Context, a.profile.from, a.profile.context)
		}
		a.meet(from, a.profile.mark>>32, "fetch")
		var w pdu.ResultWriter
		w.Begin(p.PMIDs[0])
		w.String(0, want(uint32(p.PMIDs[0])))
		return w.PDU(pdu.FormatLowRes)
	case *pdu.TextReq:
		return pdu.TextReply{Text: want(p.Ident)}
	case *pdu.PMIDList:
		return pdu.NameList{Names: []string{want(uint32(p.PMIDs[0]))}}
	case *pdu.NameList:
		var n uint32
		fmt.Sscanf(p.Names[0], "%d", &n)
		return pdu.PMIDList{Status: 1, PMIDs: []pdu.PMID{pdu.PMID(n)}}
	default:
		a.w.t.Errorf("it got %v", p)
	}
	return nil
}

// meet checks that a client may appear in a slot.
func (a *moody) meet(from int32, seq uint64, what string) {
	if there := a.heard[from]; there != 0 && there != seq {
		a.w.t.Errorf("%s of client %d in slot %d, where %d has not ended", what, seq, from, there)
	}
	if last := a.ended[from]; seq <= last {
		a.w.t.Errorf("%s of client %d in slot %d, where %d has ended", what, seq, from, last)
	}
	if what != "attributes" && seq%2 == 0 && a.told[from] != seq {
		a.w.t.Errorf("%s of client %d in slot %d, whose attributes it was not told", what, seq, from)
	}
	a.heard[from] = seq
}

// answer answers, or does something else; false ends the agent.
func (a *moody) answer(p pdu.PDU) bool {
	late := func(least, most time.Duration) bool {
		a.rest(least, most)
		return a.conn.Write(0, p) == nil
	}
	if a.rnd.IntN(100) < a.temper {
		return a.conn.Write(0, p) == nil
	}
	switch mood := 60 + a.rnd.IntN(40); {
	case mood < 70:
		return late(0, timeout)
	case mood < 80:
		return late(timeout, 5*timeout)
	case mood < 84:
		a.conn.Write(0, pdu.Status{Code: pdu.ErrPMID})
	case mood < 88: // exactly when the request times out
		time.Sleep(timeout)
		return a.conn.Write(0, p) == nil
	case mood < 92:
		a.rest(0, 2*timeout)
		a.conn.Write(0, pdu.Status{Code: pdu.ErrPMDANotReady})
		a.rest(0, 20*timeout)
		a.conn.Write(0, pdu.Status{Code: pdu.ErrPMDAReady})
	case mood < 95:
		var b bytes.Buffer
		pdu.NewConn(&b).Write(0, p)
		for b.Len() > 0 {
			a.rest(0, timeout)
			a.stream.Write(b.Next(1 + a.rnd.IntN(b.Len())))
		}
	case mood < 96:
		a.guilty.Store(true)
		a.conn.Write(0, pdu.Creds{Version: 2})
	case mood < 97:
		a.guilty.Store(true)
		a.conn.Write(0, raw{p.Kind(), []byte("???")})
	case mood < 98:
		a.guilty.Store(true)
		a.conn.Queue(0, p)
		a.conn.Write(0, p)
	case mood < 99:
		a.guilty.Store(true)
		time.Sleep(12 * timeout)
	default:
		return false
	}
	return true
}
