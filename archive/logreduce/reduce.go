package logreduce

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// defaultInterval is the default of Options.Interval.
const defaultInterval = 10 * time.Minute

// Options select the records of the new archive.
type Options struct {
	// The first record is at Start, and the last one is not after End. Zero times mean the start
	// and end of the archive.
	Start, End time.Time
	// Interval is the time between records, at least a microsecond. 0 means ten minutes.
	Interval time.Duration
	// Samples, if not 0, is the maximum number of records, not counting marks. A negative number
	// means no records.
	Samples int
	// VolumeRecords, if positive, is the maximum number of records per volume, not counting marks.
	VolumeRecords int

	// Skipped, if not nil, is called for each metric that is omitted because of its type.
	Skipped func(name string, t pdu.Type)
	// NewVolume, if not nil, is called when a volume other than the first begins, with the time of
	// its first record.
	NewVolume func(number int, t time.Time)
}

// A reducer is the state of one Reduce call.
type reducer struct {
	Options
	interp *pmapi.Context // interpolates the values
	scan   *pmapi.Context // reads the input records
	out    *archive.Writer

	metrics []*metric // in the order of ids
	ids     []pdu.PMID
	byID    map[pdu.PMID]*metric
	inDoms  map[pdu.InDom][]pdu.Instance // as last written

	sets    pdu.ResultWriter
	record  pdu.Result // of scan
	ahead   bool       // record is later than the current interval
	scanned error      // the error that ended scan
	now     int        // number of the current interval
	total   int        // records
	volume  int
	seen    int   // input records
	idle    int   // intervals since the last input record
	allIdle int   // intervals without an input record, in all
	written int   // records in the volume
	indexAt int64 // size of the volume at which it gets the next index entry
	changed bool  // instance domains were written since the last index entry
}

// Reduce writes a smaller archive, with base name output, of the archive that pc has open. It works
// on duplicates of pc and leaves pc unchanged. Each record has the instances that the input
// recorded since the record before, and the metrics that have an error or no values. Marks are
// copied.
//
// Errors of reading are *pmapi.OpError. Errors of writing are *archive.Error, with fs.ErrExist if
// the archive already exists. After an error, the output is a valid archive of the records written
// so far.
func (o Options) Reduce(ctx context.Context, pc *pmapi.Context, output string) error {
	r, err := newReducer(ctx, &o, pc)
	if err != nil {
		return err
	}
	defer r.close()
	label, err := pc.ArchiveLabel()
	if err != nil {
		return err
	}
	label.PID, label.Volume, label.Features, label.Start, label.ZoneInfo = 0, 0, 0, r.Start, ""
	if r.out, err = (archive.WriterOptions{Label: label, IndexEvery: -1}).Create(output); err != nil {
		return err
	}
	err = r.run(ctx)
	if r.out.Size() > 0 {
		_, end := r.out.Place()
		if end.Time.IsZero() {
			end.Time = r.Start
		}
		err = errors.Join(err, r.out.WriteIndex(end))
	}
	return errors.Join(err, r.out.Close())
}

// newReducer opens the contexts and fills in the options.
func newReducer(ctx context.Context, o *Options, pc *pmapi.Context) (r *reducer, err error) {
	r = &reducer{Options: *o, byID: map[pdu.PMID]*metric{}, inDoms: map[pdu.InDom][]pdu.Instance{}}
	if r.Start.IsZero() {
		label, err := pc.ArchiveLabel()
		if err != nil {
			return nil, err
		}
		r.Start = label.Start
	}
	if r.End.IsZero() {
		if r.End, err = pc.ArchiveEnd(ctx); err != nil {
			return nil, err
		}
	}
	if r.Interval == 0 {
		r.Interval = defaultInterval
	}
	if r.Interval < time.Microsecond {
		return nil, fmt.Errorf("logreduce: interval of %v, at least 1µs is needed", r.Interval)
	}
	for _, c := range []**pmapi.Context{&r.interp, &r.scan} {
		if *c, err = pc.Dup(ctx); err != nil {
			r.close()
			return nil, err
		}
		(*c).SetProfile(nil)
	}
	return r, nil
}

func (r *reducer) close() {
	for _, c := range []*pmapi.Context{r.interp, r.scan} {
		if c != nil {
			c.Close()
		}
	}
}

// run writes the archive.
func (r *reducer) run(ctx context.Context) error {
	if err := r.describe(ctx); err != nil {
		return err
	}
	if err := r.out.Begin(); err != nil {
		return err
	}
	err := r.interp.SetMode(ctx, pmapi.ModeInterp, r.Start, r.Interval)
	if err == nil {
		err = r.scan.SetMode(ctx, pmapi.ModeForward, r.scanStart(), 0)
	}
	var values pdu.Result
	for err == nil && (r.Samples == 0 || r.total < r.Samples) {
		if err = r.interp.Fetch(ctx, r.ids, &values); errors.Is(err, pdu.ErrEOL) || err == nil && values.Time.After(r.End) {
			return nil
		}
		if err != nil {
			break
		}
		r.now++
		seen, written := r.seen, r.total
		if err = r.scanTo(ctx, values.Time); err != nil {
			break
		}
		if err = r.write(ctx, &values); err == nil && r.seen == seen {
			err = r.skip(ctx, values.Time, r.total > written)
		}
	}
	return err
}

// scanStart returns the time of the first input record to read. That is the start of an archive of
// version 2 with floats, to learn how it encodes them.
func (r *reducer) scanStart() time.Time {
	label, err := r.scan.ArchiveLabel()
	for _, m := range r.metrics {
		if err == nil && label.Version == 2 && m.in.Type == pdu.TypeFloat && label.Start.Before(r.Start) {
			return label.Start
		}
	}
	return r.Start
}

// write writes a record.
func (r *reducer) write(ctx context.Context, values *pdu.Result) error {
	r.sets.Reset()
	r.sets.Time = values.Time
	for i, set := range values.All() {
		m := r.metrics[i]
		if !m.copy(&r.sets, set, r.now) || m.out.InDom == pdu.NoInDom || set.Len() == 0 {
			continue
		}
		if err := r.updateInDom(ctx, m.out.InDom, values.Time); err != nil {
			return err
		}
	}
	if r.sets.Len() == 0 {
		return nil
	}
	begins := r.written == 0
	if r.VolumeRecords > 0 && r.written >= r.VolumeRecords {
		r.out.NewVolume()
		r.written, r.indexAt, begins = 0, 0, true
		r.volume++
		if r.NewVolume != nil {
			r.NewVolume(r.volume, values.Time)
		}
	}
	if err := r.out.WriteSets(&r.sets); err != nil {
		return err
	}
	r.written++
	r.total++
	return r.index(begins)
}

// indexEvery is the number of bytes of a volume between index entries, as in PCP's writers.
const indexEvery = 100_000

// index writes an index entry for the last record if it begins a volume, if it has new instances,
// or if the volume has grown by indexEvery.
func (r *reducer) index(begins bool) error {
	last, end := r.out.Place()
	grown := end.Data > max(r.indexAt, indexEvery)
	if grown {
		r.indexAt = end.Data + indexEvery
	}
	if !begins && !grown && !r.changed {
		return nil
	}
	r.changed = false
	return r.out.WriteIndex(last)
}
