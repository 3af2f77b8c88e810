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
	Reader *export.Reader // required; its Context should have pmapi.Dialer.AutoReconnect

	// Labels are added to all series. Unless the list has them, the label job with the value "pcp"
	// and the label instance with the name of the host are added, too. A label of a series with one
	// of these names gets the prefix "exported_". Names consist of letters, digits and "_". A label
	// with an empty value is not sent, not even job or instance.
	Labels  []export.Label
	Strings bool // also send strings that are not discrete; each new value is a new series

	// Endpoint is a URL; without a path it gets /api/v1/write. A user and a password in it are for
	// HTTP basic authentication. Empty means http://localhost:9090/api/v1/write.
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

	// Directory is the path of a directory that keeps the waiting messages, even from one run to
	// the next. It is created if necessary. Empty means that messages wait in memory.
	//
	// Only one Exporter at a time can use it. Messages that cannot be written stay in memory. A
	// crash of the program loses no message; a crash of the computer may lose the last ones.
	Directory string

	// Client sends requests; nil means one with the proxies of the environment. A client without
	// CheckRedirect follows redirects with status 307 and 308 to the same host and port.
	Client *http.Client

	Log *slog.Logger // gets warnings; nil means no log

	once       sync.Once
	encoder    encoder
	sender     send.Sender
	compressor compressor
	message    []byte
	packed     []byte
	collisions []string // that have been logged
	lateTold   bool
}

// Stats returns the current counters. Points are samples, including the staleness markers of ended
// series. Any goroutine may call it at any time.
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

// tooOld is the reply of Prometheus to samples before storage.tsdb.out_of_order_time_window. At
// least version 2.42 sends it with the status 500, although a retry cannot succeed.
const tooOld = "too old sample"

// retry reports whether the protocol demands that a message is sent again after a status.
func retry(status int, reason string) bool {
	return status == http.StatusTooManyRequests || status/100 == 5 && reason != tooOld
}

// Run reads the metrics at once and then at each multiple of Interval, and sends them, until ctx
// ends. It skips the multiples that pass while it reads. When ctx ends, it tries once more to send
// the waiting messages, for at most Timeout, and returns nil. If the Reader's context is closed, or
// after Samples reads, Run returns when all has been sent.
//
// Errors: an invalid Endpoint or Header, a Directory that cannot be used, and, after the last read,
// a receiver that is away for two minutes. Run can be called once.
//
// When the source cannot be read, all series end a millisecond after their last values. They do not
// end when Run ends, so that the Run of another Exporter continues them.
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

// warn logs metrics that got another name because of a collision, and values that were dropped
// because their time is not after that of the previous ones.
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
