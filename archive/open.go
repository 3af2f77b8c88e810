package archive

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"slices"

	"github.com/pcp-go/pcp/pdu"
)

// MaxRecord is the maximum length of a record in bytes. Longer records count as malformed.
const MaxRecord = 256 << 20

// Default limits of Options.
const (
	maxUnpacked = 8 << 30
	maxMetadata = 1 << 30
)

// Options say how to open archives. The zero value opens files of the operating system.
type Options struct {
	// FS has the files; nil means those of the operating system, by their paths. Its files should
	// be io.ReaderAt; others are copied to temporary files. To keep symbolic links from leading out
	// of a directory, use os.Root.FS. Names must be valid for fs.ValidPath, but may begin with ./
	// and end with /.
	FS fs.FS
	// TempDir is the directory for unpacked files; empty means os.TempDir().
	TempDir string
	// MaxUnpacked is the number of bytes that one compressed file may unpack to. 0 means 64 MiB, or
	// 500 times its size if that is more, but at most 8 GiB.
	MaxUnpacked int64
	// MaxMetadata is the number of bytes of memory that the metadata of one archive may need. The
	// same limit applies to its index. 0 means 1 GiB.
	MaxMetadata int64
	// MetadataOnly reads only the metadata file. Volumes and index are ignored and may be missing.
	// Archive.Label is that of the metadata. Cursors and End fail with pdu.ErrLogFile. MetadataOnly
	// is the counterpart of PM_CTXFLAG_METADATA_ONLY.
	MetadataOnly bool
	// NoIndex reads an archive as if it had no index. That is slower, but works with a wrong index.
	NoIndex bool
	// Growing accepts metadata with an incomplete last record, as in an archive that is being
	// written. [Set.Refresh] reads that record later.
	Growing bool
	// AnyFeature accepts labels with unknown feature bits.
	AnyFeature bool
	// Damaged decides about a damaged archive of a directory or a list. It is called with an
	// *Error, once for damage that Open finds and once for damage that a cursor finds. If it
	// returns an error, Open or the cursor fails with it. If it returns nil, reading continues:
	//
	//   - An archive that cannot be opened is left out.
	//   - An archive with a damaged index is read without the index.
	//   - After a malformed record, reading continues with the next archive.
	//
	// Damaged must be safe for concurrent use. The default logs a warning to slog.Default and
	// returns nil. For an archive that is opened alone, only [Set.CheckEnd] calls it, and other
	// errors are returned.
	Damaged func(error) error
}

// Open opens the set of archives that name stands for: a base name, any file of an archive, a
// directory, or a comma-separated list of these. It reads all metadata and the index, but of the
// volumes only the first label. If ctx ends, Open stops, even while it unpacks a file.
//
// All archives must be of one host, have different start times, and have the same descriptor for a
// metric. If one of several archives is damaged, Options.Damaged decides; by default the others are
// read. Errors are *[Error].
func Open(ctx context.Context, name string) (*Set, error) { return Options{}.Open(ctx, name) }

// Open is [Open] with options.
func (o Options) Open(ctx context.Context, name string) (*Set, error) {
	found, err := o.Find(name)
	if err != nil {
		return nil, err
	}
	s := &Set{several: len(found) > 1, damaged: o.Damaged, origin: newOrigin(&o, name, found)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	if err := s.open(ctx, &o, found); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// open opens the archives, checks that they belong together, and puts them in order.
func (s *Set) open(ctx context.Context, o *Options, found []Files) error {
	var skipped error // the first archive that is left out
	for _, files := range found {
		a, err := openArchive(ctx, s, o, files)
		if err != nil && s.several && ctx.Err() == nil {
			if skipped == nil {
				skipped = err
			}
			a, err = s.openDamaged(ctx, o, files, err)
		}
		if err != nil {
			return err
		}
		if a != nil {
			s.archives = append(s.archives, a)
		}
	}
	if len(s.archives) == 0 {
		return skipped
	}
	slices.SortStableFunc(s.archives, func(a, b *Archive) int { return a.label.Start.Compare(b.label.Start) })
	first := s.archives[0]
	for i, a := range s.archives[1:] {
		if a.label.Host != first.label.Host {
			return inFile(a.base, flawed(pdu.ErrLogHost, "of host %q, but %s is of %q", a.label.Host, first.base, first.label.Host))
		}
		if before := s.archives[i]; a.label.Start.Equal(before.label.Start) {
			return inFile(a.base, flawed(pdu.ErrLogOverlap, "starts at the same time as %s", before.base))
		}
	}
	return s.mergeAll()
}

// openDamaged opens as much as it can of a damaged archive. It opens an archive with a damaged
// index without that index, and returns nil if another file is damaged.
func (s *Set) openDamaged(ctx context.Context, o *Options, files Files, damage error) (*Archive, error) {
	if err := s.reportDamage(damage); err != nil {
		return nil, err
	}
	e, ok := errors.AsType[*Error](damage)
	if !ok || files.Index == "" || e.File != files.Index {
		return nil, nil
	}
	files.Index = ""
	a, err := openArchive(ctx, s, o, files)
	if err != nil && ctx.Err() == nil {
		return nil, nil
	}
	return a, err
}

// reportDamage returns what Options.Damaged decides about an archive of several.
func (s *Set) reportDamage(damage error) error {
	if s.damaged != nil {
		return s.damaged(damage)
	}
	slog.Warn("a damaged archive is not read, or only in part", "err", damage)
	return nil
}

// tolerate decides about an error in reading a. It returns nil if reading continues with the other
// archives.
func (s *Set) tolerate(a *Archive, err error) error {
	switch {
	case err == nil || !s.several || s.ctx.Err() != nil:
		return err
	case errors.Is(err, pdu.ErrLogFile) || errors.Is(err, pdu.ErrLogOverlap):
		return err // reported once, after which the cursor moves on
	}
	return a.reportDamage(err)
}

// reportDamage returns what Options.Damaged decides about this archive.
func (a *Archive) reportDamage(err error) error {
	a.damage.Do(func() { a.verdict = a.set.reportDamage(err) })
	return a.verdict
}
