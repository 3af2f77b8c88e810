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

// A recorder is a Record.
type recorder struct {
	Options
	src     *pmapi.Context
	dir     string
	logger  logger.Options
	writing atomic.Pointer[string] // the base name of the archive in the directory, "" between two
	ended   logger.EndReason       // of the last logger
}

// Record records src into archives of a directory, begins a new one at each midnight, and maintains
// the directory at the same time, as [Run] does. A new archive begins at once where the last one
// ends, and with everything that the configuration says. Merging them needs no mark in between,
// unless something has happened to the collector. While the collector is lost, a new archive waits
// until it is back. Another archive also begins after an end of the logger because metrics have
// changed, or because the collector's host has another name.
//
// Record ends as [logger.Run] does: with ctx, at the ends of lo, or with an error of a file or of
// the first archive's New. EndBytes and EndRecords count for each archive, and lo.Base is not used.
// After the first archive, one that has nothing to record lingers. Changes by pmlc(1) are lost at
// midnight.
//
// Record makes a missing directory. The error wraps [ErrLocked] and names the process if another
// Record records into the directory. Record is the counterpart of pmlogger(1) with
// pmlogger_daily(1) and pmlogger_check(1).
func Record(ctx context.Context, src *pmapi.Context, dir string, lo logger.Options, o Options) error {
	o.complete()
	if err := os.MkdirAll(dir, 0o775); err != nil {
		return err
	}
	switch recording, err := acquireRecording(dir); {
	case errors.Is(err, ErrLocked):
		return err
	case err != nil: // a file system without locks still takes archives
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
	wg.Go(func() { _ = Run(ctx, dir, r.Options) }) // it ends with the context alone
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

// setOptions completes the options of the loggers, and of Maintain.
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

// over reports whether the time of all archives is over.
func (r *recorder) over() bool {
	return !r.logger.EndTime.IsZero() && time.Until(r.logger.EndTime) <= 0
}

// next prepares an archive that ends with the day.
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

// retry is the delay before another attempt to begin an archive, and before an archive that begins
// because of a change.
const retry = time.Second

// run runs a logger, and reports whether another one comes after it.
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
	return ctxwait.Sleep(ctx, retry) == nil, nil // so that a collector that changes all the time does not make archives all the time
}

// another prepares the archive after that of a logger, when there is a collector. It is nil if the
// time is over before that.
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
		_ = r.src.Reconnect(ctx) // or the next archive cannot begin, either
	}
}
