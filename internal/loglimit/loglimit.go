// Package loglimit limits how often a log says the same thing, so that neither a client that is
// refused 10,000 times a second nor an agent that dies and comes back can fill a disk. It counts
// the lines that it omits, and logs the count.
package loglimit

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// burst is how many lines of one reason are written in the first window.
	burst = 10
	// window is the period for counting lines of one reason. After a window with omitted lines,
	// their number is written, and one line is written in the next.
	window = time.Minute
	// maxReasons is the number of separate reasons in a window. Further lines are limited by their
	// message alone, and after as many messages again all together.
	maxReasons = 256
	// maxText is how many bytes of each text belong to the reason.
	maxText = 256
)

// New returns a Logger that writes to l and limits how often it writes lines of the same reason. It
// writes 10 at once, and then one a minute, with the number of omitted lines. The reason is the
// level, the message, and the texts and errors among the attributes; in errors numbers and quoted
// text do not count. Lines below slog.LevelInfo are all written. If l was made by New or derived
// from such a Logger, New returns l.
//
// At the end of a program, Flush writes the counts that were not written yet.
func New(l *slog.Logger) *slog.Logger {
	if _, ok := l.Handler().(*handler); ok {
		return l
	}
	return slog.New(&handler{out: l.Handler(), limiter: newLimiter()})
}

// Flush writes how many lines were left out so far by a Logger that New has made. It
// does nothing for other Loggers.
func Flush(l *slog.Logger) {
	if h, ok := l.Handler().(*handler); ok {
		h.limiter.flush()
	}
}

// A handler passes on the records that its limiter lets through. Those that derive
// from one share the limiter.
type handler struct {
	out     slog.Handler
	with    string // of the reason: the attributes and groups of With and WithGroup
	limiter *limiter
}

func (h *handler) Enabled(ctx context.Context, l slog.Level) bool { return h.out.Enabled(ctx, l) }

func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelInfo && !h.limiter.admit(h, &r) {
		return nil
	}
	return h.out.Handle(ctx, r)
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := h.with
	for _, a := range attrs {
		with += fmt.Sprintf(" %v", a)
	}
	return &handler{h.out.WithAttrs(attrs), with, h.limiter}
}

func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{h.out.WithGroup(name), h.with + " " + name, h.limiter}
}

// A limiter counts lines by their reason.
type limiter struct {
	hashing

	mu      sync.Mutex
	reasons map[uint64]*reason // by hash
	timer   *time.Timer        // running while lines were left out that are not counted in the log; else nil
}

// A reason is the common part of lines.
type reason struct {
	out     slog.Handler // of the first line
	summary slog.Record  // the part of the first line that belongs to the reason
	start   time.Time    // of the window
	room    int          // for so many lines in the window
	omitted int          // lines that were left out
}

func newLimiter() *limiter {
	return &limiter{hashing: newHashing(), reasons: map[uint64]*reason{}}
}

// admit reports whether to write a line, and counts it if not.
func (l *limiter) admit(h *handler, r *slog.Record) bool {
	hash := l.hash(h, r)
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	why := l.reasons[hash]
	if why == nil && len(l.reasons) >= maxReasons {
		l.expire(now)
		switch {
		case len(l.reasons) >= 2*maxReasons:
			hash = 0
		case len(l.reasons) >= maxReasons:
			hash = l.hashMessage(r)
		}
		why = l.reasons[hash]
	}
	if why == nil {
		why = &reason{out: h.out, summary: summarize(r), start: now, room: burst}
		l.reasons[hash] = why
	}
	if why.omitted == 0 && now.Sub(why.start) >= window {
		why.start, why.room = now, burst
	}
	if why.room > 0 {
		why.room--
		return true
	}
	why.omitted++
	if l.timer == nil {
		l.timer = time.AfterFunc(window-now.Sub(why.start), l.report)
	}
	return false
}

// expire forgets the reasons without omitted lines whose window is over.
func (l *limiter) expire(now time.Time) {
	for hash, why := range l.reasons {
		if why.omitted == 0 && now.Sub(why.start) >= window {
			delete(l.reasons, hash)
		}
	}
}

// report writes the counts at the end of a window.
func (l *limiter) report() {
	l.mu.Lock()
	l.timer = nil
	l.mu.Unlock()
	l.flush()
}

// flush writes the counts of the omitted lines, and forgets the reasons without recent lines.
func (l *limiter) flush() {
	now := time.Now()
	var counts []slog.Record
	var outs []slog.Handler
	l.mu.Lock()
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
	l.expire(now)
	for _, why := range slices.SortedFunc(maps.Values(l.reasons), func(a, b *reason) int { return a.start.Compare(b.start) }) {
		if why.omitted > 0 {
			counts, outs = append(counts, why.count(now)), append(outs, why.out)
			why.start, why.room, why.omitted = now, 1, 0
		}
	}
	l.mu.Unlock()
	for i, r := range counts {
		outs[i].Handle(context.Background(), r) // a log that cannot be written is nothing to log
	}
}

// count is the line that says how many lines were left out.
func (w *reason) count(now time.Time) slog.Record {
	over := max(now.Sub(w.start).Round(time.Second), time.Second)
	r := w.summary.Clone()
	r.Time = now
	r.Message = fmt.Sprintf("%s: %d more of this kind in the last %d s", r.Message, w.omitted, over/time.Second)
	return r
}

// summarize is the part of a record that belongs to its reason. Of a message of several
// lines that is the first one.
func summarize(r *slog.Record) slog.Record {
	message, _, _ := strings.Cut(strings.TrimSpace(r.Message), "\n")
	s := slog.NewRecord(r.Time, r.Level, message, r.PC)
	r.Attrs(func(a slog.Attr) bool {
		if _, part := reasonText(a); part != notOfReason {
			s.AddAttrs(a)
		}
		return true
	})
	return s
}
