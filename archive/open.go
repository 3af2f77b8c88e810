package archive

import (
	"context"
	"io/fs"
	"slices"

	"github.com/pcp-go/pcp/pdu"
)

// MaxRecord is how many bytes a record may have. Longer ones are malformed.
const MaxRecord = 256 << 20

// Default limits of Options.
const (
	MaxUnpacked = 8 << 30 // bytes that one compressed file may unpack to
	MaxMetadata = 1 << 30 // bytes of memory that the metadata of one archive may take; also of index
)

// Options say how to open archives. The zero value opens those of the operating system's
// files.
type Options struct {
	// FS has the files; nil means those of the operating system, by their paths. Its files
	// should be io.ReaderAt; others are copied to temporary files. To keep symbolic links
	// from leading out of a directory, use os.Root.FS. Names are those of fs.ValidPath, also
	// with ./ before them or / after.
	FS fs.FS
	// TempDir is where compressed files are unpacked; "" means os.TempDir().
	TempDir string
	// MaxUnpacked and MaxMetadata replace the constants of the same names, if not 0.
	MaxUnpacked, MaxMetadata int64
	// LastVolume takes the label of an archive from its last volume, which may have no
	// records yet, instead of from its first one.
	LastVolume bool
	// MetadataOnly reads the metadata alone: volumes and index may be missing, and are not looked at. The label is that of
	// the metadata; reading records, and the end, is pdu.ErrLogFile. The counterpart of
	// PM_CTXFLAG_METADATA_ONLY.
	MetadataOnly bool
	// Growing accepts metadata of which the last record is not complete, as of an archive
	// that is being written; [Set.Refresh] reads it later.
	Growing bool
	// AnyFeature accepts labels with features that are not known.
	AnyFeature bool
}

// Open opens the set of archives that a name stands for: a base name, any file of an
// archive, a directory, or a list of these with commas between. It reads all metadata;
// of the volumes only the label of the first one. The context can end it, also while
// a file is being unpacked.
//
// The archives must be of one host and not start at the same time, and each metric must
// have the same descriptor in all. Errors are *[Error]; see there.
func Open(ctx context.Context, name string) (*Set, error) { return Options{}.Open(ctx, name) }

// Open is [Open] with options.
func (o Options) Open(ctx context.Context, name string) (*Set, error) {
	found, err := o.Find(name)
	if err != nil {
		return nil, err
	}
	s := &Set{}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	if err := s.open(ctx, &o, found); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// open opens the archives, checks that they belong together, and puts them in order.
func (s *Set) open(ctx context.Context, o *Options, found []Files) error {
	for _, files := range found {
		a, err := openArchive(ctx, s, o, files)
		if err != nil {
			return err
		}
		s.archives = append(s.archives, a)
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
