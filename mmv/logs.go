package mmv

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/pcp-go/pcp/pdu"
)

// LogHandler registers a counter of log records with an instance for each level. It returns a
// handler that counts the records that next handles:
//
//	handler := slog.NewTextHandler(os.Stderr, nil)
//	slog.SetDefault(slog.New(registry.LogHandler("log.records", handler)))
//
// The instances are DEBUG, INFO, WARN and ERROR. A level between two of them counts as the lower
// one, and a level below DEBUG as DEBUG. Records are counted if next is Enabled for them, even if
// next fails to write them. Counting takes no lock and allocates nothing.
//
// If next is nil, records of all levels are counted and not written.
//
// The initial handler of a program, slog.Default().Handler(), writes through package log, which
// writes to the default of slog. A handler that wraps it and becomes the default would deadlock.
// LogHandler therefore replaces it by a handler that writes the same lines to the current output
// of package log, with its current flags and prefix but without file and line. Attributes that
// Logger.With has added to it are lost. LogHandler does not recognise it inside another handler.
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
