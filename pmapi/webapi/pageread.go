package webapi

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/internal/exposition"
)

// maxPageTime limits the time to read a page, also after its request has ended.
const maxPageTime = 10 * time.Minute

// maxPageAge is how long a page is kept for the next request if its own has ended. It exceeds the
// default scrape interval of Prometheus, 1 minute.
const maxPageAge = 90 * time.Second

// A keptPage is a page whose request ended before it was read.
type keptPage struct {
	key   pageKey
	style exposition.Style
	text  []byte
	at    time.Time
}

// A pageRead reads a page. It continues after its request ends, because an interrupted read would
// have to fetch all metadata again. The session then keeps the page for the next request.
type pageRead struct {
	ended     atomic.Bool   // set by the first to end: the read or its request
	done      chan struct{} // closed if the read ends first
	page      []byte
	err       error
	recovered any // from a panic
}

// readPage reads a page into q.out, until the request ends.
func (q *query) readPage(key pageKey, style exposition.Style) error {
	if kept := q.s.kept; kept != nil && kept.key == key && kept.style == style {
		q.s.kept = nil
		if time.Since(kept.at) <= maxPageAge {
			q.out = append(q.out[:0], kept.text...)
			return nil
		}
	}
	reader := *q // q is reused after its request
	reader.w, reader.params = nil, slices.Clone(q.params)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(q.ctx), maxPageTime)
	reader.ctx = ctx
	r := &pageRead{done: make(chan struct{})}
	if !q.g.contexts.startRead(func() {
		defer cancel()
		r.run(&reader, key, style)
	}) {
		cancel()
		return errClosing
	}
	q.out = nil
	select {
	case <-r.done:
	case <-q.ctx.Done():
		if r.ended.CompareAndSwap(false, true) {
			q.s, q.hasTurn = nil, false // r.keep releases the session
			return &failure{http.StatusServiceUnavailable, "the source is slow: the next request gets the metrics that are being read"}
		}
		<-r.done
	}
	if r.recovered != nil {
		panic(r.recovered)
	}
	q.out = r.page
	return r.err
}

// run reads the page. If the request has ended by then, it releases the session.
func (r *pageRead) run(q *query, key pageKey, style exposition.Style) {
	defer func() {
		r.recovered = recover()
		if r.ended.CompareAndSwap(false, true) {
			close(r.done)
			return
		}
		if r.recovered != nil {
			q.g.log.Error("panic while a page was read", slog.Any("panic", r.recovered), slog.String("stack", string(debug.Stack())))
			r.err = fmt.Errorf("%v: %w", r.recovered, pdu.ErrIPC)
		}
		r.keep(q, key, style)
	}()
	r.page, r.err = q.makePage(key, style)
}

// keep stores the page in the session and releases the session.
func (r *pageRead) keep(q *query, key pageKey, style exposition.Style) {
	switch {
	case r.err == nil:
		q.s.kept = &keptPage{key, style, r.page, time.Now()}
	case q.s.scrapes != nil && !isFailure(r.err):
		q.g.contexts.abandon(q.s)
	}
	q.leave(r.err)
}
