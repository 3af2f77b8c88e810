package otlp

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/export/send"
)

// Defaults of an Exporter.
const (
	DefaultEndpoint = "http://localhost:4318/v1/metrics"
	DefaultInterval = time.Minute
	DefaultTimeout  = send.DefaultTimeout
	DefaultMaxQueue = send.DefaultMaxQueue
)

// MaxMessage is the length, before compression, above which a message is not sent.
const MaxMessage = send.MaxMessage

// An Exporter reads metrics at regular times and posts them to a receiver. Messages that the receiver cannot take for a time wait in
// memory or in a directory and are sent again, in order. Fields are not changed once Run has been called.
type Exporter struct {
	Reader  *export.Reader // required; its context should connect again by itself
	Encoder Encoder        // how messages are made; used by Run alone

	Endpoint string        // a URL, used as it is; empty means DefaultEndpoint
	Header   http.Header   // of requests, besides those that OTLP demands
	Gzip     bool          // compress messages
	Interval time.Duration // between two reads; 0 means DefaultInterval
	Timeout  time.Duration // of a read, of an attempt to send, and of the last attempts when Run ends; 0 means DefaultTimeout
	Samples  int           // how many times to read, after which Run ends as with the source; 0 means no end
	MaxQueue int           // bytes of messages that wait; the oldest make room, one is always kept. 0 means DefaultMaxQueue

	// Directory keeps the messages that wait, also from one run to the next; see send.Sender. "" means memory.
	Directory string

	// Client sends requests; nil means one without redirects, that uses proxies as the environment says.
	Client *http.Client

	Log *slog.Logger // what goes wrong; nil means nothing

	// Disabled makes Run return at once.
	Disabled bool

	once   sync.Once
	sender send.Sender
	page   []byte
}

// Stats are the counters at this time. It may be called by any goroutine.
func (e *Exporter) Stats() Stats {
	e.init()
	return e.sender.Stats()
}

func (e *Exporter) init() {
	e.once.Do(func() {
		s := &e.sender
		s.Protocol, s.Endpoint, s.Header = "otlp", cmp.Or(e.Endpoint, DefaultEndpoint), e.Header
		s.Demanded = http.Header{"Content-Type": {"application/json"}}
		s.Client, s.Timeout, s.MaxQueue, s.Directory, s.Log = e.Client, e.Timeout, e.MaxQueue, e.Directory, e.Log
		s.Retry, s.Reply, s.Reason = retry, reply, parseStatus
	})
}

// retry is whether the protocol has a message sent again after a status.
func retry(status int, _ string) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// Run reads at once and then at every multiple of the interval after that, those left out that have passed meanwhile, and sends what
// it has read, until ctx ends. What waits then is tried once more, for Timeout in all. When the source ends, since its context is closed, or after Samples, Run
// returns when all has been sent. It returns nil, or why nothing can be sent at all. It is called once.
func (e *Exporter) Run(ctx context.Context) error {
	if e.Disabled {
		return nil
	}
	e.init()
	return e.sender.Live(ctx, &send.Poll{Reader: e.Reader, Interval: cmp.Or(max(e.Interval, 0), DefaultInterval), Samples: e.Samples, Take: e.take})
}

// take adds a message to the queue.
func (e *Exporter) take(snap *export.Snapshot) {
	e.page = e.Encoder.Append(e.page[:0], snap)
	if m, ok := e.message(); ok {
		e.sender.Put(m)
	}
}

// message is what has been encoded last; ok is false if there is nothing to be sent.
func (e *Exporter) message() (m send.Message, ok bool) {
	points := e.Encoder.Points()
	switch {
	case points == 0:
		return m, false
	case len(e.page) > MaxMessage:
		e.sender.TooLong(points, len(e.page))
		return m, false
	case e.Gzip:
		return send.Message{Body: compressed(e.page), Encoding: "gzip", Points: points}, true
	}
	return send.Message{Body: bytes.Clone(e.page), Points: points}, true // a client may still read it when its request is over
}

var gzipWriters = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

func compressed(b []byte) []byte {
	var out bytes.Buffer
	z := gzipWriters.Get().(*gzip.Writer)
	defer gzipWriters.Put(z)
	z.Reset(&out)
	z.Write(b) // into memory: cannot fail
	z.Close()
	return out.Bytes()
}
