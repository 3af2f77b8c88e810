package archive

import (
	"errors"
	"iter"
)

// A File is one file of an archive. It is safe for concurrent use.
type File struct {
	path string
}

// Path is the path by which the file was opened.
func (f *File) Path() string { return f.path }

// Volume is the number of a volume, VolumeMeta or VolumeIndex, by the file's name.
func (f *File) Volume() int { return 0 }

// Size is the present length in bytes, unpacked.
func (f *File) Size() (int64, error) { return 0, errors.ErrUnsupported }

// Label reads and checks the label.
func (f *File) Label() (Label, error) { return Label{}, errors.ErrUnsupported }

// Records yields the records of the file from its start, the label first. Record is reused
// and valid until the iteration goes on; in the long run nothing is allocated. An error is
// the last thing that is yielded, and has a nil Record: what comes after a malformed record
// cannot be found. The payload of records is not checked; the methods of Record do that.
func (f *File) Records() iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) { yield(nil, errors.ErrUnsupported) }
}

// Close closes a file that [Options.OpenFile] has opened.
func (f *File) Close() error { return nil }

// Label decodes a record of KindLabel.
func (r *Record) Label() (Label, error) { return Label{}, errors.ErrUnsupported }

// Metric decodes a record of KindDesc.
func (r *Record) Metric() (Metric, error) { return Metric{}, errors.ErrUnsupported }

// InDom decodes a record of KindInDom or KindInDomDelta.
func (r *Record) InDom() (InDomRecord, error) { return InDomRecord{}, errors.ErrUnsupported }

// Labels decodes a record of KindLabels. The texts alias Raw.
func (r *Record) Labels() (LabelRecord, error) { return LabelRecord{}, errors.ErrUnsupported }

// Text decodes a record of KindText.
func (r *Record) Text() (TextRecord, error) { return TextRecord{}, errors.ErrUnsupported }

// Entry decodes a record of KindIndex.
func (r *Record) Entry() (IndexEntry, error) { return IndexEntry{}, errors.ErrUnsupported }
