package remotewrite

import (
	"bytes"
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/export/internal/send"
)

const (
	defaultEndpoint = "http://localhost:9090/api/v1/write"
	defaultInterval = 15 * time.Second
)

// An Exporter reads metrics at regular times and posts them to a receiver. Messages that the
// receiver cannot accept at the moment wait in memory or in a directory. They are sent later, in
// order. Fields must not change after the call of Run or Backfill.
type Exporter struct {
	Reader *export.Reader // required; see pmapi.Dialer.AutoReconnect

	// Labels are added to all series. Without job and instance in the list, job is "pcp" and
	// instance is the name of the host. A label of a series with one of these names gets the prefix
	// "exported_". Names consist of letters, digits and "_". An empty value removes the label.
	Labels  []export.Label
	Strings bool // also write strings that are not discrete; each new value is a new series

	// Endpoint is a URL; without a path it gets /api/v1/write. A user and a password in it are for
	// HTTP basic authentication. "" means http://localhost:9090/api/v1/write.
	Endpoint string
	Header   http.Header   // added to requests, such as Authorization or X-Scope-OrgID
	Interval time.Duration // between two reads; 0 means 15 seconds

	// Timeout limits a read, an attempt to send, and the time for the last attempts when Run ends.
	// 0 means 10 seconds.
	Timeout time.Duration
	// Samples limits the number of reads; Run ends after the last one. 0 means no limit.
	Samples int
	// MaxQueue limits the bytes of waiting messages. The oldest are dropped to make room, but one
	// is always kept. 0 means 64 MiB.
	MaxQueue int

	// Directory keeps the waiting messages, also from one run to the next. It is created if
	// necessary. Only one Exporter at a time can use it. Messages that cannot be written stay in
	// memory. A crash of the program loses no message; a crash of the computer may lose the last
	// ones. "" means memory.
	Directory string

	// Client sends requests; nil means one with the proxies of the environment. A client without
	// CheckRedirect follows redirects with status 307 and 308 to the same host and port.
	Client *http.Client

	Log *slog.Logger // warnings; nil means none

	once       sync.Once
	encoder    encoder
	sender     send.Sender
	compressor compressor
	message    []byte
	packed     []byte
	collisions []string // that have been told
	lateTold   bool
}

// Stats returns the counters at this time. Points are samples, including those that end series. Any
// goroutine may call it.
func (e *Exporter) Stats() export.Stats {
	e.init()
	return e.sender.Stats()
}

func (e *Exporter) init() {
	e.once.Do(func() {
		e.encoder.Labels, e.encoder.Strings = e.Labels, e.Strings
		s := &e.sender
		s.Protocol, s.Endpoint, s.Path, s.Header = "remotewrite", cmp.Or(e.Endpoint, defaultEndpoint), "/api/v1/write", e.Header
		s.Demanded = http.Header{"Content-Type": {"application/x-protobuf"}, "X-Prometheus-Remote-Write-Version": {"0.1.0"}}
		s.Client, s.Timeout, s.MaxQueue, s.Directory, s.Log = e.Client, e.Timeout, e.MaxQueue, e.Directory, e.Log
		s.Retry = retry
		s.Reason = func(_ http.Header, body []byte) string { return strings.TrimSpace(string(body)) }
	})
}

// tooOld is what Prometheus says of samples that are before storage.tsdb.out_of_order_time_window.
// Version 2.42, at least, does so with the status 500, and would say it for ever.
const tooOld = "too old sample"

// retry is whether the protocol has a message sent again after a status.
func retry(status int, reason string) bool {
	return status == http.StatusTooManyRequests || status/100 == 5 && reason != tooOld
}

// Run reads at once and then at each multiple of the interval, skips those that have passed, and
// sends what it has read, until ctx ends. It then tries once more to send the waiting messages, for
// Timeout in all. If the context of the source is closed, or after Samples reads, Run returns when
// all has been sent, or with an error when the receiver has been away for two minutes. It returns
// nil otherwise, or an error if it cannot send at all. It can be called once.
//
// When the source is away, all series end a millisecond after their last values. They do not end
// when Run ends, so a later Run continues them.
func (e *Exporter) Run(ctx context.Context) error {
	e.init()
	return e.sender.Live(ctx, &send.Poll{Reader: e.Reader, Interval: cmp.Or(max(e.Interval, 0), defaultInterval), Samples: e.Samples, Take: e.take, Away: e.away})
}

// take adds the messages of a snapshot to the queue.
func (e *Exporter) take(snap *export.Snapshot) {
	late := e.encoder.late
	e.encoder.Add(snap)
	e.warn(snap, late)
	e.put()
}

// away ends the series of a source that is away.
func (e *Exporter) away() {
	e.encoder.End()
	e.put()
}

func (e *Exporter) put() {
	for m, ok := e.next(); ok; m, ok = e.next() {
		e.sender.Put(m)
	}
}

// next returns the next message of the encoded samples; ok is false if no samples wait.
func (e *Exporter) next() (m send.Message, ok bool) {
	var samples int
	e.message, samples = e.encoder.Append(e.message[:0])
	if samples == 0 {
		return m, false
	}
	e.packed = e.compressor.append(e.packed[:0], e.message)
	return send.Message{Body: bytes.Clone(e.packed), Encoding: "snappy", Points: samples}, true
}

// warn logs metrics that got another name because of a collision, and values that were left out
// because their time is not after that of the last ones.
func (e *Exporter) warn(snap *export.Snapshot, late uint64) {
	if e.Log == nil {
		return
	}
	if names := e.encoder.pages.Collisions; !slices.Equal(names, e.collisions) {
		if e.collisions = slices.Clone(names); len(names) > 0 {
			e.Log.Warn("metrics whose names are those of others: they have a number", "metrics", len(names), "first", names[0])
		}
	}
	if n := e.encoder.late - late; n > 0 && !e.lateTold {
		e.Log.Warn("values are left out, for their time is not after that of the last ones", "samples", n, "time", snap.Time)
	}
	e.lateTold = e.encoder.late > late
}
