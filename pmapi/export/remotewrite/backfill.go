package remotewrite

import (
	"cmp"
	"context"
	"fmt"

	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/export/internal/send"
)

// Backfill sends the archives of the Reader's context instead of live values. Samples have the
// times of the records, and a message has many records. A series ends at a mark, at a record that
// has its metric but not the series, and at the end of the archive. Directory, Interval and Samples
// are not used. Backfill can be called once, and not together with Run.
//
// Backfill returns nil when all has been sent, and the cause of ctx when ctx ends. Otherwise it
// returns the first error of the archive, of the State or of the receiver, which may be away for
// two minutes.
//
// Prometheus accepts old samples only if storage.tsdb.out_of_order_time_window is long enough; see
// the package comment.
func (e *Exporter) Backfill(ctx context.Context, o export.BackfillOptions) error {
	e.init()
	return e.sender.Backfill(ctx, e.Reader, recorder{e}, fmt.Sprint(e.Labels), o)
}

// A recorder implements send.Encoder for an Exporter.
type recorder struct{ e *Exporter }

func (r recorder) Add(s *export.Snapshot) {
	late := r.e.encoder.late
	r.e.encoder.Add(s)
	r.e.warn(s, late)
}

func (r recorder) End()     { r.e.encoder.End() }
func (r recorder) Discard() { r.e.encoder.discard() }
func (r recorder) Full() bool {
	return r.e.encoder.samples >= cmp.Or(r.e.encoder.MaxSamples, defaultMaxSamples)
}

func (r recorder) Next() (send.Message, bool) { return r.e.next() }
