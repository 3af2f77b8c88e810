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
	"github.com/pcp-go/pcp/pmapi/export/internal/send"
)

const (
	defaultEndpoint = "http://localhost:4318/v1/metrics"
	defaultInterval = time.Minute
)

// An Exporter reads metrics at regular times and posts them to a receiver. If the receiver is
// unavailable, messages wait in memory or in a directory and are sent later, in order. Fields must
// not change after the call of Run or Backfill.
type Exporter struct {
	Reader *export.Reader // required; see pmapi.Dialer.AutoReconnect

	// Resource lists attributes of the resource. They have precedence over the labels of the host.
	// If a name is listed twice, the last one is used. Without service.name in the list,
	// service.name is "pcp".
	Resource []export.Label
	Strings  bool // convert discrete strings to gauges
	JSON     bool // write messages in JSON instead of protobuf

	// Endpoint is a URL; if it has no path, /v1/metrics is appended. "" means
	// http://localhost:4318/v1/metrics.
	Endpoint string
	Header   http.Header   // added to requests; headers of OTLP have precedence
	Gzip     bool          // compress messages
	Interval time.Duration // between two reads; 0 means a minute

	// Timeout limits a read, an attempt to send, and the time for the last attempts when Run ends.
	// 0 means 10 seconds.
	Timeout time.Duration
	// Samples limits the number of reads; Run ends after the last one. 0 means no limit.
	Samples int
	// MaxQueue limits the bytes of waiting messages. The oldest are dropped to make room, but one
	// is always kept. 0 means 64 MiB.
	MaxQueue int

	// Directory keeps the waiting messages, also for the next run. It is created if necessary. Only
	// one Exporter at a time can use it. Messages that cannot be written stay in memory. A crash of
	// the program loses no message; a crash of the computer may lose the last ones. "" means
	// memory.
	Directory string

	// Client sends requests; nil means one with the proxies of the environment. A client without
	// CheckRedirect follows redirects with status 307 and 308 to the same host and port.
	Client *http.Client

	Log *slog.Logger // warnings; nil means none

	// Disabled makes Run and Backfill return nil at once.
	Disabled bool

	once    sync.Once
	encoder encoder
	sender  send.Sender
	page    []byte
}

// Stats returns the current counters. It is safe for concurrent use.
func (e *Exporter) Stats() export.Stats {
	e.init()
	return e.sender.Stats()
}

func (e *Exporter) init() {
	e.once.Do(func() {
		e.encoder.Resource, e.encoder.Strings, e.encoder.JSON = e.Resource, e.Strings, e.JSON
		s := &e.sender
		s.Protocol, s.Endpoint, s.Path, s.Header = "otlp", cmp.Or(e.Endpoint, defaultEndpoint), "/v1/metrics", e.Header
		s.Demanded = http.Header{"Content-Type": {typeJSON}} // for messages of an older version in Directory
		s.Client, s.Timeout, s.MaxQueue, s.Directory, s.Log = e.Client, e.Timeout, e.MaxQueue, e.Directory, e.Log
		s.Retry, s.Reply, s.Reason = retry, reply, reason
	})
}

// retry reports whether OTLP lets a client send a message again after a status.
func retry(status int, _ string) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// Run reads at once and then at each multiple of Interval, and sends what it has read, until ctx
// ends. It skips times that have passed. When ctx ends, it tries once more to send the waiting
// messages, for Timeout in all.
//
// If the context of the source is closed, or after Samples reads, Run returns when everything is
// sent, or with an error when the receiver has been unavailable for two minutes. It also returns an
// error if it cannot send at all. It can be called once.
func (e *Exporter) Run(ctx context.Context) error {
	if e.Disabled {
		return nil
	}
	e.init()
	return e.sender.Live(ctx, &send.Poll{Reader: e.Reader, Interval: cmp.Or(max(e.Interval, 0), defaultInterval), Samples: e.Samples, Take: e.take})
}

// take encodes a snapshot and adds it to the queue.
func (e *Exporter) take(snap *export.Snapshot) {
	e.page = e.encoder.Append(e.page[:0], snap)
	if m, ok := e.message(); ok {
		e.sender.Put(m)
	}
}

// message returns the last encoded page as a message. It returns ok false if the page has no points
// or is too long.
func (e *Exporter) message() (m send.Message, ok bool) {
	points := e.encoder.Points()
	switch {
	case points == 0:
		return m, false
	case len(e.page) > send.MaxMessage:
		e.sender.TooLong(points, len(e.page))
		return m, false
	case e.Gzip:
		m = send.Message{Body: compressed(e.page), Encoding: "gzip", Points: points}
	default:
		m = send.Message{Body: bytes.Clone(e.page), Points: points} // a client may read it even after its request
	}
	if !e.JSON {
		m.Type = typeProtobuf
	}
	return m, true
}

// Types of messages and replies.
const (
	typeJSON     = "application/json"
	typeProtobuf = "application/x-protobuf"
)

var gzipWriters = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

func compressed(b []byte) []byte {
	var out bytes.Buffer
	z := gzipWriters.Get().(*gzip.Writer)
	defer gzipWriters.Put(z)
	z.Reset(&out)
	z.Write(b) // a write to memory cannot fail
	z.Close()
	return out.Bytes()
}
