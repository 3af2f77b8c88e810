package archive

import (
	"context"
	"errors"
	"io/fs"
)

// Default limits of Options.
const (
	MaxUnpacked = 8 << 30 // bytes that one compressed file may unpack to
	MaxMetadata = 1 << 30 // bytes of metadata that one archive may have, unpacked
)

// Options say how to open archives. The zero value opens those of the operating system's
// files.
type Options struct {
	// FS has the files; nil means those of the operating system, by their paths. Its files
	// should be io.ReaderAt; others are copied to temporary files. To keep symbolic links
	// from leading out of a directory, use os.Root.FS.
	FS fs.FS
	// TempDir is where compressed files are unpacked; "" means os.TempDir().
	TempDir string
	// MaxUnpacked and MaxMetadata replace the constants of the same names, if not 0.
	MaxUnpacked, MaxMetadata int64
	// LastVolume takes the label of an archive from its last volume, which may have no
	// records yet, instead of from its first one.
	LastVolume bool
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
	return nil, errors.ErrUnsupported
}

// Files are the files of one archive, by their paths, as a directory has them.
type Files struct {
	Base    string // the base name with its directory
	Meta    string // "" if there is none
	Index   string // "" if there is none
	Volumes []VolumeFile
}

// A VolumeFile is the number and path of a volume. Numbers ascend, not always by 1.
type VolumeFile struct {
	Number int
	Path   string
}

// Find finds the archives that a name stands for, without opening them; see [Open]. It is
// for programs that look at damaged archives. An archive of which there is no file
// is fs.ErrNotExist; there may be no volume or no metadata.
func (o Options) Find(name string) ([]Files, error) { return nil, errors.ErrUnsupported }

// OpenFile opens one file by its path, compressed or not, without checks.
func (o Options) OpenFile(ctx context.Context, path string) (*File, error) {
	return nil, errors.ErrUnsupported
}
