package otlp

import (
	"context"
	"fmt"

	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/export/internal/send"
)

// Backfill sends the archives of the Reader's context instead of live values. Each record is a
// message with its own time. A series ends at a mark, at a record that has its metric but not the
// series, and at the end of the archive. Counters have new start times after that. Directory,
// Interval and Samples are not used. Backfill can be called once, and not together with Run.
func (e *Exporter) Backfill(ctx context.Context, o export.BackfillOptions) error {
	if e.Disabled {
		return nil
	}
	e.init()
	return e.sender.Backfill(ctx, e.Reader, &recorder{e: e}, fmt.Sprint(e.Resource), o)
}

// A recorder implements send.Encoder for an Exporter. It keeps messages until Next returns them.
type recorder struct {
	e       *Exporter
	waiting []send.Message
}

func (r *recorder) Add(s *export.Snapshot) {
	r.e.page = r.e.encoder.Append(r.e.page[:0], s)
	r.keep()
}

func (r *recorder) End() {
	r.e.page = r.e.encoder.appendFinal(r.e.page[:0])
	r.keep()
}

func (r *recorder) keep() {
	if m, ok := r.e.message(); ok {
		r.waiting = append(r.waiting, m)
	}
}

func (r *recorder) Discard()   { r.waiting = r.waiting[:0] }
func (r *recorder) Full() bool { return true }

func (r *recorder) Next() (m send.Message, ok bool) {
	if len(r.waiting) == 0 {
		return m, false
	}
	m, r.waiting = r.waiting[0], r.waiting[1:]
	return m, true
}
