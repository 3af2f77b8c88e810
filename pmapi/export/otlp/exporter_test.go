package otlp_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/export/internal/sendtest"
	"github.com/pcp-go/pcp/pmapi/export/otlp"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// A receiver decodes each message strictly.
type receiver struct {
	sendtest.Receiver
	taken []series
}

func (r *receiver) RoundTrip(req *http.Request) (*http.Response, error) {
	return r.Serve(req, func(body []byte) error {
		if req.Header.Get("Content-Encoding") == "gzip" {
			z, err := gzip.NewReader(bytes.NewReader(body))
			if err != nil {
				return err
			}
			if body, err = io.ReadAll(z); err != nil {
				return err
			}
		}
		switch kind := req.Header.Get("Content-Type"); kind {
		case "application/json":
		case "application/x-protobuf":
			var err error
			if body, err = toJSON(body); err != nil {
				return err
			}
		default:
			return fmt.Errorf("a message of type %q", kind)
		}
		m, err := decode(body)
		if err != nil {
			return err
		}
		r.taken = append(r.taken, m.points...)
		if h := req.Header; req.Method != http.MethodPost || !strings.HasPrefix(h.Get("User-Agent"), "pcp-go-otlp/") {
			return fmt.Errorf("request: %s %v", req.Method, h)
		}
		return nil
	})
}

// protocol describes exporters to package sendtest, with or without compression.
func protocol(zip bool) *sendtest.Protocol {
	return &sendtest.Protocol{
		New: func(o sendtest.Options) sendtest.Exporter {
			return &otlp.Exporter{Reader: o.Reader, Client: o.Client, Interval: o.Interval, Samples: o.Samples, MaxQueue: o.MaxQueue, Directory: o.Directory, Gzip: zip}
		},
		NewReceiver: func() (http.RoundTripper, *sendtest.Receiver, func() []sendtest.Value) {
			r := &receiver{}
			return r, &r.Receiver, func() (values []sendtest.Value) {
				for _, p := range r.taken {
					values = append(values, sendtest.Value{At: time.Duration(p.time), V: number(p.value)})
				}
				return values
			}
		},
		Retried: []int{429, 502, 503, 504}, Refused: []int{400, 401, 404, 408, 413, 500, 501, 599}, Reason: `{"code":3,"message":"bad"}`, Size: 400,
	}
}

func TestSending(t *testing.T) {
	sendtest.Run(t, protocol(false))
	t.Run("Gzip", protocol(true).TestInTime)
}

func TestPartialSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := protocol(false).ExportFor(t, 5*time.Second-1, sendtest.Options{}, func(n int, _ *http.Request) (*http.Response, error) {
			return sendtest.Reply(200, []string{
				`{"partialSuccess":{"rejectedDataPoints":"1","errorMessage":"old"}}`, `{"partialSuccess":{"rejectedDataPoints":1}}`,
				`{"partialSuccess":{"errorMessage":"a warning"}}`, `{"partialSuccess":{"rejectedDataPoints":"-1"}}`, `broken`,
			}[n]), nil
		})
		if c.Sent.Points != 5 || c.Rejected != 2 || c.Retries != 0 {
			t.Errorf("%+v", c.Stats)
		}
	})
}

// TestSource: an unreachable source is read again. When its context is closed, all points already
// read are sent.
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
		if s := e.Stats(); s.ReadErrors == 0 || s.Sent.Points < 8 || s.Sent != s.Read || len(r.Errs) > 0 {
			t.Errorf("%+v %v", s, r.Errs)
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

// TestQueueOfTwoEncodings: messages that waited as JSON are sent as JSON, even by an exporter of
// protobuf.
func TestQueueOfTwoEncodings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &pmapitest.Source{}
		defer src.Close()
		pmapitest.Add(src, pmapitest.Metric[uint64]{Name: "c"}).Set(1)
		dir := t.TempDir()
		run := func(json bool, status int) (kinds []string) {
			r := &receiver{Receiver: sendtest.Receiver{Answer: func(_ int, req *http.Request) (*http.Response, error) {
				kinds = append(kinds, req.Header.Get("Content-Type"))
				return sendtest.Reply(status, ""), nil
			}}}
			c := src.Context()
			defer c.Close()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			e := &otlp.Exporter{
				Reader: &export.Reader{Context: c}, Client: &http.Client{Transport: r}, Directory: dir, Samples: 1,
				JSON: json, Gzip: true,
			}
			if err := e.Run(ctx); err != nil || r.Errs != nil {
				t.Fatal(err, r.Errs)
			}
			return kinds
		}
		run(true, 503)
		run(false, 503)
		if got, want := run(false, 200), []string{"application/json", "application/x-protobuf", "application/x-protobuf"}; !slices.Equal(got, want) {
			t.Errorf("types %q, want %q", got, want)
		}
	})
}
