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
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/export/internal/sendtest"
	"github.com/pcp-go/pcp/pmapi/export/remotewrite"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// A receiver stores messages after strict checks.
type receiver struct {
	sendtest.Receiver
	store
}

func (r *receiver) RoundTrip(req *http.Request) (*http.Response, error) {
	return r.Serve(req, func(body []byte) error {
		for name, want := range map[string]string{"Content-Type": "application/x-protobuf", "Content-Encoding": "snappy", "X-Prometheus-Remote-Write-Version": "0.1.0"} {
			if got := req.Header.Get(name); got != want {
				return errors.New(name + ": " + got)
			}
		}
		if req.Method != http.MethodPost || !strings.HasPrefix(req.Header.Get("User-Agent"), "pcp-go-remotewrite/") {
			return errors.New("request: " + req.Method + " " + req.Header.Get("User-Agent"))
		}
		return r.take(body)
	})
}

const counter = `{__name__="c_total",job="pcp"}`

// TestSending runs the common tests of all exporters. Each message has only a value of the
// counter, because the source has no labels.
func TestSending(t *testing.T) {
	p := &sendtest.Protocol{
		New: func(o sendtest.Options) sendtest.Exporter {
			return &remotewrite.Exporter{Reader: o.Reader, Client: o.Client, Interval: o.Interval, Samples: o.Samples, MaxQueue: o.MaxQueue, Directory: o.Directory}
		},
		NewReceiver: func() (http.RoundTripper, *sendtest.Receiver, func() []sendtest.Value) {
			r := &receiver{}
			return r, &r.Receiver, func() (values []sendtest.Value) {
				for _, v := range r.series[counter] {
					values = append(values, sendtest.Value{At: time.Duration(v.at) * time.Millisecond, V: v.v})
				}
				return values
			}
		},
		Retried: []int{429, 500, 502, 503, 599}, Refused: []int{400, 401, 404, 408, 413, 422}, Reason: "out of bounds", Size: 100,
	}
	sendtest.Run(t, p)
	p.Retried, p.Refused, p.Reason = nil, []int{500}, "too old sample\n" // as Prometheus says it of what it will never take
	t.Run("TooOld", func(t *testing.T) { sendtest.Run(t, p) })
}

// TestSource: the series of an unreachable source have ended.
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
		if s := e.Stats(); s.ReadErrors == 0 || s.Sent != s.Read || len(r.Errs) > 0 {
			t.Errorf("%+v %v", s, r.Errs)
		}
		before, after, ok := strings.Cut(r.text(counter), "|")
		if before != "1 1 1 1 1 " || !ok || after != "1 1 1 1 " && after != "1 1 1 " {
			t.Error("values:", r.text(counter))
		}
	})
}

// TestCredentials: credentials are sent as configured, and not to the target of a redirect.
func TestCredentials(t *testing.T) {
	var got, elsewhere []string
	var cancel context.CancelFunc
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		elsewhere = append(elsewhere, req.Header.Get("Authorization"))
	}))
	defer other.Close()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		defer cancel() // Run tries once more
		got = append(got, req.Header.Get("Authorization")+" "+req.Header.Get("X-Scope-OrgID"))
		http.Redirect(w, req, other.URL, http.StatusTemporaryRedirect)
	}))
	defer s.Close()
	var ctx context.Context
	for _, e := range []*remotewrite.Exporter{
		{Endpoint: strings.Replace(s.URL, "//", "//me:secret@", 1)},
		{Endpoint: s.URL, Header: http.Header{"Authorization": {"Bearer token"}, "X-Scope-Orgid": {"tenant"}}},
	} {
		ctx, cancel = context.WithCancel(t.Context())
		defer cancel()
		src := &pmapitest.Source{}
		pmapitest.Add(src, pmapitest.Metric[uint64]{Name: "c"}).Set(1)
		e.Reader, e.Samples = &export.Reader{Context: src.Context()}, 1
		if err := e.Run(ctx); err != nil || e.Stats().Dropped.Points != 1 {
			t.Errorf("%v, %+v", err, e.Stats())
		}
		e.Reader.Context.Close()
		src.Close()
	}
	if strings.Join(got, ",") != "Basic bWU6c2VjcmV0 ,Basic bWU6c2VjcmV0 ,Bearer token tenant,Bearer token tenant" || elsewhere != nil {
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

// TestCollisionsAreToldOnce: colliding names are logged once, even when their metrics are
// described again.
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
