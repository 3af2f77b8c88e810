package pmda

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"

	"github.com/pcp-go/pcp/pdu"
)

// A logOnce logs what is wrong with something once: when it begins and when the
// text becomes another, not whenever a client sees it.
type logOnce struct{ last atomic.Pointer[string] }

// isNew reports whether text is to be logged.
func (t *logOnce) isNew(text string) bool {
	if last := t.last.Load(); last != nil && *last == text {
		return false
	}
	now := text // allocates only here
	last := t.last.Swap(&now)
	return last == nil || *last != text
}

// reset forgets the text, since all is well.
func (t *logOnce) reset() {
	if t.last.Load() != nil {
		t.last.Store(nil)
	}
}

// warn logs an error.
func (a *Agent) warn(err error, msg string, at ...slog.Attr) {
	at = append(append([]slog.Attr{slog.String("agent", a.Name)}, at...), slog.Any("err", err))
	a.Log().LogAttrs(context.Background(), slog.LevelWarn, msg, at...)
}

// refreshed logs the failure of a refresh.
func (a *Agent) refreshed(t *logOnce, err error, msg string, of slog.Attr) {
	if err == nil {
		t.reset()
	} else if t.isNew(err.Error()) {
		a.warn(err, msg, of)
	}
}

// panicked logs a panic of a function of a metric.
func (a *Agent) panicked(m *metric, function string, p any) {
	if m.valueLog.isNew(fmt.Sprint("panic in ", function, ": ", p)) {
		a.Log().LogAttrs(context.Background(), slog.LevelError, "agent panicked", slog.String("agent", a.Name),
			slog.String("metric", m.name), slog.String("function", function), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
	}
}

// ordinary reports whether an error of a Value function is for the client alone,
// and no failure to be logged.
func ordinary(err error) bool {
	switch pdu.FromError(err) {
	case pdu.ErrValue, pdu.ErrAppVersion, pdu.ErrPermission, pdu.ErrAgain, pdu.ErrNYI:
		return true
	}
	return false
}

// logValue logs an error that the function of a metric ought not to return, the
// last if there are several.
func (a *Agent) logValue(m *metric, s *set) {
	if !ordinary(s.err) && m.valueLog.isNew(s.err.Error()) {
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

// logStore logs an error that a Store function ought not to return, and makes of
// it one that is not logged again.
func (a *Agent) logStore(m *metric, i pdu.Instance, err error) error {
	if _, ok := errors.AsType[reported](err); ok || ordinary(err) {
		return err
	}
	switch pdu.FromError(err) {
	case pdu.ErrBadStore, pdu.ErrConv, pdu.ErrTrunc, pdu.ErrSign, pdu.ErrType, pdu.ErrInst:
		return err
	}
	if m.storeLog.isNew(err.Error()) {
		a.warn(err, "store failed", m.attrs([]pdu.Instance{i}, i.ID)...)
	}
	return reported{err}
}

// reported is an error that has been logged where most was known of it.
type reported struct{ error }

func (e reported) Unwrap() error { return e.error }
