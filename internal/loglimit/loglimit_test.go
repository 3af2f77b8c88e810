package loglimit_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/loglimit"
	"github.com/pcp-go/pcp/internal/pcptest"
)

// take returns the lines that were written since the last call.
func take(b *pcptest.LogBuffer) []string {
	lines := strings.Split(strings.TrimSuffix(b.Take(), "\n"), "\n")
	if lines[0] == "" {
		return nil
	}
	return lines
}

// newLog is a limited log, and where it writes to, without times.
func newLog() (*slog.Logger, *pcptest.LogBuffer) {
	out := new(pcptest.LogBuffer)
	return loglimit.New(out.Logger(slog.LevelDebug)), out
}

// refuse logs that a client was refused, as a collector does.
func refuse(l *slog.Logger, port int) {
	l.LogAttrs(context.Background(), slog.LevelWarn, "refused", slog.Any("addr", &net.TCPAddr{Port: port}),
		slog.Int("client", port), slog.Any("err", fmt.Errorf("bad length %d", port)))
}

// TestBurst logs 100 lines a second of one reason for 150 seconds: the first 10 lines
// come at once, then one with each count.
func TestBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, out := newLog()
		for i := range 15_000 {
			refuse(l, i)
			time.Sleep(10 * time.Millisecond)
		}
		line := func(i int) string {
			return fmt.Sprintf(`level=WARN msg=refused addr=:%d client=%d err="bad length %d"`, i, i, i)
		}
		var want []string
		for i := range 10 {
			want = append(want, line(i))
		}
		got := take(out)
		if diff := cmp.Diff(want, got[:min(len(got), 10)]); diff != "" {
			t.Fatalf("the first lines (-want +got):\n%s", diff)
		}
		if got = got[10:]; len(got) != 4 {
			t.Errorf("then %d lines, want two counts and a line after each:\n%s", len(got), strings.Join(got, "\n"))
		}
		time.Sleep(2 * time.Minute)
		got = append(got, take(out)...)
		total := 10
		for _, l := range got {
			var n int
			if _, count, ok := strings.Cut(l, `msg="refused: `); !ok {
				n = 1
			} else if _, err := fmt.Sscanf(count, `%d more of this kind in the last 60 s" err="bad length 0"`, &n); err != nil {
				t.Errorf("%s: %v", l, err)
			}
			total += n
		}
		if len(got) != 5 || total != 15_000 {
			t.Errorf("%d lines were written or counted, want 15,000:\n%s", total, strings.Join(got, "\n"))
		}
		for i := range 11 {
			refuse(l, i)
		}
		if got := len(take(out)); got != 10 {
			t.Errorf("%d lines after a pause, want 10", got)
		}
	})
}

// TestReasons: reasons do not silence each other.
func TestReasons(t *testing.T) {
	oops := errors.New("oops")
	lines := []struct {
		name string
		log  func(l *slog.Logger, i int)
	}{
		{"level", func(l *slog.Logger, i int) { l.Error("m", "agent", "a", "n", i) }},
		{"message", func(l *slog.Logger, i int) { l.Warn("other", "agent", "a", "n", i) }},
		{"agent", func(l *slog.Logger, i int) { l.Warn("m", "agent", "b", "n", i) }},
		{"agent with a number", func(l *slog.Logger, i int) { l.Warn("m", "agent", "b1", "n", i) }},
		{"agent with another number", func(l *slog.Logger, i int) { l.Warn("m", "agent", "b2", "n", i) }},
		{"key", func(l *slog.Logger, i int) { l.Warn("m", "metric", "b", "n", i) }},
		{"error", func(l *slog.Logger, i int) { l.Warn("m", "agent", "a", "err", oops, "n", i) }},
		{"error of numbers", func(l *slog.Logger, i int) {
			l.Warn("m", "agent", "a", "err", fmt.Errorf("port %d, type %#x of %q", i, i, strings.Repeat("x", i)), "n", i)
		}},
		{"error as text", func(l *slog.Logger, i int) {
			l.Warn("m", "agent", "c", "err", fmt.Sprintf("PDU %#x: %q", 10*i, fmt.Sprint(i)), "n", i)
		}},
		{"text that is not closed", func(l *slog.Logger, i int) { l.Warn("m", "err", fmt.Sprintf(`a "%c`, 'a'+i), "n", i) }},
		{"stack", func(l *slog.Logger, i int) { l.Warn("m", "panic", i, "stack", string(rune('a'+i)), "n", i) }},
		{"message of numbers", func(l *slog.Logger, i int) { l.Warn(fmt.Sprintf("at 12:00:%d", i), "n", i) }},
		{"with", func(l *slog.Logger, i int) { l.With("agent", "d").Warn("m", "n", i) }},
		{"with another", func(l *slog.Logger, i int) { l.With("agent", "e").Warn("m", "n", i) }},
		{"group", func(l *slog.Logger, i int) { l.WithGroup("g").Warn("m", "n", i) }},
	}
	synctest.Test(t, func(t *testing.T) {
		l, out := newLog()
		for range 12 {
			l.Warn("m", "agent", "a", "n", 0)
		}
		take(out)
		for _, tt := range lines {
			for i := range 12 {
				tt.log(l, i)
			}
			if got := take(out); len(got) != 10 {
				t.Errorf("%s: %d lines of 12, want 10:\n%s", tt.name, len(got), strings.Join(got, "\n"))
			}
		}
		loglimit.Flush(l)
		got := strings.Join(take(out), "\n")
		if n := strings.Count(got, ": 2 more of this kind in the last 1 s"); n != len(lines)+1 {
			t.Errorf("%d counts, want %d:\n%s", n, len(lines)+1, got)
		}
		for _, want := range []string{
			`msg="m: 2 more of this kind in the last 1 s" agent=b` + "\n",
			`msg="m: 2 more of this kind in the last 1 s" agent=d` + "\n",
		} {
			if !strings.Contains(got+"\n", want) {
				t.Errorf("no line %q in\n%s", want, got)
			}
		}
		time.Sleep(2 * time.Minute)
		if got := take(out); got != nil {
			t.Errorf("after the counts: %q", got)
		}
	})
}

// TestManyReasons: the first of each of many reasons are written, and a flood of
// reasons without end is limited nevertheless.
func TestManyReasons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, out := newLog()
		letters := func(i int) string {
			return strings.Map(func(r rune) rune { return r - '0' + 'a' }, fmt.Sprint(i))
		}
		for i := range 200 {
			l.Warn("no value", "metric", letters(i))
		}
		if got := len(take(out)); got != 200 {
			t.Errorf("%d lines of 200 reasons", got)
		}
		for i := range 3_000 {
			l.Warn("bad name", "name", letters(i))
		}
		if got := len(take(out)); got > 100 {
			t.Errorf("%d lines of 3,000 reasons, want fewer than 100", got)
		}
		for i := range 3_000 {
			l.Warn("message " + letters(i))
		}
		if got := len(take(out)); got > 300 {
			t.Errorf("%d lines of 3,000 messages, want fewer than 300", got)
		}
		time.Sleep(2 * time.Minute)
		take(out)
		l.Warn("another message")
		if got := take(out); len(got) != 1 {
			t.Errorf("another message: %q", got)
		}
		time.Sleep(2 * time.Minute)
		take(out)
		for i := range 200 {
			l.Warn("no value", "metric", letters(1000+i))
		}
		if got := len(take(out)); got != 200 {
			t.Errorf("%d lines of 200 reasons two minutes later", got)
		}
	})
}

// TestDebug: a trace that was asked for is whole.
func TestDebug(t *testing.T) {
	l, out := newLog()
	for range 100 {
		l.Debug("PDU")
	}
	if got := len(take(out)); got != 100 {
		t.Errorf("%d lines, want 100", got)
	}
}

// TestNew: a log is limited once.
func TestNew(t *testing.T) {
	l, _ := newLog()
	for _, again := range []*slog.Logger{l, l.With("a", 1), l.WithGroup("g")} {
		if loglimit.New(again) != again {
			t.Errorf("New of %v is another", again)
		}
	}
	loglimit.Flush(slog.New(slog.DiscardHandler))
}

// TestAllocs: a line that is left out allocates nothing but its arguments.
func TestAllocs(t *testing.T) {
	out := new(pcptest.LogBuffer)
	l := loglimit.New(slog.New(slog.NewTextHandler(out, nil)))
	err := errors.New("bad length 7 of \"x\"")
	addr := &net.TCPAddr{Port: 7}
	if n := testing.AllocsPerRun(1000, func() {
		l.LogAttrs(context.Background(), slog.LevelWarn, "client closed", slog.Any("addr", addr), slog.Uint64("client", 7),
			slog.String("agent", "a"), slog.Any("err", err))
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
	if got := len(take(out)); got != 10 {
		t.Errorf("%d lines", got)
	}
	loglimit.Flush(l)
}

// TestConcurrent loses no line: each is written or counted.
func TestConcurrent(t *testing.T) {
	l, out := newLog()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 1000 {
				refuse(l, i)
				if i%100 == 0 {
					loglimit.Flush(l)
				}
			}
		})
	}
	wg.Wait()
	loglimit.Flush(l)
	total := 0
	for _, line := range take(out) {
		var n int
		if _, count, ok := strings.Cut(line, "refused: "); ok {
			if _, err := fmt.Sscanf(count, "%d more", &n); err != nil {
				t.Error(err, line)
			}
			total += n
		} else {
			total++
		}
	}
	if total != 4000 {
		t.Errorf("%d lines were written or counted, want 4000", total)
	}
}

func BenchmarkLeftOut(b *testing.B) {
	l := loglimit.New(slog.New(slog.NewTextHandler(new(pcptest.LogBuffer), nil)))
	err := errors.New("bad length 7 of \"x\"")
	b.ReportAllocs()
	for b.Loop() {
		l.LogAttrs(context.Background(), slog.LevelWarn, "client closed", slog.Uint64("client", 7), slog.Any("err", err))
	}
	loglimit.Flush(l)
}
