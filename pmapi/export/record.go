package export

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// errDerived says why a derived metric is left out of records.
var errDerived = errors.New("derived metrics are not in records of archives")

// ReadRecord reads the next record of an archive with its own time and metrics; see Snapshot.Has.
// It skips records without any metric of the Reader. The Reader's context must be on archives, in
// pmapi.ModeForward. The first record is the one at the position of the context.
//
// Metadata is that of the time of the record. Names of instances are always up to date. Other
// metadata is read again after a mark and when Refresh has passed in the archive. It is read more
// often at first, because pmlogger writes labels after its first records. Until there are labels,
// the name of the host comes from the archive's label.
//
// Derived metrics are left out, because records do not have them. Snapshot.Errs has an error for
// each derived metric in Names, and for each name that has only derived metrics below it.
//
// The error is pdu.ErrEOL at the end of the archive; more records may follow if the archive grows.
// Other errors are those of pmapi.Context.FetchArchive and of requests for metadata. The next
// ReadRecord then reads the next record.
func (r *Reader) ReadRecord(ctx context.Context) (*Snapshot, error) {
	r.snap.AfterMark = false
	for {
		found, err := r.readRecord(ctx)
		if err != nil {
			return nil, fmt.Errorf("export: %w", err)
		}
		if found {
			return &r.snap, nil
		}
	}
}

// readRecord reads one record. It reports whether the record has one of the metrics.
func (r *Reader) readRecord(ctx context.Context) (found bool, err error) {
	s := &r.snap
	if err := r.Context.FetchArchive(ctx, &s.result); err != nil {
		return false, err
	}
	s.Time = s.result.Time
	if s.result.Len() == 0 {
		s.AfterMark, r.meta, r.began = true, nil, time.Time{}
		return false, nil
	}
	if r.began.IsZero() {
		r.began = s.Time
	}
	if r.meta == nil || r.archiveExpired(s.Time) {
		if err := r.describeRecords(ctx); err != nil {
			r.meta = nil
			return false, err
		}
	}
	if !r.place() {
		return false, nil
	}
	if err := r.nameRecorded(ctx); err != nil {
		r.meta = nil
		return false, err
	}
	return true, nil
}

// archiveExpired reports whether to read metadata again: when the time since the start of the
// archive has doubled, and later each time that Refresh has passed.
func (r *Reader) archiveExpired(now time.Time) bool {
	refresh := r.refresh()
	return refresh > 0 && now.Sub(r.readAt) >= min(refresh, r.readAt.Sub(r.began))
}

// describeRecords reads metadata as of the position in the archive.
func (r *Reader) describeRecords(ctx context.Context) error {
	s := &r.snap
	kept := *r
	var derived []string
	kept.Keep = func(name string, d pdu.Desc) bool {
		if r.Keep != nil && !r.Keep(name, d) {
			return false
		}
		if d.PMID.Domain() == pdu.DynamicDomain {
			derived = append(derived, name)
			return false
		}
		return true
	}
	meta, err := readMetadata(ctx, &kept)
	if err != nil {
		return err
	}
	for _, name := range derived {
		if r.asksFor(name, meta.metrics) {
			meta.errs = append(meta.errs, fmt.Errorf("%s: %w", name, errDerived))
		}
	}
	if err := meta.nameHost(); err != nil {
		return err
	}
	r.meta, r.readAt = meta, s.Time
	r.places = make(map[pdu.PMID]int, len(meta.ids))
	for i, id := range meta.ids {
		r.places[id] = i
	}
	s.Generation++
	s.Context, s.Host, s.Errs, s.metrics = meta.context, meta.host, meta.errs, meta.metrics
	s.sets = make([]int, len(meta.metrics))
	return nil
}

// asksFor reports whether one of Names is the name of a derived metric, or is above it and above no
// recorded metric.
func (r *Reader) asksFor(name string, recorded []*Metric) bool {
	return slices.ContainsFunc(r.Names, func(root string) bool {
		below := root + "."
		return root == name || strings.HasPrefix(name, below) &&
			!slices.ContainsFunc(recorded, func(m *Metric) bool { return m.Name == root || strings.HasPrefix(m.Name, below) })
	})
}

// place finds the values of each metric in a record. It reports whether there are any.
func (r *Reader) place() (found bool) {
	s := &r.snap
	for i := range s.sets {
		s.sets[i] = -1
	}
	for n, set := range s.result.All() {
		if i, ok := r.places[set.PMID]; ok && s.sets[i] < 0 {
			s.sets[i], found = n, true
		}
	}
	return found
}

// nameRecorded reads again the instances of each domain with values in the record, because they may
// differ from those of the record before.
func (r *Reader) nameRecorded(ctx context.Context) error {
	m := r.meta
	m.fetches++
	for metric, values := range r.snap.All() {
		d := metric.InDom
		if d == nil || d.readFor == m.fetches || values.Len() == 0 {
			continue
		}
		list, err := r.Context.Instances(ctx, d.ID)
		if err := ignoreItem(err); err != nil {
			return err
		}
		if d.instances != nil && len(list) == len(d.instances) && !slices.ContainsFunc(list, func(i pdu.Instance) bool {
			known := d.instances[i.ID]
			return known == nil || known.Name != i.Name
		}) {
			d.readFor = m.fetches
			continue
		}
		if err := m.readInstances(ctx, r.Context, d); err != nil {
			return err
		}
	}
	return nil
}
