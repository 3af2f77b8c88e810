package export

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

const defaultRefresh = 5 * time.Minute

// A Reader reads metrics from one context. It must be used by one goroutine at a time. Other
// goroutines may use the context, but its profile limits what the Reader reads.
type Reader struct {
	Context *pmapi.Context // required

	// Names are metrics, or names above them in the name space. Empty means all metrics.
	Names []string

	// Keep, if not nil, selects metrics by name and descriptor. It is called when metadata is read,
	// not at each Read.
	Keep func(name string, desc pdu.Desc) bool

	// Refresh is how long names and metadata are used without a report of changes from the source.
	// Agents may add names without a report. 0 means 5 minutes; a negative duration means no limit.
	Refresh time.Duration

	meta   *metadata // nil before the first Read, and after a change
	readAt time.Time // of meta, by this computer's clock or that of the archive
	began  time.Time // time of the first record of an archive or after a mark
	snap   Snapshot
	places map[pdu.PMID]int // of the metrics in records
}

// A Snapshot holds the values of all metrics of a Reader at one time. It is valid until the next
// Read or ReadRecord.
type Snapshot struct {
	Time time.Time // of the values, by the clock of the source

	// Context has the labels of the source as a whole, such as its host name. The labels of metrics
	// do not include them.
	Context pdu.LabelSet

	// Host is the name of the host: the label hostname of the source, or else the result of
	// Context.HostName.
	Host string

	// Generation changes when metadata is read again. Each *Metric, and data that depends on it, is
	// then out of date. It is never 0.
	Generation uint64

	// Errs has the errors of metrics that are left out because they could not be described, of
	// missing labels and texts, and of Names that do not exist.
	Errs []error

	// AfterMark reports whether there was a mark between this record and the one before; see
	// Reader.ReadRecord.
	AfterMark bool

	metrics []*Metric
	result  pdu.Result
	sets    []int // of a record: the index of each metric's values, -1 without values; nil if the values are in the order of metrics
}

// All yields the metrics with their values, in the order of the name space or of Reader.Names. A
// metric with several names is yielded once, under the first one. The set of a metric that failed
// has an Err.
func (s *Snapshot) All() iter.Seq2[*Metric, pdu.ValueSet] {
	return func(yield func(*Metric, pdu.ValueSet) bool) {
		for i, m := range s.metrics {
			if !yield(m, s.values(i)) {
				return
			}
		}
	}
}

func (s *Snapshot) values(i int) pdu.ValueSet {
	switch {
	case s.sets == nil:
		return s.result.At(i)
	case s.sets[i] < 0:
		return pdu.ValueSet{}
	}
	return s.result.At(s.sets[i])
}

// Has reports whether the snapshot has values of metric i, in the order of All. Only records of an
// archive lack some metrics; All then yields an empty set.
func (s *Snapshot) Has(i int) bool { return s.sets == nil || s.sets[i] >= 0 }

// Len returns the number of metrics that All yields.
func (s *Snapshot) Len() int { return len(s.metrics) }

// Read fetches the values of all metrics, in one request if they fit; see pmapi.Context.Fetch. If
// the source lacks all of them, the Snapshot is empty and its Errs say why. Errors wrap those of
// pmapi.Context.Fetch and of the requests for metadata. After an error the next Read requests the
// metadata again.
func (r *Reader) Read(ctx context.Context) (*Snapshot, error) {
	if err := r.read(ctx); err != nil {
		r.meta = nil
		return nil, fmt.Errorf("export: %w", err)
	}
	return &r.snap, nil
}

func (r *Reader) read(ctx context.Context) error {
	if r.expired() {
		r.meta = nil
	}
	changed, err := r.fetch(ctx)
	if changed {
		// Values are used as they are this time, because metadata that changes with every fetch
		// must not keep a Read for ever.
		r.meta = nil
		_, err = r.fetch(ctx)
	}
	if err != nil {
		return err
	}
	return r.meta.nameInstances(ctx, r.Context, &r.snap)
}

func (r *Reader) refresh() time.Duration {
	if r.Refresh == 0 {
		return defaultRefresh
	}
	return r.Refresh
}

func (r *Reader) expired() bool {
	refresh := r.refresh()
	return refresh > 0 && time.Since(r.readAt) >= refresh
}

// fetch fetches the values, after the metadata if r.meta is nil. If changed is true, names or
// metadata may have changed since.
func (r *Reader) fetch(ctx context.Context) (changed bool, err error) {
	s := &r.snap
	if r.meta == nil {
		if r.meta, err = readMetadata(ctx, r); err != nil {
			return false, err
		}
		r.readAt = time.Now()
		s.Generation++
		s.Context, s.Host, s.Errs, s.metrics = r.meta.context, r.meta.host, r.meta.errs, r.meta.metrics
	}
	if len(s.metrics) == 0 {
		s.Time, s.result = time.Now(), pdu.Result{}
		return false, nil
	}
	if err := r.Context.Fetch(ctx, r.meta.ids, &s.result); err != nil {
		var gap *pmapi.Gap
		return errors.As(err, &gap), err
	}
	s.Time = s.result.Time
	return s.result.Changed != 0, nil
}
