package pmlogger

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pcp-go/pcp/archive/logextract"
	"github.com/pcp-go/pcp/archive/logger"
	"github.com/pcp-go/pcp/archive/logger/retention"
	"github.com/pcp-go/pcp/examples/internal/hint"
	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/examples/internal/pcptool/pmlc"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// daily is the options that C's program lacks: an archive for each day in a directory, and the care
// of the directory.
type daily struct {
	on       bool
	given    string // the first option that means nothing without the others
	keep     time.Duration
	maxBytes int64
	compress *retention.Compressor
}

// defaultKeep is the maximum age of archives, as for pmlogger_daily(1).
const defaultKeep = 14 * 24 * time.Hour

// options returns long options that cannot be abbreviated. The usage message lists them after those
// of C's program.
func (d *daily) options() []tool.Option {
	d.keep, d.compress = defaultKeep, retention.Gzip(gzip.DefaultCompression)
	return []tool.Option{
		{Long: "daily", Exact: true, Help: "record an archive for each day in the directory archive", Set: tool.Flag(&d.on)},
		{Long: "keep", Arg: "TIME", Exact: true, Help: "with --daily, remove older archives [default 14 days]", Set: func(text string) (err error) {
			d.given = "keep"
			if d.keep, err = pmapi.ParseInterval(text); err == nil && d.keep < 0 {
				err = errors.New("a time below 0")
			}
			if err != nil {
				return hint.With(fmt.Errorf("illegal --keep argument\n%w", pcptool.SyntaxError(err)), "--keep: "+hint.Interval)
			}
			return nil
		}},
		{Long: "max-size", Arg: "SIZE", Exact: true, Help: "with --daily, remove the oldest archives beyond SIZE", Set: func(text string) error {
			d.given = "max-size"
			var s size
			err := s.set("archives")(text)
			if err == nil && s.bytes == 0 {
				err = fmt.Errorf("illegal size argument '%s' for archives", text)
			}
			if err != nil {
				return hint.With(err, "--max-size: a number and a unit, such as 500m or 10g")
			}
			d.maxBytes = s.bytes
			return err
		}},
		{Long: "compress", Arg: "PROGRAM", Exact: true, Help: "with --daily, gzip, xz, zstd or none [default gzip]", Set: d.setCompress},
	}
}

func (d *daily) setCompress(text string) error {
	d.given = "compress"
	switch text {
	case "none":
		d.compress = nil
	case "gzip": // without the program
		d.compress = retention.Gzip(gzip.DefaultCompression)
	case "xz":
		d.compress = retention.XZ()
	case "zstd":
		d.compress = retention.Command(".zst", "zstd", "-q", "-c")
	default:
		return fmt.Errorf("illegal --compress argument '%s': not gzip, xz, zstd or none", text)
	}
	return nil
}

// prepareDaily prepares loggers for record, one after the other.
func (p *program) prepareDaily(ctx context.Context, c *config) error {
	lo, err := p.loggerOptions(c)
	if err == nil {
		err = p.parsed(c)
	}
	if err != nil {
		return err
	}
	p.printStarting()
	p.events.daily = true
	lo.Host, lo.Port = fullName(ctx, p.localHost), p.listen(ctx)
	d := &p.opts.daily
	o := retention.Options{Merge: logextract.Options{}.Run, Compress: d.compress, Keep: d.keep, MaxBytes: d.maxBytes, Logger: p.log,
		Did: func(a retention.Action) {
			text := fmt.Sprintf("%s: %s %s", programName, a.Kind, strings.Join(a.From, " "))
			if a.To != "" {
				text += " -> " + a.To
			}
			p.log.Info(text)
		}}
	p.loggers = func(ctx context.Context, begin func(*logger.Logger) error) error {
		var failed error
		o.Begun = func(l *logger.Logger) {
			p.started()
			fmt.Fprintf(p.w, "Archive basename: %s\n", l.Base())
			if failed = begin(l); failed != nil {
				p.stop(failed)
			}
		}
		err := retention.Record(ctx, p.src, p.opts.base, lo, o)
		if errors.Is(err, logger.ErrNothing) {
			return p.reportNothing()
		}
		return errors.Join(failed, err)
	}
	return nil
}

// present is the logger of the current archive, for users that outlive an archive.
type present struct{ p *program }

var _ pmlc.Logger = present{}

func (l present) Status() logger.Status { return l.p.logger.Load().Status() }

func (l present) NewVolume(reason string) (int, error) {
	return l.p.logger.Load().NewVolume(reason)
}

func (l present) Sync() error { return l.p.logger.Load().Sync() }

func (l present) Control(ctx context.Context, c logger.Control, s logger.State, interval time.Duration, targets []logger.Target) ([]logger.MetricState, error) {
	return l.p.logger.Load().Control(ctx, c, s, interval, targets)
}

func (l present) Enquire(ctx context.Context, targets []logger.Target) ([]logger.MetricState, error) {
	return l.p.logger.Load().Enquire(ctx, targets)
}
