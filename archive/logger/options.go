package logger

import (
	"context"
	"errors"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/push"
	"github.com/pcp-go/pcp/pmapi"
)

// drainTimeout limits how long Run waits at its end for the receiver of Options.Push.
const drainTimeout = 10 * time.Second

// Options say what a Logger records, where to, and when it ends.
type Options struct {
	// Config says what to record: see the package documentation. An empty Config records nothing;
	// see Linger.
	Config string
	// Base is the base name of the archive with its directory. New fails if the archive exists.
	Base string
	// Push, if not nil, sends the archive to a receiver instead of writing files: see package push.
	// Base is then only the name of the archive in its first and last record; empty means the URL.
	// While the receiver cannot be reached, records are kept in memory. When the memory is full,
	// further records are dropped, and the first record after that follows a mark.
	//
	// New fails if the receiver does not reply. A receiver that permanently refuses the archive
	// ends Run. At its end Run waits up to ten seconds until the receiver has all records. If the
	// receiver does not get all of them, the error is a *push.LostError.
	Push *push.SenderOptions
	// Writer has the options of the archive. If Host, TimeZone or ZoneInfo of the label is empty,
	// the label has that of the source. The limits of volumes take effect after the record that
	// reaches them, as in pmlogger(1).
	Writer archive.WriterOptions
	// Interval is the interval of "default" in Config. Zero means a minute, and a negative Interval
	// means once.
	Interval time.Duration

	// Host is the name of the host that the logger runs on; empty means os.Hostname. Port is the
	// port of a server for pmlc(1). They only appear in the first and the last record of the
	// archive.
	Host string
	Port uint32

	// The logger ends when all volumes together have EndBytes bytes, when tasks have been recorded
	// EndRecords times, at EndTime, or EndAfter after the start of Run. Zero means no such limit.
	// For EndRecords, a task with an interval also counts when it is due without a collector.
	// Writer.VolumeRecords counts only tasks that were recorded. pmlogger(1) counts both for its
	// volumes, too, so that some of them are empty.
	EndBytes   int64
	EndRecords int
	EndTime    time.Time
	EndAfter   time.Duration

	// EndOnChange ends Run with ErrMetricsChanged when a metric differs from the archive, and
	// without an error when the host name of the collector changes. It is for programs that then
	// begin another archive, as package retention does. Without EndOnChange the logger goes on and
	// reports the change. It leaves out metrics that have changed until they agree with the archive
	// again.
	EndOnChange bool

	// Linger lets a Logger run even if it has nothing to record, because Control may add metrics.
	Linger bool

	// Report is called with each event. It must not call methods of the Logger, because it may be
	// called while the Logger is locked. Nil means LogEvent.
	Report func(Event)
}

// Errors of New and Run.
var (
	// ErrNothing means that the configuration has nothing to record; see Options.Linger.
	ErrNothing = errors.New("nothing to log")
	// ErrMetricsChanged means that a metric differs from the archive and Options.EndOnChange is
	// set. Events of the types MetricChanged and MetricGone name the metrics. The archive then has
	// no last record that describes the logger.
	ErrMetricsChanged = errors.New("one or more configured metrics have changed after pmcd state change")
)

// Run records src until ctx ends or an end of the options is reached. It calls Options.New and
// Logger.Run, and returns their errors.
func Run(ctx context.Context, src *pmapi.Context, o Options) error {
	l, err := o.New(ctx, src)
	if err != nil {
		return err
	}
	return l.Run(ctx)
}
