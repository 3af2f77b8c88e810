package archive

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// A File is one file of an archive. It is safe for concurrent use.
type File struct {
	path   string
	volume int
	opts   *Options

	mu     sync.Mutex // serializes opening
	pool   *filePool  // of the set; nil for a file that OpenFile has opened
	src    source     // nil until it is opened
	closed bool
	label  Label // valid if Version is not 0
}

func newFile(o *Options, volume int, path string) *File {
	return &File{path: path, volume: volume, opts: o}
}

// OpenFile opens one file by its path, compressed or not. The name must be that of a file of an
// archive, such as web1.meta or web1.0.xz, or the error is pdu.ErrLogFile. OpenFile does not check
// the content.
func (o Options) OpenFile(ctx context.Context, path string) (*File, error) {
	_, last := disk{o.FS}.split(path)
	_, volume, ok := splitName(last)
	if !ok {
		return nil, inFile(path, flawed(pdu.ErrLogFile, "not the name of a file of an archive: want a suffix .meta, .index or a number"))
	}
	f := newFile(&o, volume, path)
	_, err := f.open(ctx)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// open opens the file, unless it is open.
func (f *File) open(ctx context.Context) (source, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.closed:
		return nil, inFile(f.path, errClosed)
	case f.src == nil:
		src, err := f.openSource(ctx)
		if err != nil {
			return nil, inFile(f.path, err)
		}
		f.src = src
	}
	return f.src, nil
}

// openSource opens the file in the pool, if there is one.
func (f *File) openSource(ctx context.Context) (source, error) {
	if f.pool == nil {
		return f.opts.openSource(ctx, f.path)
	}
	return f.pool.openFile(ctx, f.opts, f.path)
}

// Path returns the path of the file.
func (f *File) Path() string { return f.path }

// Volume returns the number of a volume, VolumeMeta or VolumeIndex, from the name of the file.
func (f *File) Volume() int { return f.volume }

// Size returns the current length in bytes, unpacked.
func (f *File) Size() (int64, error) {
	src, err := f.open(context.Background())
	if err != nil {
		return 0, err
	}
	info, err := src.Stat()
	if err != nil {
		return 0, inFile(f.path, withoutPath(err))
	}
	return info.Size(), nil
}

// Label reads and checks the label.
func (f *File) Label() (Label, error) {
	src, err := f.open(context.Background())
	if err != nil {
		return Label{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.label.Version != 0 {
		return f.label, nil
	}
	l, err := readLabel(src)
	if err == nil {
		err = l.check(f.volume, f.opts.AnyFeature)
	}
	if err != nil { // not kept: the label of a growing file may be complete next time
		return Label{}, inRecord(f.path, 0, 0, err)
	}
	f.label = l
	return l, nil
}

// Close closes a file that was opened with [Options.OpenFile].
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	if f.src == nil {
		return nil
	}
	err := f.src.Close()
	f.src = nil
	return err
}

// Records yields the records of the file from its start, the label first. Each Record is valid
// until the next iteration, which reuses it; Records allocates nothing once its buffers have grown.
// After an error, which it yields with a nil Record, Records stops, because it cannot find the
// record after a malformed one. Records does not check the payload of records; the methods of
// Record do that.
func (f *File) Records() iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		l, err := f.Label()
		if err != nil {
			yield(nil, err)
			return
		}
		src, err := f.open(context.Background())
		if err != nil {
			yield(nil, err)
			return
		}
		s := scanner{rec: Record{File: f, version: l.Version}}
		s.win.open(src)
		for {
			more, err := s.step()
			if err != nil {
				yield(nil, inRecord(f.path, s.rec.Offset, s.rec.Number, err))
				return
			}
			if !more || !yield(&s.rec, nil) {
				return
			}
		}
	}
}

// A scanner reads one file from its start.
type scanner struct {
	win window
	rec Record // the latest record
	end int64  // where the next record starts
}

// step reads the next record. After an error, rec has its place.
func (s *scanner) step() (more bool, err error) {
	r := &s.rec
	if s.end > 0 {
		r.Number++
	}
	r.Offset, r.Raw = s.end, nil
	if s.end > 0 && r.File.volume == VolumeIndex {
		r.Raw, err = s.entry()
	} else {
		r.Raw, err = s.win.next(s.end, leastLen(r.File.volume, r.version))
	}
	if err != nil || r.Raw == nil {
		return false, err
	}
	s.end += int64(len(r.Raw))
	r.Kind, r.typ, r.Version, r.Time = KindLabel, 0, 0, time.Time{}
	if r.Number == 0 {
		r.Time = timeAt(r.Raw[12:], r.version)
		return true, nil
	}
	return true, r.classify()
}

// entry returns the next entry of an index, or nil at the end.
func (s *scanner) entry() ([]byte, error) {
	n := entryLen(s.rec.version)
	more, err := s.win.has(s.end + int64(n))
	if err != nil {
		return nil, err
	}
	if !more {
		if left := s.win.size - s.end; left > 0 {
			return nil, cutShort(pdu.ErrLogRec, "index entry of %d bytes, of which the file has %d", n, left)
		}
		return nil, nil
	}
	return s.win.bytes(s.end, n, true)
}

// leastLen returns the minimum length of a record of a file.
func leastLen(volume, version int) int {
	if volume < 0 {
		return recordOverhead + 4 // the type
	}
	return recordOverhead + timeLen(version) + 4 // the number of value sets
}

// ReadAt reads unpacked bytes of the file. It makes a File an io.ReaderAt.
func (f *File) ReadAt(b []byte, off int64) (int, error) {
	src, err := f.open(context.Background())
	if err != nil {
		return 0, err
	}
	return src.ReadAt(b, off)
}
