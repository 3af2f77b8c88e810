package mmv

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/pcp-go/pcp/pdu"
)

// LogHandler registers a counter of log records over an instance domain of levels, and returns a handler that counts the
// records that next handles:
//
//	slog.SetDefault(slog.New(registry.LogHandler("log.records", slog.NewTextHandler(os.Stderr, nil))))
//
// Instances are DEBUG, INFO, WARN and ERROR; a level in between counts as the next lower one, all that are lower as DEBUG.
// Records that next is not Enabled for are not counted; those that it fails to write are. Counting takes no
// lock and allocates nothing.
//
// A nil next means that records are counted, of all levels, and not written.
//
// The handler with which a program starts, slog.Default().Handler(), writes through package log, which writes to the
// default of slog: a handler around it that becomes the default would wait for itself. So it is replaced by one that
// writes the same lines to where package log does now, with the flags and the prefix that package log has now but
// without the file and the line. Attributes that Logger.With has given it before are lost. Within another handler it is
// not recognised.
func (r *Registry) LogHandler(name string, next slog.Handler) slog.Handler {
	levels := r.InDom(name+".level", Domain{Text: "Levels of log records"})
	records := levels.Counter(name, Metric{Text: "Log records by level", Units: pdu.UnitCount})
	if next == nil {
		next = silentHandler{}
	} else if fmt.Sprintf("%T", next) == "*slog.defaultHandler" {
		next = newPlainHandler(next)
	}
	h := &logHandler{Handler: next}
	for i, level := range logLevels {
		levels.Add(Instance{ID: new(pdu.InstID(i)), Name: level.String()})
		h.counts[i] = records.With(level.String())
	}
	return h
}

var logLevels = [...]slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError}

// A logHandler counts records.
type logHandler struct {
	slog.Handler
	counts [len(logLevels)]*Counter
}

// Handle counts a record.
func (h *logHandler) Handle(ctx context.Context, r slog.Record) error {
	i := len(logLevels) - 1
	for i > 0 && r.Level < logLevels[i] {
		i--
	}
	h.counts[i].Inc()
	return h.Handler.Handle(ctx, r)
}

// WithAttrs is a handler with more attributes, which counts alike.
func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &logHandler{h.Handler.WithAttrs(attrs), h.counts}
}

// WithGroup is a handler with a group, which counts alike.
func (h *logHandler) WithGroup(name string) slog.Handler {
	return &logHandler{h.Handler.WithGroup(name), h.counts}
}
