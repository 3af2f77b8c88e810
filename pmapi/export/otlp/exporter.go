package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/export"
)

// Defaults of an Exporter.
const (
	DefaultEndpoint = "http://localhost:4318/v1/metrics"
	DefaultInterval = time.Minute
	DefaultTimeout  = 10 * time.Second
	DefaultMaxQueue = 64 << 20
)

// MaxMessage is the length, before compression, above which a message is not sent.
const MaxMessage = 64 << 20

// An Exporter reads metrics at regular times and posts them to a receiver. Messages that the receiver cannot take for a time wait in
// memory and are sent again, in order. Fields are not changed once Run has been called.
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

	// Client sends requests; nil means one without redirects, that uses proxies as the environment says.
	Client *http.Client

	Log *slog.Logger // what goes wrong; nil means nothing

	// Disabled makes Run return at once.
	Disabled bool

	once  sync.Once
	queue queue
	page  []byte

	generation uint64 // of the last snapshot
	warned     string // what was wrong with its metrics
}

// Stats are the counters at this time. It may be called by any goroutine.
func (e *Exporter) Stats() Stats {
	e.init()
	return e.queue.snapshot()
}

func (e *Exporter) init() {
	e.once.Do(func() {
		e.queue.limit = e.MaxQueue
		if e.MaxQueue == 0 {
			e.queue.limit = DefaultMaxQueue
		}
		e.queue.wake = make(chan struct{}, 1)
	})
}

// Run reads at once and then at every multiple of the interval after that, those left out that have passed meanwhile, and sends what
// it has read, until ctx ends. What waits then is tried once more, for Timeout in all. When the source ends, since its context is closed, or after Samples, Run
// returns when all has been sent. It returns nil, or why nothing can be sent at all. It is called once.
func (e *Exporter) Run(ctx context.Context) error {
	if e.Disabled {
		return nil
	}
	e.init()
	s, err := newSender(e)
	if err != nil {
		return err
	}
	var sending sync.WaitGroup
	sending.Go(func() { s.run(ctx) })
	e.read(ctx)
	e.queue.close()
	sending.Wait()
	return nil
}

// read fills the queue.
func (e *Exporter) read(ctx context.Context) {
	interval := orDefault(e.Interval, DefaultInterval)
	began, due := time.Now(), time.Duration(0)
	failing := false
	for n := 1; ; n++ {
		err := e.readOnce(ctx)
		if ctx.Err() != nil || errors.Is(err, net.ErrClosed) || errors.Is(err, pdu.ErrEOL) {
			return
		}
		if err != nil {
			e.queue.update(func(s *Stats) { s.ReadErrors++ })
		}
		if err != nil && !failing {
			e.warn("cannot read metrics", "error", err)
		}
		failing = err != nil
		if n == e.Samples {
			return
		}
		due += interval
		if late := time.Since(began) - due; late > 0 {
			due += (late + interval - 1) / interval * interval
		}
		if pause(ctx, due-time.Since(began)) != nil {
			return
		}
	}
}

// readOnce adds a message to the queue.
func (e *Exporter) readOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, orDefault(e.Timeout, DefaultTimeout))
	defer cancel()
	s, err := e.Reader.Read(ctx)
	if err != nil {
		return err
	}
	e.warnOf(s)
	e.page = e.Encoder.Append(e.page[:0], s)
	points := e.Encoder.Points()
	switch {
	case points == 0:
		return nil
	case len(e.page) > MaxMessage:
		e.warn("message is too long to be sent", "bytes", len(e.page))
		e.queue.update(func(s *Stats) {
			s.Read.add(message{points: points})
			s.Failed.add(message{points: points})
		})
		return nil
	}
	body := bytes.Clone(e.page) // a client may still read it when its request is over
	if e.Gzip {
		body = compressed(e.page)
	}
	e.queue.put(message{body, points})
	return nil
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

// warnOf tells of metrics that are not as they should be, once.
func (e *Exporter) warnOf(s *export.Snapshot) {
	if s.Generation == e.generation {
		return
	}
	e.generation = s.Generation
	text := ""
	if err := errors.Join(s.Errs...); err != nil {
		text = err.Error()
	}
	if text != "" && text != e.warned {
		e.warn("metrics without values or metadata", "errors", len(s.Errs), "first", s.Errs[0])
	}
	e.warned = text
}

func (e *Exporter) warn(text string, args ...any) {
	if e.Log != nil {
		e.Log.Warn(text, args...)
	}
}

func orDefault(d, byDefault time.Duration) time.Duration {
	if d <= 0 {
		return byDefault
	}
	return d
}

// pause waits, and returns an error if ctx has ended.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
