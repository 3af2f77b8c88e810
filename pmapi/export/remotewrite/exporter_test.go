package remotewrite_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/export/remotewrite"
	"github.com/pcp-go/pcp/pmapi/export/send"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// A receiver answers requests without a network, as a test says, and stores strictly what it takes.
type receiver struct {
	answer func(n int, req *http.Request) (*http.Response, error) // nil means taken

	mu       sync.Mutex
	requests []time.Time
	store
	errs []error
}

func reply(status int, body string, header ...string) *http.Response {
	r := &http.Response{StatusCode: status, Status: http.StatusText(status), Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}
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
	resp := reply(204, "")
	if r.answer != nil {
		var err error
		if resp, err = r.answer(n, req); err != nil || resp.StatusCode/100 != 2 {
			return resp, err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := errors.Join(err, r.take(body)); err != nil {
		r.errs = append(r.errs, err)
	}
	for name, want := range map[string]string{"Content-Type": "application/x-protobuf", "Content-Encoding": "snappy", "X-Prometheus-Remote-Write-Version": "0.1.0"} {
		if got := req.Header.Get(name); got != want {
			r.errs = append(r.errs, errors.New(name+": "+got))
		}
	}
	if req.Method != http.MethodPost || !strings.HasPrefix(req.Header.Get("User-Agent"), "pcp-go-remotewrite/") {
		r.errs = append(r.errs, errors.New("request: "+req.Method+" "+req.Header.Get("User-Agent")))
	}
	return resp, nil
}

const counter = `{__name__="c_total",job="pcp"}`

// exportFor runs an Exporter for a time, of a source with one counter that rises by one for each read. Each message has its value, and
// target_info is not there, for the source has no labels.
func exportFor(t *testing.T, d time.Duration, r *receiver, e *remotewrite.Exporter) remotewrite.Stats {
	t.Helper()
	src := &pmapitest.Source{}
	defer src.Close()
	var n uint64
	pmapitest.Add(src, pmapitest.Metric[uint64]{Name: "c", Sem: pdu.SemCounter, Value: func(time.Time, pdu.Instance) (uint64, error) { n++; return n, nil }})
	e.Reader = &export.Reader{Context: src.Context()}
	defer e.Reader.Context.Close()
	e.Client = &http.Client{Transport: r, CheckRedirect: send.NoRedirect}
	if e.Interval == 0 {
		e.Interval = time.Second
	}
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	if err := e.Run(ctx); err != nil {
		t.Fatal(err)
	}
	s := e.Stats()
	if s.Read.Points+s.Found.Points != s.Sent.Points+s.Dropped.Points+s.Failed.Points+s.Queued.Points || s.Read.Points != n {
		t.Errorf("the sums are not those of %d points: %+v", n, s)
	}
	if e.Directory == "" && s.Queued.Points != 0 {
		t.Errorf("%+v", s)
	}
	for _, err := range r.errs {
		t.Error(err)
	}
	if got := len(r.series[counter]); uint64(got) != s.Sent.Points {
		t.Errorf("%d samples were stored, %+v", got, s)
	}
	return s
}

// A receiver that is away for a minute, or is killed, gets everything after that, in order.
func TestOutage(t *testing.T) {
	for name, away := range map[string]func() (*http.Response, error){
		"refused":  func() (*http.Response, error) { return nil, errors.New("connection refused") },
		"reset":    func() (*http.Response, error) { return nil, io.ErrUnexpectedEOF },
		"500":      func() (*http.Response, error) { return reply(500, "out of \xff memory"), nil },
		"503":      func() (*http.Response, error) { return reply(503, strings.Repeat("x", 1<<20)), nil },
		"599":      func() (*http.Response, error) { return reply(599, ""), nil },
		"429":      func() (*http.Response, error) { return reply(429, "", "Retry-After", "-3"), nil },
		"nonsense": func() (*http.Response, error) { return reply(502, "", "Retry-After", "99999999999999999999999"), nil },
	} {
		for _, dir := range []string{"", t.TempDir()} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					began := time.Now()
					r := &receiver{}
					r.answer = func(int, *http.Request) (*http.Response, error) {
						if d := time.Since(began); d > 5*time.Second && d <= 65*time.Second {
							return away()
						}
						return reply(204, ""), nil
					}
					s := exportFor(t, 120*time.Second-1, r, &remotewrite.Exporter{Directory: dir})
					if s.Sent.Points != 120 || s.Retries < 3 || s.Retries > 12 {
						t.Errorf("%+v", s)
					}
				})
			})
		}
	}
}

// A receiver may ask for patience, but not for more than an hour.
func TestRetryAfter(t *testing.T) {
	for header, want := range map[string]time.Duration{"20": 20 * time.Second, "18446744073709551615": time.Hour, "Fri, 31 Dec 9999 23:59:59 GMT": time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			r := &receiver{}
			r.answer = func(n int, _ *http.Request) (*http.Response, error) {
				if n == 0 {
					return reply(429, "", "Retry-After", header), nil
				}
				return reply(204, ""), nil
			}
			s := exportFor(t, want+time.Minute-1, r, &remotewrite.Exporter{Interval: 10 * time.Second})
			if wait := r.requests[1].Sub(r.requests[0]); wait < want || wait > want+time.Second || s.Sent != s.Read {
				t.Errorf("%s: again after %v: %+v", header, wait, s)
			}
		})
	}
}

// What a receiver refuses for good is not sent again, and counted.
func TestRefused(t *testing.T) {
	for _, status := range []int{302, 400, 401, 404, 408, 413, 422, 500} {
		synctest.Test(t, func(t *testing.T) {
			text := "out of bounds"
			if status == 500 {
				text = "too old sample\n"
			}
			r := &receiver{answer: func(n int, _ *http.Request) (*http.Response, error) {
				if n%2 == 1 {
					return reply(status, text, "Location", "http://elsewhere/"), nil
				}
				return reply(200, "garbage \x00"), nil
			}}
			s := exportFor(t, 10*time.Second-1, r, &remotewrite.Exporter{})
			if s.Failed.Points != 5 || s.Sent.Points != 5 || s.Retries != 0 || len(r.requests) != 10 {
				t.Errorf("%d: %+v", status, s)
			}
		})
	}
}

// The oldest make room, and are counted, in memory and in a directory.
func TestOverflow(t *testing.T) {
	for _, dir := range []string{"", t.TempDir()} {
		synctest.Test(t, func(t *testing.T) {
			r := &receiver{}
			began := time.Now()
			r.answer = func(int, *http.Request) (*http.Response, error) {
				if time.Since(began) < 50*time.Second {
					return nil, errors.New("connection refused")
				}
				return reply(204, ""), nil
			}
			s := exportFor(t, 100*time.Second-1, r, &remotewrite.Exporter{MaxQueue: 1000, Directory: dir})
			if s.Read.Points != 100 || s.Dropped.Points == 0 || s.Sent.Points != 100-s.Dropped.Points {
				t.Errorf("%+v", s)
			}
			values := r.series[counter]
			if values[0].v != 1 || values[1].v != float64(s.Dropped.Points)+2 { // the one in hand was the first
				t.Errorf("the first that were sent: %v", values[:2])
			}
		})
	}
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
		s := exportFor(t, 40*time.Second-1, r, &remotewrite.Exporter{})
		if s.Sent.Points != 40 || s.Retries != 1 {
			t.Errorf("%+v", s)
		}
		for i, v := range r.series[counter] {
			if i > 0 && v.at-r.series[counter][i-1].at != 1000 {
				t.Errorf("values %d and %d are not a second apart", i-1, i)
			}
		}
	})
}

// While a source is away its series have ended.
func TestSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &pmapitest.Source{AutoReconnect: true}
		defer src.Close()
		pmapitest.Add(src, pmapitest.Metric[uint64]{Name: "c", Sem: pdu.SemCounter}).Set(1)
		c := src.Context()
		r := &receiver{}
		e := &remotewrite.Exporter{Reader: &export.Reader{Context: c}, Interval: time.Second, Client: &http.Client{Transport: r}}
		time.AfterFunc(4*time.Second+1, func() { src.Break(io.ErrUnexpectedEOF) })
		time.AfterFunc(8*time.Second+1, src.Restore)
		time.AfterFunc(12*time.Second+1, func() { c.Close() })
		if err := e.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s := e.Stats(); s.ReadErrors == 0 || s.Sent != s.Read || len(r.errs) > 0 {
			t.Errorf("%+v %v", s, r.errs)
		}
		before, after, ok := strings.Cut(r.text(counter), "|")
		if before != "1 1 1 1 1 " || !ok || after != "1 1 1 1 " && after != "1 1 1 " {
			t.Error("values:", r.text(counter))
		}
	})
}

// What one run could not send, the next one does, before its own.
func TestNextRun(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{answer: func(int, *http.Request) (*http.Response, error) { return nil, errors.New("connection refused") }}
		if s := exportFor(t, 10*time.Second-1, r, &remotewrite.Exporter{Directory: dir}); s.Queued.Points != 10 {
			t.Errorf("%+v", s)
		}
		r.answer = nil
		time.Sleep(time.Hour)
		if s := exportFor(t, 5*time.Second-1, r, &remotewrite.Exporter{Directory: dir}); s.Found.Points != 10 || s.Sent.Points != 15 {
			t.Errorf("%+v", s)
		}
	})
}

// Credentials are sent as told, and not to where a receiver redirects to.
func TestCredentials(t *testing.T) {
	var got, elsewhere []string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		elsewhere = append(elsewhere, req.Header.Get("Authorization"))
	}))
	defer other.Close()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		got = append(got, req.Header.Get("Authorization")+" "+req.Header.Get("X-Scope-OrgID"))
		http.Redirect(w, req, other.URL, http.StatusTemporaryRedirect)
	}))
	defer s.Close()
	for _, e := range []*remotewrite.Exporter{
		{Endpoint: strings.Replace(s.URL, "//", "//me:secret@", 1)},
		{Endpoint: s.URL, Header: http.Header{"Authorization": {"Bearer token"}, "X-Scope-Orgid": {"tenant"}}},
	} {
		src := &pmapitest.Source{}
		pmapitest.Add(src, pmapitest.Metric[uint64]{Name: "c"}).Set(1)
		e.Reader, e.Samples = &export.Reader{Context: src.Context()}, 1
		if err := e.Run(t.Context()); err != nil || e.Stats().Failed.Points != 1 {
			t.Errorf("%v, %+v", err, e.Stats())
		}
		e.Reader.Context.Close()
		src.Close()
	}
	if strings.Join(got, ",") != "Basic bWU6c2VjcmV0 ,Bearer token tenant" || elsewhere != nil {
		t.Errorf("%q, elsewhere %q", got, elsewhere)
	}
	var log bytes.Buffer
	for _, endpoint := range []string{"localhost:9090", "http://me:secret@", "http://me:secret@a b/", "grpc://me:secret@host"} {
		err := (&remotewrite.Exporter{Endpoint: endpoint, Reader: &export.Reader{}}).Run(t.Context())
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v%s", endpoint, err, &log)
		}
	}
}

// Metrics whose names collide are told of once, though they are described anew.
func TestCollisionsAreToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &pmapitest.Source{}
		defer src.Close()
		for _, name := range []string{"a.b", "a_b"} {
			pmapitest.Add(src, pmapitest.Metric[uint64]{Name: name}).Set(1)
		}
		var text bytes.Buffer
		e := &remotewrite.Exporter{Reader: &export.Reader{Context: src.Context(), Refresh: 1}, Interval: time.Second, Samples: 5,
			Client: &http.Client{Transport: &receiver{}}, Log: slog.New(slog.NewTextHandler(&text, nil))}
		defer e.Reader.Context.Close()
		if err := e.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(text.String(), "names are those of others"); n != 1 || !strings.Contains(text.String(), "first=a_b") {
			t.Errorf("told %d times:\n%s", n, &text)
		}
	})
}
