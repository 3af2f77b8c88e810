package archive

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/pdu"
)

// Append continues an existing archive of any writer. The next data record follows its last one.
// Append removes incomplete records, which a process that was killed or a system that crashed left
// at the ends of files. It also removes index entries that lead beyond the end. No other process
// may write the archive at the same time.
//
// Append writes no mark between the old data records and the new ones; see Writer.WriteMark. The
// options determine further volumes and index entries. Errors are those of Open, fs.ErrNotExist if
// there is no such archive, and pdu.ErrLogFile if the metadata, the index or the last volume is
// compressed. A malformed record that is not the end of a file is pdu.ErrLogRec; then Append
// removes nothing.
func (o WriterOptions) Append(base string) (*Writer, error) {
	files, err := disk{}.rescan(base)
	if err != nil {
		return nil, inFile(base, err)
	}
	if files.Meta == "" && len(files.Volumes) == 0 {
		return nil, inFile(base, fmt.Errorf("no such archive: %w", fs.ErrNotExist))
	}
	if files.Meta == "" {
		return nil, inFile(base, files.complete())
	}
	o.Storage = nil
	w := newWriter(base, o)
	if err := w.resume(files); err != nil {
		w.abandon()
		return nil, err
	}
	return w, nil
}

// resume opens the files to continue them. It reads all files before it changes any.
func (w *Writer) resume(files Files) error {
	grow := []VolumeFile{{VolumeMeta, files.Meta}, {VolumeIndex, files.Index}}
	if n := len(files.Volumes); n > 0 {
		grow = append(grow, files.Volumes[n-1])
	}
	for _, f := range grow {
		if f.Path != "" && f.Path != w.path(f.Number) {
			return inFile(f.Path, flawed(pdu.ErrLogFile, "a compressed file cannot go on"))
		}
	}
	metaEnd, err := w.resumeMeta()
	if err != nil {
		return err
	}
	w.meta.size = metaEnd
	w.label.Volume = 0 // for an archive that has only metadata
	stray, err := w.resumeVolumes(files.Volumes)
	if err != nil {
		return err
	}
	if files.Index != "" {
		if err := w.resumeIndex(); err != nil {
			return err
		}
		if w.index == nil {
			stray = append(stray, files.Index)
		}
	}
	for _, f := range []*outFile{w.meta, w.data, w.index} {
		if err := f.cut(); err != nil {
			return err
		}
		if w.opts.Direct {
			f.writeDirectly()
		}
	}
	for _, path := range append(stray, unpublished(w.base)...) {
		if err := os.Remove(path); err != nil {
			return inFile(path, withoutPath(err))
		}
	}
	w.metaMark, w.described, w.ended = w.meta.size, w.data != nil, true
	return nil
}

// unpublished returns the files that createTemp made for an archive in processes that were killed.
func unpublished(base string) []string {
	var paths []string
	dir, last := disk{}.split(base)
	names, _ := disk{}.readDir(dir)
	for _, name := range names {
		of, temp := strings.CutSuffix(name, tempSuffix)
		mark := path.Ext(of) // see createTemp
		b, _, ok := splitName(strings.TrimSuffix(of, mark))
		if temp && ok && b == last && len(mark) == 9 && strings.Trim(mark[1:], "0123456789abcdef") == "" {
			paths = append(paths, filepath.Join(dir, name))
		}
	}
	return paths
}

// openOut opens an existing file to append to it.
func openOut(path string) (*outFile, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, inFile(path, withoutPath(err))
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		f.Close()
		return nil, inFile(path, withoutPath(err))
	}
	return &outFile{path: path, f: f, size: info.Size()}, nil
}

// cut truncates the file to o.size.
func (o *outFile) cut() error {
	if o == nil {
		return nil
	}
	return inFile(o.path, withoutPath(o.f.Truncate(o.size)))
}

// resumeMeta opens the metadata, takes the label of the archive from it, and returns the end of its
// last record.
func (w *Writer) resumeMeta() (end int64, err error) {
	if w.meta, err = openOut(w.path(VolumeMeta)); err != nil {
		return 0, err
	}
	b, err := readWhole(w.meta.f, maxMetadata)
	if err != nil {
		return 0, inFile(w.meta.path, err)
	}
	err = w.label.decode(b)
	if err == nil {
		err = w.label.check(VolumeMeta, true)
	}
	if err != nil {
		return 0, inRecord(w.meta.path, 0, 0, err)
	}
	m, end, err := loadMetadata(w.meta.path, b, w.label.Len(), true, maxMetadata)
	if e, ok := errors.AsType[*Error](err); ok && endsTorn(bytes.NewReader(b), e.Offset) {
		m, end, err = loadMetadata(w.meta.path, b[:e.Offset], w.label.Len(), true, maxMetadata)
	}
	if err != nil {
		return 0, err
	}
	for _, n := range m.metrics {
		w.know(n)
	}
	for _, d := range m.indoms.values {
		w.indoms[d.ID] = slices.Clone(d.State(d.Len() - 1))
	}
	return end, nil
}

// resumeVolumes opens the last volume that has a label, and finds the last data record. It returns
// the paths of volumes without a label.
func (w *Writer) resumeVolumes(volumes []VolumeFile) (empty []string, err error) {
	for i := len(volumes) - 1; i >= 0; i-- {
		v := volumes[i]
		info, err := os.Stat(v.Path)
		if err != nil {
			return nil, inFile(v.Path, withoutPath(err))
		}
		last := w.data == nil
		if last && i > 0 && info.Size() < w.label.Len() {
			empty = append(empty, v.Path)
			continue
		}
		end, err := w.scanVolume(v, last)
		if err != nil {
			return nil, err
		}
		if last {
			if w.data, err = openOut(v.Path); err != nil {
				return nil, err
			}
			w.data.size, w.label.Volume, w.indexAt = end, v.Number, end
		}
		if !w.last.IsZero() {
			break
		}
	}
	return empty, nil
}

// scanVolume reads a volume and returns where its last data record ends. For the last volume it
// counts the records.
func (w *Writer) scanVolume(v VolumeFile, last bool) (end int64, err error) {
	f, err := Options{AnyFeature: true}.OpenFile(context.Background(), v.Path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	end = w.label.Len()
	for r, err := range f.Records() {
		if err != nil {
			if errors.Is(err, io.ErrUnexpectedEOF) && f.label.Version != 0 || endsTorn(f, end) {
				break
			}
			return 0, err
		}
		if r.Kind == KindLabel {
			l, err := r.Label()
			if err == nil {
				err = l.sameArchive(&w.label)
			}
			if err != nil {
				return 0, inRecord(v.Path, 0, 0, err)
			}
			w.label.Start = l.Start
			continue
		}
		end = r.Offset + int64(len(r.Raw))
		if r.Time.After(w.last) {
			w.last = r.Time
		}
		if last {
			if w.records == 0 {
				w.first = r.Time
			}
			w.records++
		}
	}
	return end, nil
}

// endsTorn reports whether a malformed record was not written to its end: its last byte and all
// bytes after it are zero. A system that crashed leaves such zeros where it had not written yet.
func endsTorn(r io.ReaderAt, off int64) bool {
	b := make([]byte, 64<<10)
	if n, _ := r.ReadAt(b[:4], off); n < 4 {
		return true
	}
	if n := int32(binary.BigEndian.Uint32(b)); n >= recordOverhead {
		off += int64(n) - 1
	}
	for n := 1; n > 0; off += int64(n) {
		var err error
		n, err = r.ReadAt(b, off)
		if err != nil && !errors.Is(err, io.EOF) || slices.ContainsFunc(b[:n], func(c byte) bool { return c != 0 }) {
			return false
		}
	}
	return true
}

// resumeIndex opens the index and finds the last entry that does not lead beyond the end. w.index
// stays nil for an index without entries, which is then replaced.
func (w *Writer) resumeIndex() error {
	f, err := openOut(w.path(VolumeIndex))
	if err != nil {
		return err
	}
	w.index = f
	b, err := readWhole(f.f, maxMetadata)
	if err != nil {
		return inFile(f.path, err)
	}
	var l Label
	err = l.decode(b)
	if int64(len(b)) <= w.label.Len() || w.data == nil || err != nil && endsTorn(bytes.NewReader(b), 0) {
		w.index = nil
		return f.close()
	}
	if err == nil {
		err = errors.Join(l.check(VolumeIndex, true), l.sameArchive(&w.label))
	}
	if err != nil {
		return inRecord(f.path, 0, 0, err)
	}
	first := w.label.Len()
	f.size = first
	for _, e := range decodeIndex(b[first:], w.label.Version) {
		beyond := e.Volume > w.label.Volume || e.Volume == w.label.Volume && e.Data > w.data.size || e.Meta > w.meta.size || e.Time.After(w.last)
		if beyond || e.Data < first || e.Meta < first {
			break
		}
		f.size += int64(entryLen(w.label.Version))
	}
	return nil
}

// abandon closes the files.
func (w *Writer) abandon() {
	w.closed = true
	for _, f := range []*outFile{w.meta, w.data, w.index} {
		_ = f.close()
	}
}
