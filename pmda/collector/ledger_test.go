package collector_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/collector/internal/collectortest"
)

// wideAgent returns an agent whose metrics each have a value of n bytes.
func wideAgent(d pdu.Domain, n int) *collectortest.Agent {
	value := string(make([]byte, n))
	a := &collectortest.Agent{Name: fmt.Sprint("wide", d), Domain: d}
	a.Fetched = func(_ *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
		for _, id := range ids {
			w.Begin(id)
			w.String(pdu.NoInst, value)
		}
		return nil
	}
	return a
}

// metrics returns n metrics, from the given domains in turn.
func metrics(n int, domains ...pdu.Domain) (ids []pdu.PMID) {
	for i := range n {
		ids = append(ids, pdu.MakePMID(domains[i%len(domains)], 0, i%1000))
	}
	return ids
}

// TestMemoryOfFetch checks that the memory of a client's fetch is limited for all agents
// together. A fetch is refused while its result grows, and then its memory is released.
func TestMemoryOfFetch(t *testing.T) {
	log := collectortest.NewMessages()
	s := collectortest.CloseAtEnd(t, (&collector.Server{Logger: slog.New(log), MaxReply: 1 << 30}).WithClientMemory(1<<20))
	domains := []pdu.Domain{10, 11, 12, 13, 14, 15, 16, 17}
	for _, d := range domains {
		collectortest.Add(t, s, wideAgent(d, 1000))
	}
	g := collectortest.Connect(t, s)
	for range 3 {
		if got := g.Code(pdu.Fetch{PMIDs: metrics(16000, domains...)}); got != pdu.ErrTooBig {
			t.Errorf("got %v", got)
		}
		collectortest.Eventually(t, "release", func() bool { return s.MemoryHeld() == 0 })
	}
	if most := s.MemoryPeak(); most == 0 || most > 1<<20 {
		t.Errorf("%d bytes were held", most)
	}
	if kind, body := g.RoundTrip(pdu.Fetch{PMIDs: metrics(400, domains...)}); kind != pdu.KindResult || len(body) < 400_000 {
		t.Errorf("a fetch that fits: %v with %d bytes", kind, len(body))
	}
	for _, line := range log.Take() {
		if line != "memory refused" {
			t.Errorf("logged %q", line)
		}
	}
}

// TestSumOfParts checks that a result of several agents is refused before it is merged if it is
// too long.
func TestSumOfParts(t *testing.T) {
	s := collectortest.CloseAtEnd(t, &collector.Server{MaxReply: 300_000})
	collectortest.Add(t, s, wideAgent(10, 1000), wideAgent(11, 1000))
	g := collectortest.Connect(t, s)
	if got := g.Code(pdu.Fetch{PMIDs: metrics(400, 10, 11)}); got != pdu.ErrTooBig {
		t.Errorf("got %v", got)
	}
	if kind, body := g.RoundTrip(pdu.Fetch{PMIDs: metrics(280, 10, 11)}); kind != pdu.KindResult || len(body) < 280_000 {
		t.Errorf("a fetch that fits: %v with %d bytes", kind, len(body))
	}
	if n := s.MemoryPeak(); n > 700_000 {
		t.Errorf("%d bytes were held", n)
	}
}

// TestUnread checks that clients that do not read replies take memory from each other, but not
// from the next client: each may hold what is left for the others. When memory is short, the
// Server disconnects them.
func TestUnread(t *testing.T) {
	synctest.Test(t, testUnread)
}

func testUnread(t *testing.T) {
	log := collectortest.NewMessages()
	s := collectortest.CloseAtEnd(t, &collector.Server{Logger: slog.New(log), MaxMemory: 4 << 20})
	collectortest.Add(t, s, wideAgent(10, 1000))
	wide := pdu.Fetch{PMIDs: metrics(1300, 10)} // 1.3 MB
	var unread []*collectortest.Client
	for range 17 {
		g := collectortest.Connect(t, s) // without a kernel buffer
		g.Send(wide)
		unread = append(unread, g)
		// One client gets its result before others connect. Otherwise all might be refused.
		collectortest.Eventually(t, "unread result", func() bool { return s.MemoryHeld() > 1<<20 })
	}
	small := collectortest.Connect(t, s)
	begin := time.Now()
	for range 50 {
		if kind, _ := small.RoundTrip(pdu.Fetch{PMIDs: metrics(10, 10)}); kind != pdu.KindResult {
			t.Fatalf("a small fetch: %v", kind)
		}
		time.Sleep(10 * time.Millisecond)
	}
	if held := s.MemoryHeld(); held < 1<<20 || held > 4<<20 {
		t.Errorf("%d bytes are held", held)
	}
	other := collectortest.Connect(t, s)
	collectortest.Eventually(t, "result", func() bool {
		kind, _ := other.RoundTrip(wide)
		return kind == pdu.KindResult
	})
	dropped := 0
	for _, line := range log.Take() {
		if line == "client dropped, since it does not read its replies and memory is short" {
			dropped++
		}
	}
	if took := time.Since(begin); dropped == 0 || took > 5*time.Second {
		t.Errorf("%d clients were dropped, after %v", dropped, took)
	}
	for _, g := range unread {
		g.Net.Close()
	}
	other.Net.Close()
	small.Net.Close()
	collectortest.Eventually(t, "release", func() bool { return s.MemoryHeld() == 0 })
}

// TestMemoryOfProfiles checks that profiles count for each client and in total. A fetch reports
// that a profile was refused, and the replies stay in order.
func TestMemoryOfProfiles(t *testing.T) {
	s := collectortest.CloseAtEnd(t, &collector.Server{MaxMemory: 8 << 20})
	collectortest.Add(t, s, &collectortest.Agent{Name: "a", Domain: 10})
	full := func(context int32) pdu.SetProfile {
		p := pdu.SetProfile{Context: context}
		for i := range 3000 {
			p.Profile.InDoms = append(p.Profile.InDoms, pdu.InDomProfile{InDom: pdu.InDom(i), Insts: []pdu.InstID{1}})
		}
		return p
	}
	fetch := func(g *collectortest.Client, context int32) string {
		return g.Request(pdu.Fetch{Context: context, PMIDs: metrics(1, 10)})
	}
	const fetched = "RESULT 10.0.0 -1=0"
	var clients []*collectortest.Client
	codes := map[string]int{}
	for range 10 {
		g := collectortest.Connect(t, s)
		clients = append(clients, g)
		for c := range int32(10) {
			g.Send(full(c))
			codes[fetch(g, c)]++
		}
	}
	if held := s.MemoryHeld(); held > 1<<20 {
		t.Errorf("%d bytes are held for profiles", held)
	}
	if again := codes["error: "+pdu.ErrAgain.Error()]; again == 0 || codes[fetched] < 4 || again+codes[fetched]+codes["error: "+pdu.ErrTooBig.Error()] != 100 {
		t.Errorf("replies: %v", codes)
	}
	g := clients[9]
	g.Send(pdu.SetProfile{Context: 9}) // a small one is always kept
	if diff := cmp.Diff(fetched, fetch(g, 9)); diff != "" {
		t.Errorf("a small profile (-want +got):\n%s", diff)
	}
	for _, g := range clients {
		g.Net.Close()
	}
	collectortest.Eventually(t, "release", func() bool { return s.MemoryHeld() == 0 })
}

// TestMemoryOfRequests checks that a client is charged for a long request even before all of it
// has arrived. The memory is released when the connection ends.
func TestMemoryOfRequests(t *testing.T) {
	s := collectortest.CloseAtEnd(t, &collector.Server{MaxMemory: 1 << 20})
	collectortest.Add(t, s, &collectortest.Agent{Name: "a", Domain: 10})
	ids := metrics(10000, 10)
	var b bytes.Buffer
	if err := pdu.NewConn(&b).Write(1, pdu.Fetch{PMIDs: ids}); err != nil {
		t.Fatal(err)
	}
	long := b.Bytes()
	var clients []*collectortest.Client
	for range 20 {
		g := collectortest.Connect(t, s)
		clients = append(clients, g)
		g.SendBytes(long[:2000])
	}
	if held := s.MemoryHeld(); held == 0 || held > 1<<20 {
		t.Errorf("%d bytes are held", held)
	}
	last := clients[len(clients)-1]
	last.SendBytes(long[2000:])
	if got := last.Receive(); got != "error: "+pdu.ErrAgain.Error() {
		t.Errorf("the last one got %s", got)
	}
	if got := last.Request(pdu.Fetch{PMIDs: metrics(1, 10)}); got != "RESULT 10.0.0 -1=0" {
		t.Errorf("a small request: %s", got)
	}
	for _, g := range clients {
		g.Net.Close()
	}
	collectortest.Eventually(t, "release", func() bool { return s.MemoryHeld() == 0 })
}

// TestLongResult checks that a long result keeps the order of the client's request even if its
// values come from several agents. It equals the result of a single agent.
func TestLongResult(t *testing.T) {
	s := collectortest.CloseAtEnd(t, &collector.Server{})
	for d := range pdu.Domain(3) {
		collectortest.Add(t, s, collectortest.NewExactAgent(10+d))
	}
	g := collectortest.Connect(t, s)
	var ids []pdu.PMID
	for i := range 9000 {
		d := pdu.Domain(10 + i*i%7%4) // one of them has no agent
		ids = append(ids, pdu.MakePMID(d, 0, i%3))
	}
	want := make([]pdu.Error, len(ids))
	for i, id := range ids {
		if id.Domain() == 13 {
			want[i] = pdu.ErrNoAgent
		}
	}
	for range 2 {
		if diff := cmp.Diff(want, g.FetchExact(ids...)); diff != "" {
			t.Errorf("codes (-want +got):\n%s", diff)
		}
	}
	collectortest.Eventually(t, "release", func() bool { return s.MemoryHeld() == 0 })
}

// TestWideFetchGivesWay checks that a wide fetch from an agent in this process is made in parts.
// So another client gets its turn in between, even if the agent has only one slot.
func TestWideFetchGivesWay(t *testing.T) {
	synctest.Test(t, testWideFetchGivesWay)
}

func testWideFetchGivesWay(t *testing.T) {
	log := collectortest.NewMessages()
	s := collectortest.CloseAtEnd(t, (&collector.Server{Logger: slog.New(log), Timeout: time.Minute}).WithAgentCalls(1))
	most := 0
	a := &collectortest.Agent{Name: "slow", Domain: 10}
	a.Fetched = func(_ *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
		most = max(most, len(ids))
		time.Sleep(time.Duration(len(ids)) * 20 * time.Microsecond)
		for _, id := range ids {
			w.Begin(id)
			w.Uint32(pdu.NoInst, uint32(id))
		}
		return nil
	}
	collectortest.Add(t, s, a)
	wide, other := collectortest.Connect(t, s), collectortest.Connect(t, s)
	ids := metrics(16000, 10)
	done := make(chan *pdu.Result, 1)
	begin := time.Now()
	go func() {
		var r pdu.Result
		wide.Conn.Write(0, pdu.Fetch{PMIDs: ids})
		if _, body, err := wide.Conn.Read(); err == nil && r.Decode(body) == nil {
			done <- &r
		}
		close(done)
	}()
	var longest time.Duration
	others := 0
	for len(done) == 0 {
		sent := time.Now()
		if got := other.Code(pdu.Fetch{PMIDs: ids[:1]}); got != 0 {
			t.Fatal(got)
		}
		others, longest = others+1, max(longest, time.Since(sent))
	}
	took := time.Since(begin)
	r := <-done
	if r == nil || r.Len() != len(ids) || r.At(15999).PMID != ids[15999] {
		t.Error("the wide fetch has not all sets")
	}
	if others < 10 || longest > took/2 || most > 1024 {
		t.Errorf("another client had %d replies in %v, the slowest after %v; parts of %d", others, took, longest, most)
	}
}

// TestMemoryOfAbandonedCall checks that the memory of an abandoned call is charged to the client
// until the agent returns, even if the client has disconnected.
func TestMemoryOfAbandonedCall(t *testing.T) {
	synctest.Test(t, testMemoryOfAbandonedCall)
}

func testMemoryOfAbandonedCall(t *testing.T) {
	log := collectortest.NewMessages()
	s := collectortest.CloseAtEnd(t, &collector.Server{Logger: slog.New(log), Timeout: 50 * time.Millisecond})
	leave := make(chan struct{})
	a := &collectortest.Agent{Name: "stuck", Domain: 10}
	a.Fetched = func(_ *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
		w.Begin(ids[0])
		w.String(pdu.NoInst, string(make([]byte, 1<<20)))
		<-leave
		return nil
	}
	collectortest.Add(t, s, a)
	g := collectortest.Connect(t, s)
	if diff := cmp.Diff([]pdu.Error{pdu.ErrTimeout}, g.FetchCodes(pdu.MakePMID(10, 0, 0))); diff != "" {
		t.Errorf("codes (-want +got):\n%s", diff)
	}
	g.Net.Close()
	collectortest.Eventually(t, "end", func() bool { return s.NumClients() == 0 })
	if held := s.MemoryHeld(); held < 900<<10 {
		t.Errorf("%d bytes are held while the agent is stuck", held)
	}
	close(leave)
	collectortest.Eventually(t, "release", func() bool { return s.MemoryHeld() == 0 })
}

// TestWideFetchAbandoned checks that a wide fetch is abandoned like other calls if one of its
// parts blocks. In the end all slots of the agent are free.
func TestWideFetchAbandoned(t *testing.T) {
	synctest.Test(t, testWideFetchAbandoned)
}

func testWideFetchAbandoned(t *testing.T) {
	log := collectortest.NewMessages()
	s := collectortest.CloseAtEnd(t, (&collector.Server{Logger: slog.New(log), Timeout: 100 * time.Millisecond}).WithAgentCalls(1))
	leave, calls := make(chan struct{}), 0
	a := &collectortest.Agent{Name: "stuck", Domain: 10}
	a.Fetched = func(_ *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
		if calls++; calls == 3 {
			<-leave
		}
		for _, id := range ids {
			w.Begin(id)
			w.Uint64(pdu.NoInst, uint64(max(id.Item(), 1)))
		}
		return nil
	}
	collectortest.Add(t, s, a)
	g := collectortest.Connect(t, s)
	for i, code := range g.FetchCodes(metrics(3000, 10)...) {
		if code != pdu.ErrTimeout {
			t.Fatalf("set %d: %v", i, code)
		}
	}
	if diff := cmp.Diff([]pdu.Error{pdu.ErrPMDAFenced}, g.FetchCodes(pdu.MakePMID(10, 0, 0))); diff != "" {
		t.Errorf("while the agent is stuck (-want +got):\n%s", diff)
	}
	close(leave)
	collectortest.Eventually(t, "reply", func() bool { return g.FetchCodes(pdu.MakePMID(10, 0, 0))[0] == 0 })
	for range 3 {
		for i, code := range g.FetchCodes(metrics(3000, 10)...) {
			if code != 0 {
				t.Fatalf("afterwards, set %d: %v", i, code)
			}
		}
	}
}

// TestLongestResult checks that a client with the default limits accepts every result that a
// collector with the default limits sends. With one byte more, that fetch fails and the next one
// succeeds.
func TestLongestResult(t *testing.T) {
	const metrics = 4
	for _, tt := range []struct {
		name  string
		extra int
		want  error
	}{{"as long as can be", 0, nil}, {"longer", 4, pdu.ErrTooBig}} {
		t.Run(tt.name, func(t *testing.T) {
			// Header and prefix take 32 bytes. A set of one value takes 20, and its block 8 beside
			// the text.
			size := (16<<20-32)/metrics - 28
			s := collectortest.CloseAtEnd(t, &collector.Server{})
			if err := s.Add(wideAgent(7, size+tt.extra)); err != nil {
				t.Fatal(err)
			}
			c, err := pmapi.Local(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			var ids []pdu.PMID
			for i := range metrics {
				ids = append(ids, pdu.MakePMID(7, 0, i))
			}
			if err := c.Fetch(t.Context(), ids, new(pdu.Result)); !errors.Is(err, tt.want) {
				t.Errorf("%v, want %v", err, tt.want)
			}
			if err := c.Fetch(t.Context(), ids[:1], new(pdu.Result)); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}
