package webapi_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
	"github.com/pcp-go/pcp/pmapi/webapi"
)

// A viewer receives events until it is stopped.
type viewer struct {
	stop   context.CancelFunc
	ended  chan struct{}
	header http.Header
	stuck  chan struct{} // if not nil, writes block until it is closed

	mu     sync.Mutex
	status int
	text   strings.Builder
}

func (v *viewer) Header() http.Header    { return v.header }
func (v *viewer) WriteHeader(status int) { v.status = status }
func (v *viewer) Write(b []byte) (int, error) {
	v.mu.Lock()
	v.text.Write(b)
	v.mu.Unlock()
	if v.stuck != nil {
		<-v.stuck
	}
	return len(b), nil
}

// got returns what has been received since the last call.
func (v *viewer) got() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := v.text.String()
	v.text.Reset()
	return s
}

func watch(t testing.TB, g *webapi.Gateway, query, lastID string) *viewer {
	return watchStuck(t, g, query, lastID, nil)
}

// watchStuck starts a viewer that does not read until stuck is closed.
func watchStuck(t testing.TB, g *webapi.Gateway, query, lastID string, stuck chan struct{}) *viewer {
	ctx, stop := context.WithCancel(t.Context())
	v := &viewer{stop: stop, ended: make(chan struct{}), header: http.Header{}, stuck: stuck}
	r := httptest.NewRequestWithContext(ctx, "GET", "/live/events?"+query, nil)
	if lastID != "" {
		r.Header.Set("Last-Event-ID", lastID)
	}
	go func() {
		defer close(v.ended)
		g.ServeHTTP(v, r)
	}()
	return v
}

// liveGateway serves a source, and counts its fetches and contexts.
func liveGateway(limits webapi.Limits) (g *webapi.Gateway, src *pmapitest.Source, fetches, opened *atomic.Int64) {
	fetches, opened = new(atomic.Int64), new(atomic.Int64)
	src = &pmapitest.Source{Host: "made.up", OnRequest: func(_ context.Context, r pmapitest.Request) error {
		if r.Method == "Fetch" {
			fetches.Add(1)
		}
		return nil
	}}
	pmapitest.Add(src, pmapitest.Metric[uint64]{Name: "t.count", Sem: pdu.SemCounter, Units: pdu.SpaceKByte, Text: "<b>"}).Set(7)
	pmapitest.Add(src, pmapitest.Metric[int32]{Name: "t.colour", InDom: src.InDom("red", "blue")}).Set(1, 2)
	g = webapi.Limit(&webapi.Gateway{Local: func(context.Context) (*pmapi.Context, error) {
		opened.Add(1)
		return src.Context(), nil
	}}, limits)
	return g, src, fetches, opened
}

// A thousand viewers share one fetch a second. Without viewers there are no fetches.
func TestLiveShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _, fetches, opened := liveGateway(webapi.Limits{MaxViewersPerClient: 1000})
		defer g.Close()
		var all []*viewer
		for i := range 999 {
			names := "t.count,t.colour"
			if i%2 == 1 {
				names = "t.colour@1,t.count,t.colour,"
			}
			all = append(all, watch(t, g, "names="+names, ""))
		}
		stuck := make(chan struct{})
		all = append(all, watchStuck(t, g, "names=t.count,t.colour", "", stuck))
		time.Sleep(10*time.Second + time.Millisecond)
		synctest.Wait()
		if fetches.Load() != 11 || opened.Load() != 1 {
			t.Errorf("%d fetches and %d contexts, want 11 and 1", fetches.Load(), opened.Load())
		}
		for i, v := range all[:999] {
			got := v.got()
			if n := strings.Count(got, `"v":{"t.colour":[0,1,1,2],"t.count":[null,7]}}`); n != 11 || strings.Count(got, "event: meta\n") != 1 || v.status != 200 {
				t.Fatalf("viewer %d: %d, %d events: %s", i, v.status, n, got)
			}
		}
		// A slow viewer delays no other viewer, and continues with the events that are still kept.
		time.Sleep(100 * time.Second)
		close(stuck)
		synctest.Wait()
		if n := strings.Count(all[999].got(), "event: values\n"); n > 2 {
			t.Errorf("a slow viewer has received %d events, want the latest", n)
		}
		for _, v := range all {
			v.stop()
			<-v.ended
		}
		before := fetches.Load()
		time.Sleep(time.Minute)
		if n := fetches.Load() - before; n > 0 {
			t.Errorf("%d fetches for nobody", n)
		}
	})
}

var eventID = regexp.MustCompile(`(?m)^id: (.*)$`)

// A viewer that returns gets the events that it missed. A new viewer gets those that are kept.
func TestLiveBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, src, _, _ := liveGateway(webapi.Limits{})
		defer g.Close()
		a, b := watch(t, g, "names=t.count", ""), watch(t, g, "names=t.count", "")
		time.Sleep(2500 * time.Millisecond)
		b.stop()
		ids := eventID.FindAllStringSubmatch(b.got(), -1)
		if len(ids) != 3 {
			t.Fatalf("events %v, want 3", ids)
		}
		time.Sleep(2 * time.Second)
		b = watch(t, g, "names=t.count", ids[2][1])
		c := watch(t, g, "names=t.count", "other-3")
		synctest.Wait()
		if n := strings.Count(b.got(), "event: values"); n != 2 {
			t.Errorf("%d missed events, want 2", n)
		}
		if n := strings.Count(c.got(), "event: values"); n != 5 {
			t.Errorf("%d earlier events, want 5", n)
		}
		// The collector disconnects and returns.
		a.got()
		src.Break(pdu.ErrIPC)
		time.Sleep(2 * time.Second)
		if got := a.got(); strings.Count(got, "event: failure") != 2 || !strings.Contains(got, `"message":"`) {
			t.Errorf("without a collector: %s", got)
		}
		src.Restore()
		time.Sleep(20 * time.Second)
		if got := a.got(); !strings.HasSuffix(got, "\"v\":{\"t.count\":[null,7]}}\n\n") {
			t.Errorf("with a collector again: %s", got)
		}
		g.Close()
		<-a.ended
	})
}

// Viewers of different metrics share a fetch. A newly watched metric is fetched at once. A metric
// with a longer interval is not fetched each time.
func TestLiveUnion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _, fetches, opened := liveGateway(webapi.Limits{})
		defer g.Close()
		a := watch(t, g, "names=t.count", "")
		time.Sleep(1500 * time.Millisecond)
		b := watch(t, g, "names=t.colour@3", "")
		synctest.Wait()
		if got := b.got(); strings.Count(got, "event: meta\n") != 1 || strings.Count(got, "event: values\n") != 1 || strings.Contains(got, "t.count") ||
			!strings.Contains(got, `"instances":{"400.1":{`) || !strings.Contains(got, `"0":"red"`) {
			t.Errorf("at once: %s", got)
		}
		time.Sleep(8 * time.Second)
		if n := fetches.Load(); n != 11 || opened.Load() != 1 {
			t.Errorf("%d fetches in %d contexts, want one a second and one more", n, opened.Load())
		}
		if got := b.got(); strings.Count(got, "event: values\n") != 3 || strings.Contains(got, "event: meta") {
			t.Errorf("each three seconds: %s", got)
		}
		if got := a.got(); strings.Count(got, "event: values\n") != 10 || strings.Count(got, "event: meta\n") != 1 || strings.Contains(got, "colour") {
			t.Errorf("of another viewer: %s", got)
		}
		a.stop()
		<-a.ended
		before := fetches.Load()
		time.Sleep(6 * time.Second)
		if n := fetches.Load() - before; n != 2 {
			t.Errorf("%d fetches of what is still watched, want 2", n)
		}
		b.stop()
	})
}

// New instances are named when they appear, without the old ones.
func TestLiveInstances(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &pmapitest.Source{Host: "made.up"}
		d := src.InDom("red")
		m := pmapitest.Add(src, pmapitest.Metric[int32]{Name: "t.colour", InDom: d})
		m.Set(1)
		g := &webapi.Gateway{Local: sourceOf(src.Context)}
		defer g.Close()
		a := watch(t, g, "names=t.colour", "")
		time.Sleep(1500 * time.Millisecond)
		a.got()
		d.SetNames("red", "<i>")
		m.Set(1, 2)
		time.Sleep(time.Second)
		if got := a.got(); !strings.Contains(got, `"metrics":{},"instances":{"400.1":{"1":"<i>"}}}`) {
			t.Error(got)
		}
		a.stop()
	})
}

// The limits of clients, and invalid parameters.
func TestLiveLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _, _, _ := liveGateway(webapi.Limits{MaxViewers: 3, MaxViewersPerClient: 2, MaxStreams: 1})
		defer g.Close()
		many := make([]string, 101)
		for i := range many {
			many[i] = fmt.Sprint("n", i)
		}
		a := watch(t, g, "names=t.count,t.nosuch", "")
		synctest.Wait()
		if got := a.got(); !strings.Contains(got, `"t.nosuch":{"error":"failed to lookup metric name"}`) || !strings.Contains(got, `"v":{"t.count":[null,7],"t.nosuch":null}`) ||
			!strings.Contains(got, `"units":"Kbyte","dim":[1,0,0,1,0,0],"text":"<b>"`) {
			t.Error(got)
		}
		for _, c := range []struct {
			query  string
			status int
		}{
			{"names=t.colour&interval=2", 503}, {"names=t.count@0", 400}, {"names=t.count@x", 400}, {"names=t.count@256", 400}, {"", 400}, {"names=,", 400}, {"names=t.count&interval=x", 400}, {"names=t.count&interval=NaN", 400},
			{"names=t.count&interval=-1", 400}, {"names=" + strings.Join(many, ","), 400}, {"names=t.count&hostspec=example.com", 403},
		} {
			v := watch(t, g, c.query, "")
			<-v.ended
			if v.status != c.status {
				t.Errorf("%s: %d, want %d", c.query, v.status, c.status)
			}
		}
		b := watch(t, g, "names=t.nosuch,t.count&interval=1", "")
		synctest.Wait()
		c := watch(t, g, "names=t.nosuch,t.count", "")
		<-c.ended
		if b.status != 200 || c.status != 429 {
			t.Errorf("%d and %d, want 200 and 429", b.status, c.status)
		}
		a.stop()
		b.stop()
	})
}

// Past values come from any time of an archive.
func TestLivePast(t *testing.T) {
	s := newGateway(t, func(g *webapi.Gateway) {
		g.Allow = []string{"localhost", "web1", "*.example.com", "web2:*"}
		g.Sources = map[string]func(context.Context) (*pmapi.Context, error){"busy": func(ctx context.Context) (*pmapi.Context, error) {
			return pmapi.Open(ctx, "../../examples/internal/pmstat/testdata/archive/host")
		}}
	})
	if r := s.get(t, "/live/sources"); r.body != "{\"sources\":[\"busy\"],\"hosts\":[\"web1\"]}\r\n" {
		t.Error(r.body)
	}
	if r := s.get(t, "/live/past?hostspec=busy"); !regexp.MustCompile(`^\{"start":\d+\.\d{9},"end":\d+\.\d{9}\}\r\n$`).MatchString(r.body) {
		t.Error(r.body)
	}
	r := s.get(t, "/live/past?hostspec=busy&names=kernel.all.load&count=3&step=2")
	if strings.Count(r.body, `"t":`) != 3 || !strings.Contains(r.body, `"5":"5 minute"`) {
		t.Error(r.body)
	}
	for _, query := range []string{"", "hostspec=busy&names=x", "hostspec=busy&names=x&count=1001", "hostspec=busy&names=x&count=1&step=0", "hostspec=busy&names=x&count=1&start=1e99"} {
		if r := s.get(t, "/live/past?"+query); r.status != 400 {
			t.Errorf("%s: %d %s", query, r.status, r.body)
		}
	}
}

// BenchmarkViewers sends an event a second to a thousand viewers over TCP, in real time: ten
// seconds with -benchtime=10x. It reports the memory of server and clients without kernel buffers,
// fetches per second, and the latency from fetch to receipt: the 99th percentile and the maximum.
func BenchmarkViewers(b *testing.B) {
	const viewers = 1000
	g, src, fetches, _ := liveGateway(webapi.Limits{MaxViewersPerClient: viewers})
	var fetched atomic.Int64 // time of the last fetch, in nanoseconds
	count := src.OnRequest
	src.OnRequest = func(ctx context.Context, r pmapitest.Request) error {
		if r.Method == "Fetch" {
			fetched.Store(time.Now().UnixNano())
		}
		return count(ctx, r)
	}
	s := serve(b, g)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var all []net.Conn
	for range viewers {
		c, err := net.Dial("tcp", s.addr)
		if err != nil {
			b.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "GET /live/events?interval=1&names=t.count,t.colour HTTP/1.1\r\nHost: localhost\r\n\r\n")
		all = append(all, c)
	}
	var latencies []time.Duration
	buf := make([]byte, 64<<10)
	receive := func() { // one read per viewer; the first waits for the event
		for _, c := range all {
			if _, err := c.Read(buf); err != nil {
				b.Fatal(err)
			}
			latencies = append(latencies, time.Duration(time.Now().UnixNano()-fetched.Load()))
		}
	}
	for range 2 { // the second starts just after an event
		receive()
		for _, c := range all { // drain the first events, which may come in pieces
			for err := error(nil); err == nil; _, err = c.Read(buf) {
				_ = c.SetReadDeadline(time.Now().Add(time.Millisecond / 10))
			}
			_ = c.SetReadDeadline(time.Time{})
		}
	}
	receive() // one event for all
	runtime.GC()
	runtime.ReadMemStats(&after)
	latencies = latencies[:0]
	began, start := fetches.Load(), time.Now()
	for b.Loop() {
		receive()
	}
	slices.Sort(latencies)
	b.ReportMetric(float64(latencies[len(latencies)*99/100])/1e6, "p99-ms")
	b.ReportMetric(float64(latencies[len(latencies)-1])/1e6, "max-ms")
	b.ReportMetric(float64(after.HeapInuse+after.StackInuse-before.HeapInuse-before.StackInuse)/(1<<20), "MiB")
	b.ReportMetric(float64(fetches.Load()-began)/time.Since(start).Seconds(), "fetches/s")
}
