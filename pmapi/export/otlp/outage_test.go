package otlp_test

import (
	"flag"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/export/otlp"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

var outage = flag.Duration("outage", time.Second, "for how long a receiver is away")

// listen serves a receiver at an address, as soon as the address is free.
func listen(t *testing.T, addr string, r *receiver) *http.Server {
	t.Helper()
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if _, err := r.RoundTrip(req); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
	})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Serve(ln)
	}()
	t.Cleanup(func() {
		s.Close()
		<-done
	})
	return s
}

// TestRestartedReceiver: a receiver that is killed and restarted gets all values, including those
// from its downtime.
func TestRestartedReceiver(t *testing.T) {
	addr := "127.0.0.1:" + strconv.Itoa(pcptest.FreePort(t))
	src := &pmapitest.Source{}
	defer src.Close()
	var n atomic.Int64
	pmapitest.Add(src, pmapitest.Metric[int64]{Name: "c", Sem: pdu.SemCounter, Value: func(time.Time, pdu.Instance) (int64, error) { return n.Add(1), nil }})
	c := src.Context()
	defer c.Close()
	e := &otlp.Exporter{Reader: &export.Reader{Context: c}, Endpoint: "http://" + addr, Interval: 20 * time.Millisecond}
	r := &receiver{}
	first := listen(t, addr, r)
	ended := make(chan error, 1)
	go func() { ended <- e.Run(t.Context()) }()
	until := func(what string, so func() bool) {
		t.Helper()
		for deadline := time.Now().Add(2*time.Minute + *outage); !so(); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("no %s: %+v", what, e.Stats())
			}
		}
	}
	until("values before", func() bool { return e.Stats().Sent.Points >= 5 })
	first.Close()
	away := time.Now()
	until("outage", func() bool { return e.Stats().Queued.Messages >= 10 && time.Since(away) >= *outage })
	waiting := e.Stats().Queued.Points
	listen(t, addr, r)
	until("values after", func() bool { s := e.Stats(); return s.Queued.Messages <= 1 && s.Sent.Points >= waiting+10 })
	c.Close()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	s := e.Stats()
	t.Logf("%d values waited for %v, %+v", waiting, time.Since(away), s)
	if s.Sent != s.Read || s.Read.Points != uint64(n.Load()) || s.Retries == 0 {
		t.Errorf("of %d values: %+v", n.Load(), s)
	}
	r.Mu.Lock()
	defer r.Mu.Unlock()
	for _, err := range r.Errs {
		t.Error(err)
	}
	next, last := int64(1), map[string]series{}
	for i, p := range r.taken {
		if i > 0 && p == r.taken[i-1] {
			continue // the receiver accepted it, but its reply was lost
		}
		monotone(t, last, p)
		if p.value != next {
			t.Fatalf("%v in place of %d", p.value, next)
		}
		next++
	}
	if next != n.Load()+1 {
		t.Errorf("%d values of %d", next-1, n.Load())
	}
}
