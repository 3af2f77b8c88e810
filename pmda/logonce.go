package pmda

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"

	"github.com/pcp-go/pcp/internal/loglimit"
	"github.com/pcp-go/pcp/pdu"
)

// A logOnce logs a problem once: when it begins and when its text changes, not each time a client
// sees it. The limit of the log handles a problem that begins again and again. An Agent that gets
// another log logs the problem again, because that log does not have it.
type logOnce struct{ last atomic.Pointer[logged] }

// logged is what was logged last.
type logged struct {
	text string
	news uint64 // agentLogs.news at that time
}

// isNew reports whether an agent should log a text.
func (t *logOnce) isNew(a *Agent, text string) bool {
	now := logged{text, a.logs.news.Load()}
	if last := t.last.Load(); last != nil && *last == now {
		return false
	}
	kept := now // allocates only here
	last := t.last.Swap(&kept)
	return last == nil || *last != now
}

// reset forgets the text, because the problem is over.
func (t *logOnce) reset() {
	if t.last.Load() != nil {
		t.last.Store(nil)
	}
}

// warn logs an error.
func (a *Agent) warn(err error, msg string, at ...slog.Attr) {
	at = append(append([]slog.Attr{slog.String("agent", a.Name)}, at...), slog.Any("err", err))
	a.limitedLog().LogAttrs(context.Background(), slog.LevelWarn, msg, at...)
}

// limitedLog returns the Log with a limit for equal lines. The log of a collector already has such
// a limit. If there are several logs, each has its own limit.
func (a *Agent) limitedLog() *slog.Logger {
	if l := a.logs.limited.Load(); l != nil && a.Logger == nil {
		return l
	}
	log := a.Log()
	if l := a.limited.Load(); l != nil && l.of == log {
		return l.log
	}
	l := &limitedLog{log, loglimit.New(log)}
	a.limited.Store(l)
	return l.log
}

// A limitedLog is a log with a limit for equal lines.
type limitedLog struct{ of, log *slog.Logger }

// gaveUp reports whether err only means that the request was abandoned, so that no client waits for
// the reply.
func gaveUp(ctx context.Context, err error) bool {
	return errors.Is(err, context.Canceled) && ctx.Err() == context.Canceled
}

// refreshed logs the failure of a refresh, or notes its success.
func (a *Agent) refreshed(ctx context.Context, t *logOnce, err error, msg string, of slog.Attr) {
	if err == nil {
		t.reset()
		return
	}
	if _, ok := errors.AsType[reported](err); ok || gaveUp(ctx, err) {
		return
	}
	if t.isNew(a, err.Error()) {
		a.warn(err, msg, of)
	}
}

// panicked logs a panic of a function of a metric.
func (a *Agent) panicked(m *metric, function string, p any) {
	if m.valueLog.isNew(a, fmt.Sprint("panic in ", function, ": ", p)) {
		a.limitedLog().LogAttrs(context.Background(), slog.LevelError, "agent panicked", slog.String("agent", a.Name),
			slog.String("metric", m.name), slog.String("function", function), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
	}
}

// ordinary reports whether an error of a Value function is only for the client, and not a failure
// to log.
func ordinary(err error) bool {
	switch pdu.FromError(err) {
	case pdu.ErrValue, pdu.ErrAppVersion, pdu.ErrPermission, pdu.ErrAgain, pdu.ErrNYI:
		return true
	}
	return false
}

// logValue logs the last error of a metric's function unless it is ordinary.
func (a *Agent) logValue(ctx context.Context, m *metric, s *set) {
	if !ordinary(s.err) && !gaveUp(ctx, s.err) && m.valueLog.isNew(a, s.err.Error()) {
		a.warn(s.err, "no value", m.attrs(s.list, s.errInst)...)
	}
}

// attrs names a metric and, unless id is pdu.NoInst, an instance.
func (m *metric) attrs(list []pdu.Instance, id pdu.InstID) []slog.Attr {
	at := []slog.Attr{slog.String("metric", m.name)}
	if m.indom == nil {
		return at
	}
	for _, i := range list {
		if i.ID == id {
			at = append(at, slog.String("instance", i.Name))
		}
	}
	return at
}

// logStore logs an error that a Store function should not return, and marks it as reported so that
// it is not logged again.
func (a *Agent) logStore(ctx context.Context, m *metric, i pdu.Instance, err error) error {
	if _, ok := errors.AsType[reported](err); ok || ordinary(err) || gaveUp(ctx, err) {
		return err
	}
	switch pdu.FromError(err) {
	case pdu.ErrBadStore, pdu.ErrConv, pdu.ErrTrunc, pdu.ErrSign, pdu.ErrType, pdu.ErrInst:
		return err
	}
	if m.storeLog.isNew(a, err.Error()) {
		a.warn(err, "store failed", m.attrs([]pdu.Instance{i}, i.ID)...)
	}
	return reported{err}
}

// reported is an error that has already been logged, where most details were known.
type reported struct{ error }

func (e reported) Unwrap() error { return e.error }
