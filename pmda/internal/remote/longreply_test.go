package remote_test

import (
	"context"
	"errors"
	"net"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/remote"
)

// A farAgent replies to each fetch with what its reply function writes, and records how
// many metrics each fetch had.
type farAgent struct {
	conn    *pdu.Conn
	reply   func(f pdu.Fetch, w *pdu.ResultWriter)
	fetches []int
	mu      sync.Mutex
}

// startFar connects an Agent to a farAgent.
func startFar(t *testing.T, cfg remote.Config, reply func(f pdu.Fetch, w *pdu.ResultWriter)) (*remote.Agent, *farAgent) {
	t.Helper()
	ours, theirs := net.Pipe()
	far := &farAgent{conn: pdu.NewConn(theirs), reply: reply}
	var serving sync.WaitGroup
	serving.Go(far.serve)
	a, err := remote.New(t.Context(), pmda.Info{Name: "far", Domain: 30}, ours, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		a.Close()
		theirs.Close()
		serving.Wait()
	})
	return a, far
}

func (f *farAgent) serve() {
	if _, err := pdu.AgentHello(f.conn, int32(os.Getpid()), 0); err != nil {
		return
	}
	for {
		h, body, err := f.conn.Read()
		var p pdu.Fetch
		if err != nil || h.Kind == pdu.KindFetch && p.Decode(body) != nil {
			return
		}
		if h.Kind != pdu.KindFetch {
			continue
		}
		f.mu.Lock()
		f.fetches = append(f.fetches, len(p.PMIDs))
		f.mu.Unlock()
		var w pdu.ResultWriter
		f.reply(p, &w)
		if f.conn.Write(0, w.PDU(pdu.FormatLowRes)) != nil {
			return
		}
	}
}

// texts replies with a text of so many bytes for each metric.
func texts(n int) func(pdu.Fetch, *pdu.ResultWriter) {
	return func(f pdu.Fetch, w *pdu.ResultWriter) {
		for _, id := range f.PMIDs {
			w.Begin(id)
			w.String(pdu.NoInst, string(make([]byte, n)))
		}
	}
}

func idsOf(n int) (ids []pdu.PMID) {
	for i := range n {
		ids = append(ids, pdu.MakePMID(30, 0, i%1000))
	}
	return ids
}

// memory is a pdu.Memory with so many bytes.
type memory struct{ left int }

func (m *memory) Reserve(n int) error {
	if m.left < n {
		return pdu.ErrAgain
	}
	m.left -= n
	return nil
}

// TestLongReply: a reply that exceeds MaxReply or the available memory is discarded as it
// arrives, and the next request is replied to.
func TestLongReply(t *testing.T) {
	cfg := quiet()
	cfg.MaxReply = 100_000
	n := 50
	a, _ := startFar(t, cfg, func(f pdu.Fetch, w *pdu.ResultWriter) { texts(n)(f, w) })
	fetch := func(n int, m *memory) (int, error) {
		var w pdu.ResultWriter
		r := &pmda.Request{Client: pmda.NewClient(0, 1)}
		if m != nil {
			r.Memory, w.Memory = m, m
		}
		err := a.Fetch(t.Context(), r, idsOf(n), &w)
		return w.Len(), err
	}
	for _, tt := range []struct {
		name    string
		metrics int
		memory  *memory
		want    error
		sets    int
	}{
		{"short", 100, nil, nil, 100},
		{"too long", 3000, nil, nil, 3000}, // in parts
		{"no memory for the reply", 200, &memory{1000}, pdu.ErrAgain, 0},
		{"no memory for the values", 200, &memory{20_000}, pdu.ErrAgain, 0},
		{"memory for all", 200, &memory{40_000}, nil, 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if sets, err := fetch(tt.metrics, tt.memory); err != tt.want || sets != tt.sets {
				t.Errorf("%v, %d sets; want %v, %d", err, sets, tt.want, tt.sets)
			}
		})
	}
	n = 2000
	var before, after runtime.MemStats
	if _, err := fetch(100, nil); err != pdu.ErrTooBig {
		t.Errorf("a reply of 200 kB: %v", err)
	}
	n = 900_000
	runtime.ReadMemStats(&before)
	for range 3 {
		if _, err := fetch(10, nil); err != pdu.ErrTooBig {
			t.Errorf("a reply of 9 MB: %v", err)
		}
	}
	runtime.ReadMemStats(&after)
	t.Logf("%d bytes were allocated, by the agent as well", after.TotalAlloc-before.TotalAlloc)
	n = 50
	if sets, err := fetch(10, nil); err != nil || sets != 10 {
		t.Errorf("afterwards: %v, %d sets", err, sets)
	}
	if a.Err() != nil {
		t.Errorf("the connection has ended: %v", a.Err())
	}
}

// TestParts: a fetch of many metrics comes in parts, with parts of another client's fetch in
// between. The values are in order.
func TestParts(t *testing.T) {
	synctest.Test(t, testParts)
}

func testParts(t *testing.T) {
	a, far := startFar(t, quiet(), func(f pdu.Fetch, w *pdu.ResultWriter) {
		time.Sleep(time.Duration(len(f.PMIDs)) * 50 * time.Microsecond)
		for i, id := range f.PMIDs {
			w.Begin(id)
			w.Uint32(pdu.InstID(i), uint32(id))
		}
	})
	const many = 5000
	ids := idsOf(many)
	wide := make(chan error, 1)
	var w pdu.ResultWriter
	begin := time.Now()
	go func() { wide <- a.Fetch(context.Background(), &pmda.Request{Client: pmda.NewClient(0, 1)}, ids, &w) }()
	others, longest := 0, time.Duration(0)
	for len(wide) == 0 {
		var w pdu.ResultWriter
		sent := time.Now()
		if err := a.Fetch(t.Context(), &pmda.Request{Client: pmda.NewClient(1, 2)}, ids[:1], &w); err != nil {
			t.Fatal(err)
		}
		others, longest = others+1, max(longest, time.Since(sent))
	}
	took := time.Since(begin)
	if err := <-wide; err != nil || !w.HasSets(ids) {
		t.Errorf("%v, %d sets", err, w.Len())
	}
	if others < 10 || longest > took/2 {
		t.Errorf("another client had %d replies in %v, the slowest after %v", others, took, longest)
	}
	far.mu.Lock()
	defer far.mu.Unlock()
	if most := slices.Max(far.fetches); most > 1024 {
		t.Errorf("one exchange had %d metrics", most)
	}
	if diff := cmp.Diff(many+others, sum(far.fetches)); diff != "" {
		t.Errorf("metrics that were fetched (-want +got):\n%s", diff)
	}
}

func sum(list []int) (n int) {
	for _, i := range list {
		n += i
	}
	return n
}

// TestPartsDeadline: a fetch that would take longer than its deadline fails without a late reply,
// so that others are served.
func TestPartsDeadline(t *testing.T) {
	synctest.Test(t, testPartsDeadline)
}

func testPartsDeadline(t *testing.T) {
	a, _ := startFar(t, quiet(), func(f pdu.Fetch, w *pdu.ResultWriter) {
		time.Sleep(time.Duration(len(f.PMIDs)) * time.Millisecond)
		texts(1)(f, w)
	})
	var w pdu.ResultWriter
	r := &pmda.Request{Client: pmda.NewClient(0, 1), Deadline: time.Now().Add(500 * time.Millisecond)}
	if err := a.Fetch(t.Context(), r, idsOf(5000), &w); err != pdu.ErrTimeout {
		t.Errorf("the wide fetch: %v", err)
	}
	w.Reset()
	if err := a.Fetch(t.Context(), &pmda.Request{Client: pmda.NewClient(1, 2)}, idsOf(1), &w); err != nil {
		t.Errorf("another client: %v", err)
	}
}

// TestLateReplyTakesNoMemory: a late reply leaves nothing in memory.
func TestLateReplyTakesNoMemory(t *testing.T) {
	synctest.Test(t, testLateReplyTakesNoMemory)
}

func testLateReplyTakesNoMemory(t *testing.T) {
	cfg := quiet()
	cfg.Timeout = 50 * time.Millisecond
	ours, theirs := net.Pipe()
	defer theirs.Close()
	const long = 64 << 20
	sent := make(chan error, 1)
	go func() {
		c := pdu.NewConn(theirs)
		_, err := pdu.AgentHello(c, int32(os.Getpid()), 0)
		for err == nil {
			var h pdu.Header
			if h, _, err = c.Read(); h.Kind == pdu.KindFetch {
				break
			}
		}
		head := []byte{0, 0, 0, 0, 0, 0, 0x70, 1, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0} // labels have changed
		head[0] = long >> 24
		theirs.Write(head)
		time.Sleep(200 * time.Millisecond)
		chunk := make([]byte, 64<<10)
		for left := long - len(head); left > 0 && err == nil; left -= len(chunk) {
			_, err = theirs.Write(chunk[:min(left, len(chunk))])
		}
		sent <- err
		for err == nil {
			var h pdu.Header
			if h, _, err = c.Read(); h.Kind == pdu.KindFetch {
				var w pdu.ResultWriter
				w.Begin(1)
				err = c.Write(0, w.PDU(pdu.FormatLowRes))
			}
		}
	}()
	a, err := remote.New(t.Context(), pmda.Info{Name: "late", Domain: 30}, ours, cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	var w pdu.ResultWriter
	r := &pmda.Request{Client: pmda.NewClient(0, 1)}
	if err := a.Fetch(t.Context(), r, []pdu.PMID{1}, &w); err != pdu.ErrTooBig && err != pdu.ErrTimeout {
		t.Fatalf("the late one: %v", err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if cost := after.TotalAlloc - before.TotalAlloc; !raceEnabled && cost > 4<<20 { // the race detector has pools forget
		t.Errorf("%d bytes were allocated", cost)
	}
	for err = pdu.ErrAgain; errors.Is(err, pdu.ErrAgain); {
		w.Reset()
		err = a.Fetch(t.Context(), r, []pdu.PMID{1}, &w)
	}
	if err != nil || w.Changed != pdu.ChangeLabels {
		t.Errorf("afterwards: %v, change %v", err, w.Changed)
	}
}
