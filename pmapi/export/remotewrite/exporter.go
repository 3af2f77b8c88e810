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
	"github.com/pcp-go/pcp/pmapi/export/send"
)

// Defaults of an Exporter.
const (
	DefaultEndpoint = "http://localhost:9090/api/v1/write"
	DefaultInterval = 15 * time.Second
	DefaultTimeout  = send.DefaultTimeout
	DefaultMaxQueue = send.DefaultMaxQueue
)

// An Exporter reads metrics at regular times and posts them to a receiver. Messages that the receiver cannot take for a time wait in
// memory or in a directory and are sent again, in order. Fields are not changed once Run or Backfill has been called.
type Exporter struct {
	Reader  *export.Reader // required; its context should connect again by itself
	Encoder Encoder        // how messages are made; used by Run alone

	Endpoint string        // a URL, whose user and password, if it has them, are for HTTP's basic authentication; empty means DefaultEndpoint
	Header   http.Header   // of requests, besides those that the protocol demands: Authorization, say, or X-Scope-OrgID
	Interval time.Duration // between two reads; 0 means DefaultInterval
	Timeout  time.Duration // of a read, of an attempt to send, and of the last attempts when Run ends; 0 means DefaultTimeout
	Samples  int           // how many times to read, after which Run ends as with the source; 0 means no end
	MaxQueue int           // bytes of messages that wait; the oldest make room, one is always kept. 0 means DefaultMaxQueue

	// Directory keeps the messages that wait, also from one run to the next; see send.Sender. "" means memory.
	Directory string

	// Client sends requests; nil means one without redirects, that uses proxies as the environment says.
	Client *http.Client

	Log *slog.Logger // what goes wrong; nil means nothing

	once       sync.Once
	sender     send.Sender
	compressor compressor
	message    []byte
	packed     []byte
	collisions []string // that have been told
	lateTold   bool
}

// Stats are the counters of an Exporter. Points are samples, those that end series among them.
type Stats = send.Stats

// Stats are the counters at this time. It may be called by any goroutine.
func (e *Exporter) Stats() Stats {
	e.init()
	return e.sender.Stats()
}

func (e *Exporter) init() {
	e.once.Do(func() {
		s := &e.sender
		s.Protocol, s.Endpoint, s.Header = "remotewrite", cmp.Or(e.Endpoint, DefaultEndpoint), e.Header
		s.Demanded = http.Header{"Content-Type": {"application/x-protobuf"}, "X-Prometheus-Remote-Write-Version": {"0.1.0"}}
		s.Client, s.Timeout, s.MaxQueue, s.Directory, s.Log = e.Client, e.Timeout, e.MaxQueue, e.Directory, e.Log
		s.Retry = retry
		s.Reason = func(body []byte) string { return strings.TrimSpace(string(body)) }
	})
}

// tooOld is what Prometheus says of samples that are before storage.tsdb.out_of_order_time_window. Version 2.42, at least, does so with the
// status 500, and would say it for ever.
const tooOld = "too old sample"

// retry is whether the protocol has a message sent again after a status.
func retry(status int, reason string) bool {
	return status == http.StatusTooManyRequests || status/100 == 5 && reason != tooOld
}

// Run reads at once and then at every multiple of the interval after that, those left out that have passed meanwhile, and sends what
// it has read, until ctx ends. What waits then is tried once more, for Timeout in all. When the source ends, since its context is closed, or after Samples, Run
// returns when all has been sent. It returns nil, or why nothing can be sent at all. It is called once.
//
// When the source is away, all series end a millisecond after their last values. They do not when Run ends, so that
// one that follows goes on with them.
func (e *Exporter) Run(ctx context.Context) error {
	e.init()
	return e.sender.Live(ctx, &send.Poll{Reader: e.Reader, Interval: cmp.Or(max(e.Interval, 0), DefaultInterval), Samples: e.Samples, Take: e.take, Away: e.away})
}

// take adds the messages of a snapshot to the queue.
func (e *Exporter) take(snap *export.Snapshot) {
	late := e.Encoder.Late()
	e.Encoder.Add(snap)
	e.warn(snap, late)
	e.put()
}

// away ends the series of a source that is away.
func (e *Exporter) away() {
	e.Encoder.End()
	e.put()
}

func (e *Exporter) put() {
	for m, ok := e.next(); ok; m, ok = e.next() {
		e.sender.Put(m)
	}
}

// next is the next message of the samples that have been encoded; ok is false if there are none.
func (e *Exporter) next() (m send.Message, ok bool) {
	var samples int
	e.message, samples = e.Encoder.Append(e.message[:0])
	if samples == 0 {
		return m, false
	}
	e.packed = e.compressor.append(e.packed[:0], e.message)
	return send.Message{Body: bytes.Clone(e.packed), Encoding: "snappy", Points: samples}, true
}

// warn tells of metrics that have not the names, and of values that have not the times, that they should have.
func (e *Exporter) warn(snap *export.Snapshot, late uint64) {
	if e.Log == nil {
		return
	}
	if names := e.Encoder.Collisions(); !slices.Equal(names, e.collisions) {
		if e.collisions = slices.Clone(names); len(names) > 0 {
			e.Log.Warn("metrics whose names are those of others", "metrics", len(names), "first", names[0])
		}
	}
	if n := e.Encoder.Late() - late; n > 0 && !e.lateTold {
		e.Log.Warn("values are left out, for their time is not after that of the last ones", "samples", n, "time", snap.Time)
	}
	e.lateTold = e.Encoder.Late() > late
}
