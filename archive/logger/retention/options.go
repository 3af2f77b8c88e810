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
	// Merge merges the archives with the base names inputs, sorted by time, into one with the base
	// name output: see archive/logextract. It must not change the inputs, nor leave an output if it
	// fails. Nil means that archives are not merged. Archives of a day with a damaged archive are
	// not merged either, since Merge could lose the records after the damage; an incomplete last
	// record is no damage.
	Merge func(ctx context.Context, inputs []string, output string) error
	// Rewrite is called for each archive before it is merged, to repair or change it: see
	// archive.RepairOptions and archive/logrewrite. It is called again if the merge was not
	// completed. If it fails, the archives of the day are not merged. Nil means no change.
	Rewrite func(ctx context.Context, base string) error

	// Compress compresses volumes and metadata of the archives of past days. Their indexes are
	// small, and stay uncompressed for random access. Nil means no compression.
	Compress *Compressor
	// CompressAfter is the time from the last change of an archive until it is compressed. 0 means
	// no wait.
	CompressAfter time.Duration

	// Keep is how long archives are kept after their last change. 0 means forever.
	Keep time.Duration
	// MaxBytes limits the total size of all archives. The oldest archives beyond it are removed. 0
	// means no limit.
	MaxBytes int64

	// Writing reports whether the archive with the given base name in the directory is being
	// written. Such an archive is not changed. Nil means the latest archive up to today, by name,
	// and all archives of later days.
	Writing func(base string) bool
	// Location is the time zone of midnight; nil means time.Local. It should be the logger's.
	Location *time.Location
	// Now is the current time for Maintain; the zero time means time.Now.
	Now time.Time
	// DryRun changes nothing. Did gets the actions that would follow, as far as they are known.
	DryRun bool
	// Did, if not nil, is called after each action.
	Did func(Action)
	// Begun, if not nil, is called by Record with the logger of each archive before it runs, for
	// use of its Status or to serve pmlc(1).
	Begun func(*logger.Logger)
	// Logger gets the errors of Run. Nil means slog.Default().
	Logger *slog.Logger

	step func(what string) // for tests: called before each change
}

// ErrLocked means that the directory is already being maintained, or for Record, that another
// Record records into it.
var ErrLocked = errors.New("retention: the directory is being maintained by somebody else")

// An Action is a change to archives or files, which are named relative to the directory.
type Action struct {
	// Kind is one of:
	//
	//	recovered   completed the work of an earlier Maintain on the archive or file From
	//	culled      removed the archive From for Keep
	//	purged      removed the archive From for MaxBytes
	//	merged      merged or renamed the archives From to the archive To
	//	compressed  compressed the file From to the file To
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

// today returns the current day as YYYYMMDD.
func (o *Options) today() string { return o.Now.In(o.Location).Format(dayLayout) }
