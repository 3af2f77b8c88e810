package archive

import (
	"context"
	"errors"
	"iter"
	"time"
)

// A Set is the archives that a name stands for, in the order of time. Often it is one.
// It is safe for concurrent use.
type Set struct{}

// Archives are the archives of the set, by their start.
func (s *Set) Archives() []*Archive { return nil }

// Label is the label of the earliest archive, with the name of the host and its time zone.
func (s *Set) Label() Label { return Label{} }

// Start is the time at which the earliest archive was started: that of its label.
func (s *Set) Start() time.Time { return s.Label().Start }

// End is the time of the last record of the last archive; see [Archive.End].
func (s *Set) End() (time.Time, error) { return time.Time{}, errors.ErrUnsupported }

// Metadata is that of all archives. It is a snapshot: Refresh makes another one.
func (s *Set) Metadata() *Metadata { return nil }

// Cursor makes a cursor at the start of the set.
func (s *Set) Cursor() *Cursor { return nil }

// Records yields all records of all files: of each archive the metadata, the volumes in
// order, and the index. See [File.Records]. After an error it goes on with the next file.
func (s *Set) Records() iter.Seq2[*Record, error] { return nil }

// Refresh looks for metadata, index entries and volumes that were written since Open or the
// last Refresh. What it has found is in Metadata and seen by all cursors. A last
// record that is not complete yet is left for the next Refresh. On an error nothing changes.
func (s *Set) Refresh(ctx context.Context) error { return errors.ErrUnsupported }

// Close closes all files and removes what was unpacked, unless another set has it open, too.
// Cursors fail with fs.ErrClosed then.
func (s *Set) Close() error { return nil }

// An Archive is one archive of a Set. It is safe for concurrent use.
type Archive struct{}

// Base is the base name with its directory.
func (a *Archive) Base() string { return "" }

// Label is that of the first volume, with Options.LastVolume that of the last one.
func (a *Archive) Label() Label { return Label{} }

// Metadata is that of this archive alone.
func (a *Archive) Metadata() *Metadata { return nil }

// Index is the entries of the index, in the order of the file; nil if there is no index.
// They may be wrong. The slice must not be changed.
func (a *Archive) Index() []IndexEntry { return nil }

// Files are the paths of the files.
func (a *Archive) Files() Files { return Files{} }

// File opens a file of the archive by a volume number, VolumeMeta or VolumeIndex. It belongs
// to the archive and must not be closed. An index that is missing is pdu.ErrLogFile, as is
// a volume.
func (a *Archive) File(volume int) (*File, error) { return nil, errors.ErrUnsupported }

// End is the time of the last complete record. It looks at the files anew. If there is
// none, the error is pdu.ErrLogRec. The counterpart of pmGetArchiveEnd(3).
func (a *Archive) End() (time.Time, error) { return time.Time{}, errors.ErrUnsupported }
