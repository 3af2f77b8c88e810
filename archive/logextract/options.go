package logextract

import (
	"context"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// Options select what goes from the inputs to the output. The zero value merges all of all inputs.
type Options struct {
	// Metrics are the metrics and instances to keep; an empty list means all. See [ParseConfig].
	Metrics []Metric
	// From and Until are the time window, its bounds included; a zero time is no bound.
	From, Until time.Time
	// Daily repeats the window, of at most 24 hours, on each following day, with a mark before each
	// day's records.
	Daily bool
	// Records is after how many records, marks included, to stop; 0 means never, and less than 0
	// before the first.
	Records int

	// Marks writes a mark between any two inputs, even if the sessions that their loggers recorded
	// show that nothing happened in between: the collector and the metrics are the same.
	Marks bool
	// FirstZone takes the time zone of the label from the first input, not from the last one.
	FirstZone bool
	// Version is the version of the output, 2 or 3, and at least that of each input; 0 means the
	// highest version of the inputs.
	Version int
	// VolumeRecords is after how many records another volume begins; 0 means never, except where
	// version 2 needs one.
	VolumeRecords int
	// SkipConflicts leaves out metrics whose descriptors or names differ between inputs, with a
	// warning. Without it such differences are errors.
	SkipConflicts bool
	// Desperate accepts inputs whose end cannot be found, and keeps the partial output after an
	// error.
	Desperate bool

	// Warn is called with each error that does not end the work: *[InputError], *[SelectError],
	// *[MismatchError], *[ConflictError], *[SkippedError] and others. Nil ignores them.
	Warn func(error)
	// NewVolume is called when another volume of the output begins, with the time of its first
	// record. It may be nil.
	NewVolume func(number int, t time.Time)
}

// A Metric is a metric to keep, or several of them.
type Metric struct {
	Name      string // of a metric, or of a node of the name space, which stands for all metrics below it
	Instances []Instance
	Line      int // where a configuration has it, for messages
}

// An Instance is one to keep: by its name, as a whole or up to the first blank, or by its number if
// Name is "".
type Instance struct {
	Name string
	ID   pdu.InstID
}

// Run makes an archive of others, all at once. Output is its base name. The inputs are names as for
// archive.Open. If there is an error, there is no output, unless o.Desperate keeps it. See [Job]
// for the errors.
func (o Options) Run(ctx context.Context, inputs []string, output string) error {
	j, err := o.Open(ctx, inputs)
	if err != nil {
		return err
	}
	defer j.Close()
	j.Select(o.Metrics)
	if err := j.Create(output); err != nil {
		return err
	}
	return j.Run(ctx)
}
