package retention

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/pcp-go/pcp/archive/logger"
)

// Options say what to do in a directory. The zero Options merge, compress and remove nothing.
type Options struct {
	// Merge merges the archives with the base names inputs, in the order of time, into one with the
	// base name output: see archive/logextract. It leaves the inputs alone, and leaves no output if
	// it fails. With nil, the archives of a day stay as they are. They also stay if one of them is
	// damaged, because Merge could lose the records after the damage. Only the last record may be
	// incomplete.
	Merge func(ctx context.Context, inputs []string, output string) error
	// Rewrite is called for each archive before it is merged, which it may mend or change: see
	// archive.RepairOptions and archive/logrewrite. It may be called again for an archive if the
	// merge was not completed. If it fails, the archives of the day stay as they are. Nil does
	// nothing.
	Rewrite func(ctx context.Context, base string) error

	// Compress compresses volumes and metadata of the archives of past days, and not their indexes,
	// which are small and sought in. Nil does not.
	Compress *Compressor
	// CompressAfter is how long ago an archive must have been changed last to be compressed; 0
	// means at any time.
	CompressAfter time.Duration

	// Keep is how long archives are kept after they have been changed last. 0 means for ever.
	Keep time.Duration
	// MaxBytes is how many bytes all archives together may have: the oldest ones that exceed it are
	// removed. 0 means no limit.
	MaxBytes int64

	// Writing reports whether an archive, by its base name in the directory, is being written. Such
	// an archive is not touched. Nil means the latest archive up to today, by its name. Archives of
	// later days are then not touched either.
	Writing func(base string) bool
	// Location is where days begin at midnight; nil means time.Local. It should be the logger's.
	Location *time.Location
	// Now is the time of today; the zero time means the present.
	Now time.Time
	// DryRun changes nothing: Did gets the actions that would follow, as far as they can be known.
	DryRun bool
	// Did, if not nil, is called after each action.
	Did func(Action)
	// Begun, if not nil, is called by Record with the logger of each archive before it runs: for
	// its Status, or a server of pmlc(1).
	Begun func(*logger.Logger)
	// Logger is for the errors of Run. Nil means slog.Default().
	Logger *slog.Logger

	step func(what string) // for tests: called before each change
}

// ErrLocked is the error of Maintain if another one works on the directory, and that of Record if
// another one records into it.
var ErrLocked = errors.New("retention: the directory is being maintained by somebody else")

// An Action is what was done to archives or files, by their names in the directory.
type Action struct {
	// Kind is one of:
	//
	//	recovered   completed what an earlier Maintain had not: From is the archive
	//	culled      removed the archive From by its age
	//	purged      removed the archive From for MaxBytes
	//	merged      made the archives From, or a single one, the archive To
	//	compressed  made the file From the file To
	Kind string
	From []string
	To   string
}

func (o *Options) did(kind, to string, from ...string) {
	if o.Did != nil {
		o.Did(Action{kind, from, to})
	}
}

// at is called before each change.
func (o *Options) at(what string) {
	if o.step != nil {
		o.step(what)
	}
}

// complete fills in defaults.
func (o *Options) complete() {
	if o.Location == nil {
		o.Location = time.Local
	}
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
}

// today is the name of the day.
func (o *Options) today() string { return o.Now.In(o.Location).Format(dayLayout) }
