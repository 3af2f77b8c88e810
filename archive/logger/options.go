package logger

import (
	"context"
	"errors"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/push"
	"github.com/pcp-go/pcp/pmapi"
)

// drainTimeout is how long Run waits at its end for the receiver of Options.Push.
const drainTimeout = 10 * time.Second

// Options say what a Logger records, where to, and when it ends.
type Options struct {
	// Config is the configuration, which says what to record: see the package. "" records nothing,
	// see Linger.
	Config string
	// Base is the base name of the archive with its directory. There must be no such archive.
	Base string
	// Push, if not nil, sends the archive to a receiver instead of writing files: see package push.
	// Base then only names the archive in its first and last record, and "" means the URL. While
	// the receiver cannot be reached, records are kept in memory. If there are too many, further
	// records are left out, and a mark comes before those that follow.
	//
	// New fails if the receiver does not reply. A receiver that permanently refuses the archive
	// ends Run. At its end Run waits up to ten seconds until the receiver has all records. If that
	// is not enough, the error is a *push.LostError.
	Push *push.SenderOptions
	// Writer has the options of the archive. In the label, an empty Host, TimeZone and ZoneInfo
	// mean those of the source. The limits of volumes take effect after the record that reaches
	// them, as in pmlogger(1).
	Writer archive.WriterOptions
	// Interval is the interval of "default" in Config; 0 means a minute and less than 0 means once.
	Interval time.Duration

	// Host is the name of the host that the logger runs on; "" means the name of this one. Port is
	// the port for pmlc(1). The first and the last record of the archive have both.
	Host string
	Port uint32

	// The logger ends when the volumes have EndBytes bytes in all, when tasks have been recorded
	// EndRecords times, at EndTime, or after EndAfter; zero means never. The limits of volumes
	// count records in the same way. For EndRecords a task also counts while there is no collector.
	// pmlogger(1) also counts it for volumes then, so that some of its volumes are empty.
	EndBytes   int64
	EndRecords int
	EndTime    time.Time
	EndAfter   time.Duration

	// EndOnChange ends the logger with ErrMetricsChanged when a metric differs from the archive,
	// and also ends it when the host of the collector has another name. It is for programs that
	// begin another archive then, as package retention does. Without it the logger goes on and
	// reports the change. It leaves out metrics that have changed until they agree with the archive
	// again.
	EndOnChange bool

	// Linger lets a logger run that has nothing to record: others may change that.
	Linger bool

	// Report is called with each event. It must not call the Logger's methods. Nil means LogEvent.
	Report func(Event)
}

// Errors of New and Run.
var (
	// ErrNothing says that a configuration has nothing to record.
	ErrNothing = errors.New("nothing to log")
	// ErrMetricsChanged says that a metric differs from the archive, with Options.EndOnChange; see
	// MetricChanged and MetricGone. The archive then has no last record of the logger.
	ErrMetricsChanged = errors.New("one or more configured metrics have changed after pmcd state change")
)

// Run records src until ctx ends or an end of the options is reached: New and Logger.Run.
func Run(ctx context.Context, src *pmapi.Context, o Options) error {
	l, err := o.New(ctx, src)
	if err != nil {
		return err
	}
	return l.Run(ctx)
}
