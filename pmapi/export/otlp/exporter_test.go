package otlp_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/export/otlp"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// A receiver answers requests without a network, as a test says, and decodes strictly what it takes.
type receiver struct {
	answer func(n int, req *http.Request) (*http.Response, error) // nil means taken

	mu       sync.Mutex
	requests []time.Time
	taken    []series
	errs     []error
}

func reply(status int, body string, header ...string) *http.Response {
	r := &http.Response{StatusCode: status, Status: http.StatusText(status), Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader([]byte(body)))}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

func (r *receiver) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	req.Body.Close()
	r.mu.Lock()
	n := len(r.requests)
	r.requests = append(r.requests, time.Now())
	r.mu.Unlock()
	resp := reply(200, "{}")
	if r.answer != nil {
		var err error
		if resp, err = r.answer(n, req); err != nil || resp.StatusCode != 200 {
			return resp, err
		}
	}
	if req.Header.Get("Content-Encoding") == "gzip" {
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(body)); err == nil {
			body, err = io.ReadAll(z)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	m, decoded := decode(body)
	if err := errors.Join(err, decoded); err != nil {
		r.errs = append(r.errs, err)
		return resp, nil
	}
	if h := req.Header; req.Method != http.MethodPost || h.Get("Content-Type") != "application/json" || h.Get("User-Agent") == "" {
		r.errs = append(r.errs, errors.New("request: "+req.Method))
	}
	r.taken = append(r.taken, m.points...)
	return resp, nil
}

// exportFor runs an Exporter for a time, of a source with one counter that rises by one for each read.
func exportFor(t *testing.T, d time.Duration, r *receiver, e *otlp.Exporter) otlp.Stats {
	t.Helper()
	src := &pmapitest.Source{}
	defer src.Close()
	var n uint64
	pmapitest.Add(src, pmapitest.Metric[uint64]{Name: "c", Sem: pdu.SemCounter, Value: func(time.Time, pdu.Instance) (uint64, error) { n++; return n, nil }})
	e.Reader = &export.Reader{Context: src.Context()}
	defer e.Reader.Context.Close()
	e.Client = &http.Client{Transport: r}
	if e.Interval == 0 {
		e.Interval = time.Second
	}
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	if err := e.Run(ctx); err != nil {
		t.Fatal(err)
	}
	s := e.Stats()
	if s.Read.Points != s.Sent.Points+s.Dropped.Points+s.Failed.Points || s.Queued != (otlp.Count{}) || s.Read.Points != n {
		t.Errorf("the sums are not those of %d points: %+v", n, s)
	}
	for _, err := range r.errs {
		t.Error(err)
	}
	for i, p := range r.taken {
		if i > 0 && (p.time <= r.taken[i-1].time || p.value.(int64) <= r.taken[i-1].value.(int64)) {
			t.Error("not in order:", r.taken[i-1:i+1])
		}
	}
	return s
}

func TestExport(t *testing.T) {
	for _, zip := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := &receiver{}
			s := exportFor(t, 10*time.Second-1, r, &otlp.Exporter{Gzip: zip})
			if s.Sent != (otlp.Count{Messages: 10, Points: 10}) || len(r.taken) != 10 {
				t.Errorf("%+v", s)
			}
			for i, at := range r.requests {
				if d := at.Sub(r.requests[0]); d != time.Duration(i)*time.Second {
					t.Errorf("request %d after %v", i, d)
				}
			}
		})
	}
}

// A receiver that is away for a minute gets everything after that, in order.
func TestOutage(t *testing.T) {
	for name, away := range map[string]func() (*http.Response, error){
		"refused":     func() (*http.Response, error) { return nil, errors.New("connection refused") },
		"unavailable": func() (*http.Response, error) { return reply(503, `{"message":"away"}`), nil },
		"bad gateway": func() (*http.Response, error) { return reply(502, `<html>`), nil },
		"timeout":     func() (*http.Response, error) { return reply(504, ``), nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				r := &receiver{}
				r.answer = func(int, *http.Request) (*http.Response, error) {
					if d := time.Since(began); d > 5*time.Second && d <= 65*time.Second {
						return away()
					}
					return reply(200, ""), nil
				}
				s := exportFor(t, 120*time.Second-1, r, &otlp.Exporter{})
				if s.Sent.Points != 120 || s.Retries < 3 || s.Retries > 12 {
					t.Errorf("%+v", s)
				}
			})
		})
	}
}

func TestRetryAfter(t *testing.T) {
	for _, status := range []int{429, 503} {
		synctest.Test(t, func(t *testing.T) {
			for _, header := range []func() string{
				func() string { return "20" },
				func() string { return time.Now().Add(20 * time.Second).UTC().Format(http.TimeFormat) },
			} {
				r := &receiver{}
				r.answer = func(n int, _ *http.Request) (*http.Response, error) {
					if n == 0 {
						return reply(status, "", "Retry-After", header()), nil
					}
					return reply(200, ""), nil
				}
				s := exportFor(t, 30*time.Second-1, r, &otlp.Exporter{})
				if wait := r.requests[1].Sub(r.requests[0]); wait < 19*time.Second || wait > 21*time.Second || s.Sent.Points != 30 {
					t.Errorf("%d: again after %v: %+v", status, wait, s)
				}
			}
		})
	}
}

// What a receiver refuses for good is not sent again, and counted.
func TestRefused(t *testing.T) {
	for _, status := range []int{301, 400, 401, 404, 413, 500} {
		synctest.Test(t, func(t *testing.T) {
			r := &receiver{}
			r.answer = func(n int, _ *http.Request) (*http.Response, error) {
				if n%2 == 1 {
					return reply(status, `{"code":3,"message":"bad"}`), nil
				}
				return reply(200, ""), nil
			}
			s := exportFor(t, 10*time.Second-1, r, &otlp.Exporter{})
			if s.Failed.Points != 5 || s.Sent.Points != 5 || s.Retries != 0 || len(r.requests) != 10 {
				t.Errorf("%d: %+v", status, s)
			}
		})
	}
}

func TestPartialSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{answer: func(n int, _ *http.Request) (*http.Response, error) {
			return reply(200, []string{
				`{"partialSuccess":{"rejectedDataPoints":"1","errorMessage":"old"}}`, `{"partialSuccess":{"rejectedDataPoints":1}}`,
				`{"partialSuccess":{"errorMessage":"a warning"}}`, `{"partialSuccess":{"rejectedDataPoints":"-1"}}`, `broken`,
			}[n]), nil
		}}
		s := exportFor(t, 5*time.Second-1, r, &otlp.Exporter{})
		if s.Sent.Points != 5 || s.Rejected != 2 || s.Retries != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// Without a receiver the oldest messages make room, and all are counted: those in the queue and the one in hand at the end too.
func TestOverflow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{}
		began := time.Now()
		r.answer = func(int, *http.Request) (*http.Response, error) {
			if time.Since(began) < 50*time.Second {
				return nil, errors.New("connection refused")
			}
			return reply(200, ""), nil
		}
		s := exportFor(t, 100*time.Second-1, r, &otlp.Exporter{MaxQueue: 4000})
		if s.Read.Points != 100 || s.Dropped.Points == 0 || s.Sent.Points != 100-s.Dropped.Points || len(r.taken) != int(s.Sent.Points) {
			t.Errorf("%+v", s)
		}
		// The one in hand was the first.
		if r.taken[0].value != int64(1) || r.taken[1].value.(int64) != int64(s.Dropped.Points)+2 {
			t.Errorf("the first that were sent: %v", r.taken[:2])
		}
	})
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{answer: func(int, *http.Request) (*http.Response, error) { return nil, errors.New("connection refused") }}
		s := exportFor(t, 10*time.Second-1, r, &otlp.Exporter{})
		if s.Dropped.Points != 10 {
			t.Errorf("%+v", s)
		}
	})
}

// A receiver that is slow does not keep values from being read in time; one that does not answer is left and asked again.
func TestSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{}
		r.answer = func(n int, req *http.Request) (*http.Response, error) {
			if n == 3 {
				<-req.Context().Done()
				return nil, req.Context().Err()
			}
			time.Sleep(300 * time.Millisecond)
			return reply(200, ""), nil
		}
		s := exportFor(t, 40*time.Second-1, r, &otlp.Exporter{})
		if s.Sent.Points != 40 || s.Retries != 1 {
			t.Errorf("%+v", s)
		}
		for i := 1; i < len(r.taken); i++ {
			if d := r.taken[i].time - r.taken[i-1].time; d != int64(time.Second) {
				t.Errorf("values %d and %d are %v apart", i-1, i, time.Duration(d))
			}
		}
	})
}

// A source that is away is read again, and when its context is closed, all that was read is sent.
func TestSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &pmapitest.Source{AutoReconnect: true}
		defer src.Close()
		pmapitest.Add(src, pmapitest.Metric[uint64]{Name: "c"}).Set(1)
		c := src.Context()
		r := &receiver{}
		e := &otlp.Exporter{Reader: &export.Reader{Context: c}, Interval: time.Second, Client: &http.Client{Transport: r}}
		time.AfterFunc(4*time.Second+1, func() { src.Break(io.ErrUnexpectedEOF) })
		time.AfterFunc(8*time.Second+1, src.Restore)
		time.AfterFunc(12*time.Second+1, func() { c.Close() })
		if err := e.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s := e.Stats(); s.ReadErrors == 0 || s.Sent.Points < 8 || s.Sent != s.Read || len(r.errs) > 0 {
			t.Errorf("%+v %v", s, r.errs)
		}
	})
}

func TestEndpoint(t *testing.T) {
	for _, endpoint := range []string{"localhost:4318", "grpc://a:4317", "http://", "http://a b"} {
		e := &otlp.Exporter{Endpoint: endpoint, Reader: &export.Reader{}}
		if err := e.Run(t.Context()); err == nil {
			t.Error(endpoint, "is an endpoint")
		}
	}
	for name, value := range map[string]string{"a b": "secret", "": "secret", "ü": "secret", "X-A": "secret\n"} {
		e := &otlp.Exporter{Header: http.Header{name: {value}}, Reader: &export.Reader{}}
		if err := e.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "header") || strings.Contains(err.Error(), "secret") {
			t.Errorf("header %q: %v", name, err)
		}
	}
	if err := (&otlp.Exporter{Disabled: true}).Run(t.Context()); err != nil {
		t.Error("disabled:", err)
	}
}

// What a receiver that is away has not taken waits in the directory for the next run.
func TestDirectory(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		away, back := &receiver{answer: func(int, *http.Request) (*http.Response, error) { return nil, errors.New("connection refused") }}, &receiver{}
		run := func(r *receiver) otlp.Stats {
			src := &pmapitest.Source{}
			defer src.Close()
			pmapitest.Add(src, pmapitest.Metric[uint64]{Name: "c"}).Set(1)
			c := src.Context()
			defer c.Close()
			e := &otlp.Exporter{Reader: &export.Reader{Context: c}, Interval: time.Second, Client: &http.Client{Transport: r}, Directory: dir}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second-1)
			defer cancel()
			if err := e.Run(ctx); err != nil {
				t.Error(err)
			}
			return e.Stats()
		}
		if s := run(away); s.Queued.Points != 10 || s.Dropped.Points != 0 {
			t.Errorf("away: %+v", s)
		}
		if s := run(back); s.Found.Points != 10 || s.Sent.Points != 20 || len(back.taken) != 20 || len(back.errs) > 0 {
			t.Errorf("back: %+v, %v", s, back.errs)
		}
		for i := 1; i < len(back.taken); i++ {
			if back.taken[i].time <= back.taken[i-1].time {
				t.Error("not in order:", back.taken[i-1:i+1])
			}
		}
	})
}
