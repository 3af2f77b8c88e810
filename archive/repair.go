package archive

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// RepairOptions say how Repair works. The zero value keeps damaged files beside the repaired ones.
type RepairOptions struct {
	// Discard removes damaged files. Otherwise Repair keeps them under names such as
	// web1.0.damaged, which are not names of an archive.
	Discard bool
	// DryRun changes no file. Repair returns what it would do.
	DryRun bool
	// Choose, if not nil, reports whether to repair a file. Repair returns only repaired files.
	// Choose should accept all damaged files of an archive or reject all, because they depend on
	// each other.
	Choose func(RepairedFile) bool
}

// A RepairedFile is a file that was damaged.
type RepairedFile struct {
	Path    string
	Volume  int
	Problem error // the first problem, an *Error with the place

	Size    int64  // length before; 0 if the file did not exist
	NewSize int64  // length after; 0 if no data was left and the file was removed
	Kept    string // path of the damaged file if it was kept, or else empty
	// Records is the number of records that were found and were lost, or that lost values of
	// metrics without a descriptor. Bytes is the number of lost bytes. It also covers lost records
	// that could not be found.
	Records int
	Bytes   int64
	// From and To are the times of the last record before the first damage and of the first record
	// after the last damage. Each is the zero time if no such record exists or if the metadata
	// there has no time.
	From, To time.Time
}

// Repair repairs an archive that has lost the end or other parts of a file, its index, a volume or
// some labels. As far as the data permits, all programs can then read the archive, and
// WriterOptions.Append can continue it.
//
// Repair keeps all records that it can recognize, even after the damage. It drops values of metrics
// without a descriptor, because they cannot be decoded. It writes a new index if the index is
// missing or does not lead to records. It returns the damaged files with what was lost, or nil for
// an intact archive.
//
// Intact files do not change. Repair writes a new file beside a damaged one and then renames it, so
// that one of the two always exists. After an interruption, Repair may be called again. No other
// process may write the archive at the same time.
//
// Errors are fs.ErrNotExist if there is no such archive; pdu.ErrLogFile without metadata or a
// volume, or if a compressed file is damaged; pdu.ErrLabel if no file has a label, or if two labels
// are of different archives; pdu.ErrLogRec if no metric or no data record is left. In these cases
// no file changes. After an error of the file system, Repair also returns the files that it
// repaired before.
func (o RepairOptions) Repair(ctx context.Context, base string) ([]RepairedFile, error) {
	files, err := disk{}.rescan(base)
	if err == nil && files.Meta == "" && files.Index == "" && len(files.Volumes) == 0 {
		err = fmt.Errorf("no such archive: %w", fs.ErrNotExist)
	}
	if err == nil {
		err = files.complete()
	}
	if err != nil {
		return nil, inFile(base, err)
	}
	r := &repair{RepairOptions: o, ctx: ctx, base: base, files: files, known: map[pdu.PMID]bool{}}
	defer r.close()
	if err := r.examine(); err != nil {
		return nil, err
	}
	var repaired []RepairedFile
	for _, w := range r.work {
		if o.Choose != nil && !o.Choose(w.RepairedFile) {
			continue
		}
		if !o.DryRun {
			if err := r.apply(w); err != nil {
				return repaired, err
			}
		}
		repaired = append(repaired, w.RepairedFile)
	}
	return repaired, nil
}

// A repair is the work on one archive.
type repair struct {
	RepairOptions
	ctx    context.Context
	base   string
	files  Files
	opened []*File
	label  Label // of a file with a valid label
	known  map[pdu.PMID]bool
	timed  []timedOffset // records of the metadata that have a time
	meta   int64         // length of the repaired metadata file
	first  bool          // a volume with data records has been examined
	scan   indexScan
	work   []*mending
}

// A mending is the repair of one file.
type mending struct {
	RepairedFile
	write func(w *bufio.Writer) error // writes the whole new file
}

// A timedOffset is the time and the offset of a metadata record.
type timedOffset struct {
	time time.Time
	off  int64
}

func (r *repair) close() {
	for _, f := range r.opened {
		f.Close()
	}
}

// open opens a file.
func (r *repair) open(path string) (*File, error) {
	f, err := Options{AnyFeature: true}.OpenFile(r.ctx, path)
	if err == nil {
		r.opened = append(r.opened, f)
	}
	return f, err
}

// examine finds the files to repair.
func (r *repair) examine() error {
	meta, err := r.open(r.files.Meta)
	if err != nil {
		return err
	}
	volumes := make([]*File, len(r.files.Volumes))
	for i, v := range r.files.Volumes {
		if volumes[i], err = r.open(v.Path); err != nil {
			return err
		}
	}
	var index *File
	if r.files.Index != "" {
		if index, err = r.open(r.files.Index); err != nil {
			return err
		}
	}
	if err := r.findLabel(meta, volumes, index); err != nil {
		return err
	}
	if err := r.examineMeta(meta); err != nil {
		return err
	}
	if err := r.readIndex(index); err != nil {
		return err
	}
	for _, f := range volumes {
		if err := r.ctx.Err(); err != nil {
			return context.Cause(r.ctx)
		}
		if err := r.examineVolume(f); err != nil {
			return err
		}
	}
	if !r.first {
		return inFile(r.base, flawed(pdu.ErrLogRec, "no data record is left"))
	}
	return r.examineIndex(index)
}

// findLabel finds a valid label, and checks that the others are of the same archive.
func (r *repair) findLabel(meta *File, volumes []*File, index *File) error {
	for i, f := range append(append([]*File{}, volumes...), meta, index) {
		if f == nil {
			continue
		}
		l, err := f.Label()
		switch {
		case err != nil:
			if !errors.Is(err, pdu.ErrLabel) && !errors.Is(err, pdu.ErrNoData) {
				return err
			}
		case r.label.Version == 0:
			r.label = l
		case i <= len(volumes): // the index of another archive is replaced
			if err := l.sameArchive(&r.label); err != nil {
				return inRecord(f.path, 0, 0, err)
			}
		}
	}
	if r.label.Version == 0 {
		return inFile(r.base, flawed(pdu.ErrLabel, "no file has a label"))
	}
	return nil
}

// examineFile reads the good records of a file, calls each for them, and adds a mending to r.work
// if the file is damaged. good is that of a salvager. size is the length of the repaired file.
func (r *repair) examineFile(f *File, good func(*Record) ([]byte, bool), each func(at int64, rec *Record)) (size int64, err error) {
	s, err := newSalvager(f, r.label.Version, good)
	if err != nil {
		return 0, err
	}
	_, labelErr := f.Label()
	if labelErr != nil {
		if err := s.findStart(); err != nil {
			return 0, inFile(f.path, err)
		}
	}
	size = r.label.Len()
	err = s.all(func(raw []byte) error {
		each(size, &s.rec)
		size += int64(len(raw))
		return nil
	})
	if err != nil {
		return 0, err
	}
	if labelErr == nil && s.loss.Problem == nil {
		return size, nil
	}
	w := &mending{RepairedFile: s.loss}
	w.Path, w.Volume, w.Size, w.NewSize = f.path, f.volume, s.size, size
	if labelErr != nil {
		w.Problem = labelErr
	}
	if _, packed := trimCompression(f.path); packed != 0 {
		return 0, inFile(f.path, flawed(pdu.ErrLogFile, "compressed file is damaged: %v", w.Problem))
	}
	w.write = func(out *bufio.Writer) error {
		if err := r.writeLabel(out, f.volume); err != nil {
			return err
		}
		return s.all(func(raw []byte) error {
			_, err := out.Write(raw)
			return err
		})
	}
	r.work = append(r.work, w)
	return size, nil
}

func (r *repair) writeLabel(out *bufio.Writer, volume int) error {
	l := r.label
	l.Volume = volume
	b, err := l.Append(nil)
	if err == nil {
		_, err = out.Write(b)
	}
	return err
}

// apply repairs a file.
func (r *repair) apply(w *mending) error {
	var temp string
	if w.NewSize > 0 {
		var err error
		if temp, err = writeBeside(w.Path, w.write); err != nil {
			return inFile(w.Path, withoutPath(err))
		}
		defer os.Remove(temp) // fails after a successful rename
	}
	if w.Size > 0 && !r.Discard {
		kept, err := keep(w.Path)
		if err != nil {
			return inFile(w.Path, withoutPath(err))
		}
		w.Kept = kept
	}
	var err error
	if temp != "" {
		err = os.Rename(temp, w.Path)
	} else {
		err = os.Remove(w.Path)
	}
	if err != nil {
		return inFile(w.Path, withoutPath(err))
	}
	return syncDir(filepath.Dir(w.Path))
}

// writeBeside writes a temporary file beside path, with the permissions of the file at path if
// there is one. It returns the path of the new file.
func writeBeside(path string, write func(*bufio.Writer) error) (temp string, err error) {
	f, err := createTemp(path)
	if err != nil {
		return "", err
	}
	out := bufio.NewWriterSize(f, 1<<16)
	err = write(out)
	if err == nil {
		err = out.Flush()
	}
	if info, statErr := os.Stat(path); statErr == nil && err == nil {
		err = f.Chmod(info.Mode().Perm())
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}

// maxKept is the maximum number of damaged files that are kept under one name.
const maxKept = 1000

// keep keeps a damaged file under a new name in the same directory.
func keep(path string) (kept string, err error) {
	for n := 1; n <= maxKept; n++ {
		kept = path + ".damaged"
		if n > 1 {
			kept += fmt.Sprint(n)
		}
		if _, err := os.Lstat(kept); err == nil {
			continue
		}
		if err := os.Link(path, kept); err == nil || errors.Is(err, fs.ErrExist) {
			return kept, err
		}
		// Without hard links there is no file at path until the new one has its name.
		return kept, os.Rename(path, kept)
	}
	return "", fmt.Errorf("%d damaged files are kept already: %w", maxKept, fs.ErrExist)
}
