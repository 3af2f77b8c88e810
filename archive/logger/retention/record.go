package retention

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pcp-go/pcp/archive/logger"
	"github.com/pcp-go/pcp/internal/ctxwait"
	"github.com/pcp-go/pcp/pmapi"
)

// A recorder is the state of one Record call.
type recorder struct {
	Options
	src     *pmapi.Context
	dir     string
	logger  logger.Options
	writing atomic.Pointer[string] // base name of the current archive, "" between two
	ended   logger.EndReason       // reason why the last logger ended
}

// Record records src into archives in dir, begins a new one at each midnight, and maintains dir
// concurrently, as [Run] does. A new archive begins where the last one ends, and records all
// metrics of the configuration at once. Merging them needs no mark in between, unless the collector
// changed. If the collector is lost at midnight, the new archive begins when it is back. A new
// archive also begins when metrics or the host name of the collector change.
//
// Record ends like [logger.Run]: with ctx, at a limit of lo, with an error of a file, or if New
// fails for the first archive. EndBytes and EndRecords apply to each archive, and lo.Base is not
// used. After the first archive, loggers with nothing to record keep running. Changes made with
// pmlc(1) are lost at midnight.
//
// Record creates dir if necessary. If another Record records into dir, the error wraps [ErrLocked]
// and names its process. Record is the counterpart of pmlogger(1) with pmlogger_daily(1) and
// pmlogger_check(1).
func Record(ctx context.Context, src *pmapi.Context, dir string, lo logger.Options, o Options) error {
	o.complete()
	if err := os.MkdirAll(dir, 0o775); err != nil {
		return err
	}
	switch recording, err := acquireRecording(dir); {
	case errors.Is(err, ErrLocked):
		return err
	case err != nil: // record even on a file system without locks
		o.Logger.Warn("another logger may record into the directory", "dir", dir, "err", err)
	default:
		defer recording.Close()
	}
	r := &recorder{Options: o, src: src, dir: dir, logger: lo}
	r.setOptions()
	l, err := r.next(ctx)
	if err != nil {
		return err
	}
	r.logger.Linger = true
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, end := context.WithCancel(ctx)
	defer end()
	wg.Go(func() { _ = Run(ctx, dir, r.Options) }) // it ends only with ctx
	for l != nil {
		if r.Begun != nil {
			r.Begun(l)
		}
		again, err := r.run(ctx, l)
		if err != nil || !again {
			return err
		}
		if l, err = r.another(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

// setOptions completes the options of the loggers and of Maintain.
func (r *recorder) setOptions() {
	r.writing.Store(new(string))
	others := r.Writing
	r.Writing = func(base string) bool { return base == *r.writing.Load() || others != nil && others(base) }
	lo := &r.logger
	lo.EndOnChange = true
	if lo.EndAfter > 0 {
		if end := time.Now().Add(lo.EndAfter); lo.EndTime.IsZero() || end.Before(lo.EndTime) {
			lo.EndTime = end
		}
		lo.EndAfter = 0
	}
	report := lo.Report
	if report == nil {
		report = logger.LogEvent
	}
	lo.Report = func(e logger.Event) {
		if ended, ok := e.(logger.Ended); ok {
			if r.ended = ended.Reason; r.ended == logger.EndTime && !r.over() {
				return
			}
		}
		report(e)
	}
}

// over reports whether the end time of the whole recording is reached.
func (r *recorder) over() bool {
	return !r.logger.EndTime.IsZero() && time.Until(r.logger.EndTime) <= 0
}

// next prepares a logger for an archive that ends at midnight.
func (r *recorder) next(ctx context.Context) (*logger.Logger, error) {
	now := time.Now().In(r.Location)
	base, err := Base(r.dir, now)
	if err != nil {
		return nil, err
	}
	name := filepath.Base(base)
	r.writing.Store(&name)
	lo := r.logger
	lo.Base = base
	if end := nextDay(now); lo.EndTime.IsZero() || end.Before(lo.EndTime) {
		lo.EndTime = end
	}
	l, err := lo.New(ctx, r.src)
	if err != nil {
		r.writing.Store(new(string))
	}
	return l, err
}

// retry is the delay between attempts to begin an archive, and before an archive that begins
// because of a change.
const retry = time.Second

// run runs a logger, and reports whether another one must follow.
func (r *recorder) run(ctx context.Context, l *logger.Logger) (again bool, err error) {
	err = l.Run(ctx)
	r.writing.Store(new(string))
	switch {
	case errors.Is(err, logger.ErrMetricsChanged):
	case err != nil || ctx.Err() != nil:
		return false, err
	case r.ended == logger.EndTime:
		return !r.over(), nil
	case r.ended != logger.EndHostname:
		return false, nil
	}
	return ctxwait.Sleep(ctx, retry) == nil, nil // limits the number of archives if the collector changes constantly
}

// another prepares the logger after last, as soon as the collector is reachable. It returns nil if
// ctx or the recording ends before that.
func (r *recorder) another(ctx context.Context, last *logger.Logger) (*logger.Logger, error) {
	status := last.Status()
	for lost := !status.Connected; ; {
		l, err := r.next(ctx)
		_, isFile := errors.AsType[*fs.PathError](err)
		switch {
		case err == nil:
			if lost {
				r.logger.Report(logger.Restored{Host: status.Host, Time: time.Now()})
			}
			return l, nil
		case ctx.Err() != nil:
			return nil, nil
		case isFile || errors.Is(err, fs.ErrExist):
			return nil, err
		case !lost:
			lost = true
			r.logger.Report(logger.Lost{Host: status.Host, Time: time.Now(), Err: err})
		}
		if ctxwait.Sleep(ctx, retry) != nil || r.over() {
			return nil, nil
		}
		_ = r.src.Reconnect(ctx) // on failure, next fails too
	}
}
