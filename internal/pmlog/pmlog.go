// Package pmlog writes logs in the form of PCP's daemons, and knows the names of their debug
// options.
package pmlog

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// LevelCritical is the level of errors that end a daemon. The other levels are slog's.
const LevelCritical slog.Level = 12

// New returns a logger whose lines have the form of pmNotifyErr(3),
//
//	[Sat Nov 21 08:26:37] pmdasimple(26055) Warning: no such file path=/x
//
// Attributes follow the message. Each line is one call of w.Write. Lines below level least are
// dropped.
func New(w io.Writer, program string, least slog.Leveler) *slog.Logger {
	return slog.New(&handler{out: &output{w: w}, program: program, least: least})
}

type output struct {
	mu sync.Mutex
	w  io.Writer
}

type handler struct {
	out     *output
	program string
	least   slog.Leveler
	prefix  string // of keys: the groups
	attrs   string // the attributes of With, as they are printed
}

func (h *handler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.least.Level() }

func (h *handler) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	t := r.Time
	if t.IsZero() {
		t = time.Now()
	}
	fmt.Fprintf(&b, "[%s] %s(%d) %s: %s%s", t.Local().Format("Mon Jan _2 15:04:05"), h.program, os.Getpid(), levelName(r.Level), r.Message, h.attrs)
	r.Attrs(func(a slog.Attr) bool {
		appendAttr(&b, h.prefix, a)
		return true
	})
	b.WriteByte('\n')
	h.out.mu.Lock()
	defer h.out.mu.Unlock()
	_, err := io.WriteString(h.out.w, b.String())
	return err
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	var b strings.Builder
	b.WriteString(h.attrs)
	for _, a := range attrs {
		appendAttr(&b, h.prefix, a)
	}
	q := *h
	q.attrs = b.String()
	return &q
}

func (h *handler) WithGroup(name string) slog.Handler {
	q := *h
	if name != "" {
		q.prefix += name + "."
	}
	return &q
}

func levelName(l slog.Level) string {
	switch {
	case l < slog.LevelInfo:
		return "Debug"
	case l < slog.LevelWarn:
		return "Info"
	case l < slog.LevelError:
		return "Warning"
	case l < LevelCritical:
		return "Error"
	}
	return "Critical"
}

func appendAttr(b *strings.Builder, prefix string, a slog.Attr) {
	v := a.Value.Resolve()
	if v.Kind() == slog.KindGroup {
		if a.Key != "" {
			prefix += a.Key + "."
		}
		for _, a := range v.Group() {
			appendAttr(b, prefix, a)
		}
		return
	}
	if a.Key == "" {
		return
	}
	s := v.String()
	// A stack is easier to read as it is. All else stays in its line, as it may be from a peer.
	if a.Key != "stack" && (s == "" || strings.ContainsFunc(s, needsQuote)) {
		s = strconv.Quote(s)
	}
	fmt.Fprintf(b, " %s%s=%s", prefix, a.Key, s)
}

func needsQuote(r rune) bool { return r <= ' ' || r == '"' || r == '=' || 0x7f <= r && r <= 0x9f }
