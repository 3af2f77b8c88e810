package sendtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// An Exporter is one that is tested.
type Exporter interface {
	Run(context.Context) error
	Stats() export.Stats
}

// Options are fields that all exporters have. Others than the first two may be zero.
type Options struct {
	Reader    *export.Reader
	Client    *http.Client
	Interval  time.Duration
	Samples   int
	MaxQueue  int // of messages
	Directory string
}

// A Value is one that a receiver has taken.
type Value struct {
	At time.Duration // since the first one of all, or any other time
	V  float64
}

// A Protocol is what an exporter speaks.
type Protocol struct {
	New func(Options) Exporter

	// NewReceiver makes a receiver, which decodes strictly. Values are those of the counter "c"
	// that it has, in the order of their times.
	NewReceiver func() (t http.RoundTripper, r *Receiver, values func() []Value)

	Retried []int // every status that makes the exporter send a message again
	Refused []int // and some that do not
	Reason  string
	Size    int // about the bytes of a message with one value
}

// Run tests what all exporters have in common.
func Run(t *testing.T, p *Protocol) {
	t.Run("InTime", p.TestInTime)
	t.Run("Outage", p.testOutage)
	t.Run("RetryAfter", p.testRetryAfter)
	t.Run("Refused", p.testRefused)
	t.Run("Overflow", p.testOverflow)
	t.Run("Slow", p.testSlow)
	t.Run("NextRun", p.testNextRun)
	t.Run("Unsent", p.testUnsent)
	t.Run("Bounded", p.testBounded)
	t.Run("NotDelivered", p.testNotDelivered)
	t.Run("Redirect", p.testRedirect)
}

// A Course is the result of one run of an exporter.
type Course struct {
	*Receiver
	export.Stats
	Values []Value
}

// ExportFor runs an exporter for a time. Its source has one counter, which rises by one for each
// read. The interval is a second by default.
func (p *Protocol) ExportFor(t *testing.T, d time.Duration, o Options, answer func(n int, req *http.Request) (*http.Response, error)) Course {
	t.Helper()
	transport, r, values := p.NewReceiver()
	r.Answer = answer
	src := &pmapitest.Source{}
	defer src.Close()
	var n uint64
	pmapitest.Add(src, pmapitest.Metric[uint64]{Name: "c", Sem: pdu.SemCounter, Value: func(time.Time, pdu.Instance) (uint64, error) { n++; return n, nil }})
	o.Reader, o.Client = &export.Reader{Context: src.Context()}, &http.Client{Transport: transport}
	o.Interval = cmp.Or(o.Interval, time.Second)
	o.MaxQueue *= p.Size
	defer o.Reader.Context.Close()
	e := p.New(o)
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	if err := e.Run(ctx); err != nil {
		t.Fatal(err)
	}
	c := Course{r, e.Stats(), values()}
	if c.Read.Points+c.Found.Points != c.Sent.Points+c.Dropped.Points+c.Failed.Points+c.Queued.Points || c.Read.Points != n {
		t.Errorf("the sums are not those of %d points: %+v", n, c.Stats)
	}
	if o.Directory == "" && c.Queued != (export.Count{}) {
		t.Errorf("%+v", c.Stats)
	}
	for _, err := range r.Errs {
		t.Error(err)
	}
	if uint64(len(c.Values)) != c.Sent.Points {
		t.Errorf("%d values were taken, %+v", len(c.Values), c.Stats)
	}
	for i, v := range c.Values {
		if i > 0 && v.At <= c.Values[i-1].At {
			t.Error("not in order:", c.Values[i-1:i+1])
		}
	}
	return c
}

// each is a test with memory, and with a directory, for what waits.
func each(t *testing.T, test func(t *testing.T, dir string)) {
	for _, dir := range []string{"", t.TempDir()} {
		synctest.Test(t, func(t *testing.T) { test(t, dir) })
	}
}

func refused(int, *http.Request) (*http.Response, error) {
	return nil, errors.New("connection refused")
}

// TestInTime tests that each value is sent at once.
func (p *Protocol) TestInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := p.ExportFor(t, 10*time.Second-1, Options{}, nil)
		if c.Sent != (export.Count{Messages: 10, Points: 10}) {
			t.Errorf("%+v", c.Stats)
		}
		for i, at := range c.Requests {
			if d := at.Sub(c.Requests[0]); d != time.Duration(i)*time.Second {
				t.Errorf("request %d after %v", i, d)
			}
		}
	})
}

// testOutage: a receiver that is unreachable for a minute, or killed, gets everything after that,
// in order.
func (p *Protocol) testOutage(t *testing.T) {
	ways := map[string]func() (*http.Response, error){
		"refused": func() (*http.Response, error) { return refused(0, nil) },
		"reset":   func() (*http.Response, error) { return nil, io.ErrUnexpectedEOF },
	}
	for _, status := range p.Retried {
		ways[fmt.Sprint(status)] = func() (*http.Response, error) { return Reply(status, "<html>\xff"), nil }
	}
	if len(p.Retried) > 0 {
		ways["nonsense"] = func() (*http.Response, error) {
			return Reply(p.Retried[0], strings.Repeat("x", 1<<20), "Retry-After", "99999999999999999999999"), nil
		}
	}
	for name, away := range ways {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, dir string) {
				began := time.Now()
				c := p.ExportFor(t, 120*time.Second-1, Options{Directory: dir}, func(int, *http.Request) (*http.Response, error) {
					if d := time.Since(began); d > 5*time.Second && d <= 65*time.Second {
						return away()
					}
					return Reply(200, ""), nil
				})
				if c.Sent.Points != 120 || c.Retries < 3 || c.Retries > 12 {
					t.Errorf("%+v", c.Stats)
				}
			})
		})
	}
}

// testRetryAfter: a receiver may delay the next attempt by Retry-After, by an hour at most.
func (p *Protocol) testRetryAfter(t *testing.T) {
	in20 := func() string { return time.Now().Add(20 * time.Second).UTC().Format(http.TimeFormat) }
	for _, status := range p.Retried {
		for header, want := range map[string]time.Duration{"20": 20 * time.Second, "-3": 0, "18446744073709551615": time.Hour, "Fri, 31 Dec 9999 23:59:59 GMT": time.Hour, "in 20": 20 * time.Second} {
			synctest.Test(t, func(t *testing.T) {
				c := p.ExportFor(t, want+time.Minute-1, Options{Interval: 10 * time.Second}, func(n int, _ *http.Request) (*http.Response, error) {
					if header == "in 20" {
						header = in20()
					}
					if n == 0 {
						return Reply(status, "", "Retry-After", header), nil
					}
					return Reply(200, ""), nil
				})
				if wait := c.Requests[1].Sub(c.Requests[0]); wait < want-time.Second || wait > want+time.Second || c.Sent != c.Read {
					t.Errorf("%d, %s: again after %v: %+v", status, header, wait, c.Stats)
				}
			})
		}
	}
}

// testRefused: points that a receiver refuses permanently are counted, and not sent again.
func (p *Protocol) testRefused(t *testing.T) {
	for _, status := range p.Refused {
		synctest.Test(t, func(t *testing.T) {
			c := p.ExportFor(t, 10*time.Second-1, Options{}, func(n int, _ *http.Request) (*http.Response, error) {
				if n%2 == 1 {
					return Reply(status, p.Reason, "Location", "http://elsewhere/"), nil
				}
				return Reply(200, "garbage \x00"), nil
			})
			if c.Failed.Points != 5 || c.Sent.Points != 5 || c.Retries != 0 || len(c.Requests) != 10 {
				t.Errorf("%d: %+v", status, c.Stats)
			}
		})
	}
}

// testOverflow: a full queue drops its oldest messages and counts them.
func (p *Protocol) testOverflow(t *testing.T) {
	each(t, func(t *testing.T, dir string) {
		began := time.Now()
		c := p.ExportFor(t, 100*time.Second-1, Options{MaxQueue: 10, Directory: dir}, func(int, *http.Request) (*http.Response, error) {
			if time.Since(began) < 50*time.Second {
				return refused(0, nil)
			}
			return Reply(200, ""), nil
		})
		if c.Read.Points != 100 || c.Dropped.Points < 20 || c.Sent.Points != 100-c.Dropped.Points {
			t.Errorf("%+v", c.Stats)
		}
		if c.Values[0].V != 1 || c.Values[1].V != float64(c.Dropped.Points)+2 { // the one in hand was the first
			t.Errorf("the first that were sent: %v", c.Values[:2])
		}
	})
}

// testSlow: a slow receiver does not delay the reading of values. A request without a reply is
// abandoned and sent again.
func (p *Protocol) testSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := p.ExportFor(t, 40*time.Second-1, Options{}, func(n int, req *http.Request) (*http.Response, error) {
			if n == 3 {
				<-req.Context().Done()
				return nil, req.Context().Err()
			}
			time.Sleep(300 * time.Millisecond)
			return Reply(200, ""), nil
		})
		if c.Sent.Points != 40 || c.Retries != 1 {
			t.Errorf("%+v", c.Stats)
		}
		for i := 1; i < len(c.Values); i++ {
			if d := c.Values[i].At - c.Values[i-1].At; d != time.Second {
				t.Errorf("values %d and %d are %v apart", i-1, i, d)
			}
		}
	})
}

// testNextRun: the next run first sends the messages that one run could not send.
func (p *Protocol) testNextRun(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		if c := p.ExportFor(t, 10*time.Second-1, Options{Directory: dir}, refused); c.Queued.Points != 10 || c.Dropped.Points != 0 {
			t.Errorf("%+v", c.Stats)
		}
		time.Sleep(time.Hour)
		if c := p.ExportFor(t, 5*time.Second-1, Options{Directory: dir}, nil); c.Found.Points != 10 || c.Sent.Points != 15 {
			t.Errorf("%+v", c.Stats)
		}
	})
}

// testUnsent: messages that wait in memory when a run ends are lost, and counted.
func (p *Protocol) testUnsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if c := p.ExportFor(t, 10*time.Second-1, Options{}, refused); c.Dropped.Points != 10 {
			t.Errorf("%+v", c.Stats)
		}
	})
}

// export runs an exporter with the samples of a metric, and returns the error of Run.
func (p *Protocol) export(t *testing.T, samples int, answer func(n int, req *http.Request) (*http.Response, error)) (Course, error) {
	t.Helper()
	transport, r, values := p.NewReceiver()
	r.Answer = answer
	src := &pmapitest.Source{}
	defer src.Close()
	pmapitest.Add(src, pmapitest.Metric[uint64]{Name: "c", Sem: pdu.SemCounter}).Set(1)
	o := Options{Reader: &export.Reader{Context: src.Context()}, Interval: time.Second, Samples: samples,
		Client: &http.Client{Transport: transport}}
	defer o.Reader.Context.Close()
	e := p.New(o)
	err := e.Run(t.Context())
	return Course{r, e.Stats(), values()}, err
}

// testBounded: a run with a limited number of samples ends with an error if the receiver is
// unreachable for two minutes after the last one, and without an error if it is back sooner.
func (p *Protocol) testBounded(t *testing.T) {
	for _, away := range []time.Duration{time.Hour, 90 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			c, err := p.export(t, 2, func(int, *http.Request) (*http.Response, error) {
				if time.Since(began) < away {
					return refused(0, nil)
				}
				return Reply(200, ""), nil
			})
			took := time.Since(began)
			if late := away > 2*time.Minute; (err != nil) != late || late && (c.Dropped.Points != 2 || !strings.Contains(err.Error(), "connection refused")) || !late && c.Sent.Points != 2 {
				t.Errorf("away for %v: %v, %+v", away, err, c.Stats)
			}
			if took > 2*time.Minute+2*time.Second {
				t.Errorf("away for %v: ended after %v", away, took)
			}
		})
	}
}

// testNotDelivered: a redirect that is not followed does not count as delivery, nor does a web
// page with the status 200, such as one for a login.
func (p *Protocol) testNotDelivered(t *testing.T) {
	for name, reply := range map[string]*http.Response{
		"another host": Reply(307, "", "Location", "https://elsewhere.example/login?password=secret"),
		"another port": Reply(308, "", "Location", "http://localhost:1/x"),
		"login":        Reply(200, "  <!DOCTYPE html>", "Content-Type", "text/html; charset=utf-8"),
		"a page":       Reply(200, "<html>"),
		"as GET":       Reply(302, "", "Location", "/x"),
		"in a circle":  Reply(307, "", "Location", "/v1/metrics"),
	} {
		synctest.Test(t, func(t *testing.T) {
			c, err := p.export(t, 1, func(n int, _ *http.Request) (*http.Response, error) {
				r := *reply
				r.Body = io.NopCloser(strings.NewReader("<html>"))
				return &r, nil
			})
			if err == nil || c.Sent.Points != 0 {
				t.Errorf("%s: %v, %+v", name, err, c.Stats)
			}
		})
	}
}

// testRedirect: a redirect to the same host is followed, with the message.
func (p *Protocol) testRedirect(t *testing.T) {
	for _, status := range []int{307, 308} {
		synctest.Test(t, func(t *testing.T) {
			c, err := p.export(t, 1, func(n int, req *http.Request) (*http.Response, error) {
				if req.URL.Path != "/new" {
					return Reply(status, "", "Location", "/new"), nil
				}
				return Reply(200, ""), nil
			})
			if err != nil || c.Sent.Points != 1 || len(c.Values) != 1 {
				t.Errorf("%d: %v, %+v", status, err, c.Stats)
			}
		})
	}
}
