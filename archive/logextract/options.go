package logextract

import (
	"context"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// Options select what goes from the inputs to the output. The zero value merges everything.
type Options struct {
	// Metrics are the metrics and instances to keep; an empty list means all. See [ParseConfig].
	Metrics []Metric
	// From and Until are the time window, bounds included. A zero time means no bound.
	From, Until time.Time
	// Daily repeats the window, which must not exceed 24 hours, on each following day. A mark
	// precedes each day's records.
	Daily bool
	// Records is the maximum number of records, marks included. 0 means no limit, a negative number
	// no records.
	Records int

	// Marks writes a mark between any two inputs, even if both recorded the same run of the
	// collector with the same metrics.
	Marks bool
	// FirstZone takes the time zone of the label from the first input, not from the last one.
	FirstZone bool
	// Version is the version of the output, 2 or 3. It must not be below that of any input. 0 means
	// the highest version of the inputs.
	Version int
	// VolumeRecords is the number of records per volume, marks included. 0 means one volume, unless
	// version 2 needs more.
	VolumeRecords int
	// SkipConflicts omits metrics whose descriptors or names differ between inputs, with a warning.
	// By default such differences are errors.
	SkipConflicts bool
	// Desperate accepts inputs whose end cannot be found, and keeps the partial output after an
	// error.
	Desperate bool

	// Warn is called with each error that does not end the extraction: *[InputError],
	// *[SelectError], *[MismatchError], *[ConflictError], *[SkippedError] and others. Nil ignores
	// them. Run and the methods of Job call it and NewVolume on the caller's goroutine.
	Warn func(error)
	// NewVolume, if not nil, is called when a volume other than the first begins, with the time of
	// its first record.
	NewVolume func(number int, t time.Time)
}

// A Metric names one or more metrics to keep.
type Metric struct {
	Name      string // of a metric, or of a node above metrics, which means all of them
	Instances []Instance
	Line      int // of the configuration, for messages
}

// An Instance is an instance to keep. Name matches a whole name or the part before the first blank.
// If Name is "", ID selects the instance.
type Instance struct {
	Name string
	ID   pdu.InstID
}

// Run makes an archive with base name output from inputs, which are named as for archive.Open.
// After an error there is no output, unless o.Desperate keeps it. Errors are those of the methods
// of [Job].
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
