package webapi_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
	"github.com/pcp-go/pcp/pmapi/webapi"
)

// A scrape of a slow source ends at the time limit of requests, or when its client disconnects. The
// page is still read to its end, and the next scrape gets it.
func TestSlowScrape(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const takes = 8 * time.Second
		var reads atomic.Int32
		src := &pmapitest.Source{}
		defer src.Close()
		pmapitest.Add(src, pmapitest.Metric[int64]{Name: "t.slow", Value: func(time.Time, pdu.Instance) (int64, error) {
			n := reads.Add(1)
			time.Sleep(takes)
			return int64(n), nil
		}})
		g := webapi.Limit(&webapi.Gateway{Local: sourceOf(src.Context)}, webapi.Limits{RequestTimeout: 5 * time.Second, PollTimeout: time.Hour})
		defer g.Close()
		began := time.Now()
		at := func(d time.Duration) { time.Sleep(time.Until(began.Add(d))) }
		scrape := func(ctx context.Context, status int, want string, took time.Duration) {
			t.Helper()
			w, start := httptest.NewRecorder(), time.Now()
			g.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "/metrics", nil))
			if w.Code != status || !strings.Contains(w.Body.String(), want) || time.Since(start) != took {
				t.Errorf("after %v: %d %s, in %v; want %d %s, in %v", start.Sub(began), w.Code, w.Body, time.Since(start), status, want, took)
			}
		}
		const slow = "the source is slow"
		scrape(t.Context(), http.StatusServiceUnavailable, slow, 5*time.Second)
		at(6 * time.Second)
		scrape(t.Context(), http.StatusOK, "\nt_slow 1", 2*time.Second) // while it is read
		at(20 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		scrape(ctx, http.StatusServiceUnavailable, slow, time.Second)
		at(80 * time.Second)
		scrape(t.Context(), http.StatusOK, "\nt_slow 2", 0) // after it was read
		scrape(t.Context(), http.StatusServiceUnavailable, slow, 5*time.Second)
		at(200 * time.Second) // page 3 is too old
		scrape(t.Context(), http.StatusServiceUnavailable, slow, 5*time.Second)
		at(210 * time.Second)
		scrape(t.Context(), http.StatusOK, "\nt_slow 4", 0)
		scrape(t.Context(), http.StatusServiceUnavailable, slow, 5*time.Second)
		g.Close() // also ends the read
		if n := reads.Load(); n != 5 {
			t.Errorf("%d reads, want 5", n)
		}
	})
}
