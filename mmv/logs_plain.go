package mmv

import (
	"context"
	"log"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"time"
)

// A silentHandler accepts all records and discards them.
type silentHandler struct{}

func (silentHandler) Enabled(context.Context, slog.Level) bool  { return true }
func (silentHandler) Handle(context.Context, slog.Record) error { return nil }
func (h silentHandler) WithAttrs([]slog.Attr) slog.Handler      { return h }
func (h silentHandler) WithGroup(string) slog.Handler           { return h }

// A plainHandler writes lines such as "2026/01/02 15:04:05 INFO ordered product=Anvils". The
// initial handler of package slog does the same, but through the logger of package log.
type plainHandler struct {
	first slog.Handler // the initial handler; it knows which levels are enabled
	text  slog.Handler // writes to a plainWriter
}

// newPlainHandler returns a handler that writes to where package log does now.
func newPlainHandler(first slog.Handler) *plainHandler {
	out := log.New(log.Writer(), log.Prefix(), log.Flags()&^(log.Lshortfile|log.Llongfile))
	return &plainHandler{first, slog.NewTextHandler(plainWriter{out}, &slog.HandlerOptions{
		Level: slog.Level(math.MinInt),
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && a.Key == slog.LevelKey && a.Value.Any() == any(noLevel) {
				return slog.Attr{}
			}
			return a
		},
	})}
}

// noLevel is the level of records whose message contains their level.
const noLevel = slog.Level(math.MinInt)

// Enabled calls Enabled of the first handler, which obeys slog.SetLogLoggerLevel.
func (h *plainHandler) Enabled(ctx context.Context, l slog.Level) bool {
	return h.first.Enabled(ctx, l)
}

// Handle writes a record.
func (h *plainHandler) Handle(ctx context.Context, r slog.Record) error {
	plain := slog.NewRecord(time.Time{}, noLevel, r.Level.String()+" "+r.Message, 0)
	r.Attrs(func(a slog.Attr) bool {
		plain.AddAttrs(a)
		return true
	})
	return h.text.Handle(ctx, plain)
}

// WithAttrs is a handler with more attributes.
func (h *plainHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &plainHandler{h.first, h.text.WithAttrs(attrs)}
}

// WithGroup is a handler with a group.
func (h *plainHandler) WithGroup(name string) slog.Handler {
	return &plainHandler{h.first, h.text.WithGroup(name)}
}

// A plainWriter writes lines of a TextHandler without their first key and its quotes. Such a line
// begins with msg="LEVEL MESSAGE", because the handler quotes text with spaces.
type plainWriter struct{ log *log.Logger }

// Write writes a line.
func (w plainWriter) Write(p []byte) (int, error) {
	line := strings.TrimPrefix(string(p), slog.MessageKey+"=")
	quoted, err := strconv.QuotedPrefix(line)
	if err != nil {
		return 0, err
	}
	message, err := strconv.Unquote(quoted)
	if err != nil {
		return 0, err
	}
	return len(p), w.log.Output(0, message+line[len(quoted):])
}
