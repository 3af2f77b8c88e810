package archive

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Set is a list of archives in the order of time, often only one. It is safe for concurrent use.
type Set struct {
	archives []*Archive
	meta     atomic.Pointer[Metadata]
	pool     filePool
	several  bool // whether a directory or a list had several archives
	damaged  func(error) error
	origin   origin

	ctx     context.Context // ends at Close
	cancel  context.CancelFunc
	refresh sync.Mutex // serializes Refresh
}

// Archives returns the archives of the set, in the order of their starts. The slice must not be
// changed.
func (s *Set) Archives() []*Archive { return s.archives }

// Label returns the label of the earliest archive, with the host name and time zone. It is the
// counterpart of pmGetArchiveLabel(3).
func (s *Set) Label() Label { return s.archives[0].label }

// Start returns the start of the earliest archive, from its label.
func (s *Set) Start() time.Time { return s.Label().Start }

// End returns the time of the last record of the last archive that has one; see [Archive.End].
func (s *Set) End() (time.Time, error) {
	var first error
	for _, a := range slices.Backward(s.archives) {
		t, err := a.End()
		if err == nil {
			return t, nil
		}
		if first == nil {
			first = err
		}
		if err := s.tolerate(a, err); err != nil {
			return t, err
		}
	}
	return time.Time{}, first
}

// Metadata returns the metadata of all archives. It is a snapshot: Refresh replaces it.
func (s *Set) Metadata() *Metadata { return s.meta.Load() }

// mergeAll merges the metadata of the archives and makes it that of the set.
func (s *Set) mergeAll() error {
	all := make([]*Metadata, len(s.archives))
	for i, a := range s.archives {
		all[i] = a.Metadata()
	}
	m, err := s.merge(all)
	if err != nil {
		return err
	}
	s.meta.Store(m)
	return nil
}

// merge merges the metadata of the archives.
func (s *Set) merge(all []*Metadata) (*Metadata, error) {
	m, i, err := mergeMetadata(all)
	if err != nil {
		return nil, inFile(s.archives[i].base, err)
	}
	return m, nil
}

// Cursor returns a new cursor at the start of the set.
func (s *Set) Cursor() *Cursor {
	c := &Cursor{set: s}
	c.SeekStart()
	return c
}

// Records yields all records of all files: of each archive first the metadata, then the volumes in
// order, then the index. See [File.Records]. After an error it continues with the next file.
func (s *Set) Records() iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		for _, a := range s.archives {
			if !a.records(yield) {
				return
			}
		}
	}
}

// records yields the records of one archive. It reports whether yield wants more.
func (a *Archive) records(yield func(*Record, error) bool) bool {
	st := a.state.Load()
	volumes := []int{VolumeMeta}
	for _, v := range st.files.Volumes {
		volumes = append(volumes, v.Number)
	}
	if st.files.Index != "" {
		volumes = append(volumes, VolumeIndex)
	}
	for _, v := range volumes {
		f, err := a.File(v)
		if err != nil {
			if !yield(nil, err) {
				return false
			}
			continue
		}
		for r, err := range f.Records() {
			if !yield(r, err) {
				return false
			}
		}
	}
	return true
}

// Refresh reads metadata, index entries and volumes that were written since Open or the last
// Refresh. Metadata and all cursors then include them. Refresh leaves an incomplete last record for
// the next call. On an error nothing changes. C programs open the archive again instead.
func (s *Set) Refresh(ctx context.Context) error {
	s.refresh.Lock()
	defer s.refresh.Unlock()
	states := make([]*archiveState, len(s.archives))
	all := make([]*Metadata, len(s.archives))
	changed := false
	for i, a := range s.archives {
		st, err := a.refresh(ctx)
		if err != nil {
			return err
		}
		states[i], all[i] = st, st.meta
		changed = changed || st.meta != a.Metadata()
	}
	m := s.Metadata()
	if changed {
		var err error
		if m, err = s.merge(all); err != nil {
			return err
		}
	}
	for i, a := range s.archives {
		a.state.Store(states[i])
	}
	s.meta.Store(m)
	return nil
}

// Close closes all files and removes unpacked files, unless another set uses them. Later calls of a
// cursor fail with fs.ErrClosed once they have to read a file.
func (s *Set) Close() error {
	s.cancel()
	var errs []error
	for _, a := range s.archives {
		errs = append(errs, a.close())
	}
	return errors.Join(errs...)
}
