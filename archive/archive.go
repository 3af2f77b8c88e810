package archive

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/pcp-go/pcp/pdu"
)

// An Archive is one archive of a Set. It is safe for concurrent use.
type Archive struct {
	set   *Set
	opts  *Options
	base  string
	label Label
	state atomic.Pointer[archiveState]

	mu     sync.Mutex
	opened map[int]*File // by volume

	damage  sync.Once
	verdict error // what Options.Damaged returned

	endMu  sync.Mutex
	ended  archiveEnd // the end that was found last
	endKey endKey     // the state of the archive at that time
}

// An archiveState is the state of an archive that may grow. Refresh replaces it.
type archiveState struct {
	files     Files
	meta      *Metadata
	metaSize  int64 // length of the metadata file when it was read
	metaUsed  int64 // end of its last complete record
	index     []IndexEntry
	ascending bool // whether the entries are in the order of time
	indexSize int64
}

var errClosed = fs.ErrClosed

// openArchive opens an archive. It makes the checks of the C library in the same order.
func openArchive(ctx context.Context, s *Set, o *Options, files Files) (*Archive, error) {
	files, err := o.wanted(files)
	if err != nil {
		return nil, inFile(files.Base, err)
	}
	a := &Archive{set: s, opts: o, base: files.Base, opened: map[int]*File{}}
	st := &archiveState{files: files}
	a.state.Store(st)
	if err := a.load(ctx, st); err != nil {
		a.close()
		return nil, err
	}
	return a, nil
}

// wanted returns those of the files that the options need. It fails if one of them is missing.
func (o *Options) wanted(files Files) (Files, error) {
	if !o.MetadataOnly {
		if o.NoIndex {
			files.Index = ""
		}
		return files, files.complete()
	}
	files.Volumes, files.Index = nil, ""
	return files, files.hasMeta()
}

// load reads the metadata, the index and the label of the first volume.
func (a *Archive) load(ctx context.Context, st *archiveState) error {
	if a.opts.MetadataOnly {
		var err error
		if a.label, err = a.readLabel(ctx, st, VolumeMeta); err != nil {
			return err
		}
		return a.loadMeta(ctx, st, a.opts.Growing)
	}
	from := st.files.Volumes[0].Number
	var err error
	if a.label, err = a.readLabel(ctx, st, from); err != nil {
		return err
	}
	if st.files.Index != "" {
		l, err := a.readLabel(ctx, st, VolumeIndex)
		if err == nil {
			err = inRecord(st.files.Index, 0, 0, l.sameArchive(&a.label))
		}
		if err != nil {
			return err
		}
	}
	l, err := a.readLabel(ctx, st, VolumeMeta)
	if err != nil {
		return err
	}
	if l.Version != a.label.Version {
		return inRecord(st.files.Meta, 0, 0, l.sameArchive(&a.label))
	}
	if err := a.loadMeta(ctx, st, a.opts.Growing); err != nil {
		return err
	}
	if err := a.loadIndex(ctx, st); err != nil {
		return err
	}
	return inRecord(st.files.Meta, 0, 0, l.sameArchive(&a.label))
}

// readLabel reads and checks the label of a file. A file with only a label is an error.
func (a *Archive) readLabel(ctx context.Context, st *archiveState, volume int) (Label, error) {
	f, err := a.file(ctx, st, volume)
	if err != nil {
		return Label{}, err
	}
	l, err := f.Label()
	if err != nil {
		return Label{}, err
	}
	size, err := f.Size()
	if err == nil && size <= l.Len() {
		err = inFile(f.path, flawed(pdu.ErrNoData, "nothing but a label"))
	}
	if err != nil {
		return Label{}, err
	}
	return l, nil
}

// loadMeta reads the metadata.
func (a *Archive) loadMeta(ctx context.Context, st *archiveState, growing bool) error {
	b, err := a.readWhole(ctx, st, VolumeMeta)
	if err != nil {
		return err
	}
	st.metaSize = int64(len(b))
	st.meta, st.metaUsed, err = loadMetadata(st.files.Meta, b, a.label.Len(), growing, limitOr(a.opts.MaxMetadata, maxMetadata))
	if err == nil && len(st.meta.metrics) == 0 && !growing {
		err = inFile(st.files.Meta, flawed(pdu.ErrLogRec, "no metric is described"))
	}
	return err
}

// loadIndex reads the index, if there is one.
func (a *Archive) loadIndex(ctx context.Context, st *archiveState) error {
	st.index, st.ascending, st.indexSize = nil, false, 0
	if st.files.Index == "" {
		return nil
	}
	b, err := a.readWhole(ctx, st, VolumeIndex)
	if err != nil {
		return err
	}
	st.indexSize = int64(len(b))
	st.index = decodeIndex(b[min(a.label.Len(), int64(len(b))):], a.label.Version)
	st.ascending = slices.IsSortedFunc(st.index, func(a, b IndexEntry) int { return a.Time.Compare(b.Time) })
	return nil
}

func (a *Archive) readWhole(ctx context.Context, st *archiveState, volume int) ([]byte, error) {
	f, err := a.file(ctx, st, volume)
	if err != nil {
		return nil, err
	}
	src, err := f.open(ctx)
	if err != nil {
		return nil, err
	}
	b, err := readWhole(src, limitOr(a.opts.MaxMetadata, maxMetadata))
	return b, inFile(f.path, err)
}

// Label returns the label of the first volume, or with Options.MetadataOnly that of the metadata.
func (a *Archive) Label() Label { return a.label }

// Metadata returns the metadata of this archive alone.
func (a *Archive) Metadata() *Metadata { return a.state.Load().meta }

// Index returns the entries of the index in the order of the file, or nil if there is no index. The
// entries are not checked. The slice must not be changed.
func (a *Archive) Index() []IndexEntry { return a.state.Load().index }

// Files returns the paths of the files, as Open or Set.Refresh found them.
func (a *Archive) Files() Files {
	files := a.state.Load().files
	files.Volumes = slices.Clone(files.Volumes)
	return files
}

// File opens a file of the archive by a volume number, VolumeMeta or VolumeIndex. The file belongs
// to the archive and must not be closed. A missing file is pdu.ErrLogFile.
func (a *Archive) File(volume int) (*File, error) { return a.file(a.set.ctx, a.state.Load(), volume) }

// file opens a file, unless it is open already. It does not check that a volume is of this archive;
// see dataFile.
func (a *Archive) file(ctx context.Context, st *archiveState, volume int) (*File, error) {
	a.mu.Lock()
	f := a.opened[volume]
	if f == nil {
		path := st.path(volume)
		if path == "" {
			a.mu.Unlock()
			return nil, inFile(a.base, flawed(pdu.ErrLogFile, "%s is missing", volumeName(volume)))
		}
		f = newFile(a.opts, volume, path)
		f.pool = &a.set.pool
		a.opened[volume] = f
	}
	a.mu.Unlock()
	_, err := f.open(ctx)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// path returns the path of a volume, the index or the metadata, or "" if there is no such file.
func (st *archiveState) path(volume int) string {
	switch volume {
	case VolumeMeta:
		return st.files.Meta
	case VolumeIndex:
		return st.files.Index
	}
	if i, ok := st.find(volume); ok {
		return st.files.Volumes[i].Path
	}
	return ""
}

// firstVolume returns the number of the first volume, or 0 without volumes.
func (a *Archive) firstVolume() int {
	if volumes := a.state.Load().files.Volumes; len(volumes) > 0 {
		return volumes[0].Number
	}
	return 0
}

// find returns the index of a volume in the list of volumes.
func (st *archiveState) find(volume int) (int, bool) {
	return slices.BinarySearchFunc(st.files.Volumes, volume, func(v VolumeFile, n int) int { return v.Number - n })
}

// dataFile opens a volume and checks that it is of this archive.
func (a *Archive) dataFile(volume int) (*File, source, error) {
	f, err := a.File(volume)
	if err != nil {
		return nil, nil, err
	}
	l, err := f.Label()
	if err != nil {
		return nil, nil, err
	}
	if err := l.sameArchive(&a.label); err != nil {
		return nil, nil, inRecord(f.path, 0, 0, err)
	}
	src, err := f.open(a.set.ctx)
	return f, src, err
}

// refresh returns the state of the archive as it is now.
func (a *Archive) refresh(ctx context.Context) (*archiveState, error) {
	st := *a.state.Load()
	files, err := disk{a.opts.FS}.rescan(a.base)
	if err != nil {
		return nil, inFile(a.base, err)
	}
	if st.files, err = a.opts.wanted(files.or(st.files)); err != nil {
		return nil, inFile(a.base, err)
	}
	size, err := a.size(ctx, &st, VolumeMeta)
	if err == nil && size < st.metaSize {
		err = inFile(st.files.Meta, flawed(pdu.ErrLogRec, "%d bytes, fewer than the %d before", size, st.metaSize))
	}
	if err == nil && size > st.metaUsed {
		err = a.loadMeta(ctx, &st, true)
	}
	if err == nil && st.files.Index != "" {
		if size, err = a.size(ctx, &st, VolumeIndex); err == nil && size != st.indexSize {
			err = a.loadIndex(ctx, &st)
		}
	}
	return &st, err
}

func (a *Archive) size(ctx context.Context, st *archiveState, volume int) (int64, error) {
	f, err := a.file(ctx, st, volume)
	if err != nil {
		return 0, err
	}
	return f.Size()
}

// close closes all files.
func (a *Archive) close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	var errs []error
	for _, f := range a.opened {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}
