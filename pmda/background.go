package pmda

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

// backgroundLimit limits how long the end of serving waits for Background functions, because a
// program whose collector has gone must end.
const backgroundLimit = 2 * time.Second

// Background adds a function that runs in a separate goroutine while the Agent is served: from the
// start of the first Serve, Main or collector to the end of the last. Then ctx ends, and the last
// of them waits up to 2 seconds until f returns. When the Agent is served again, f is called again,
// but never while an earlier call runs. A panic is logged. remove ends the ctx of f and removes f;
// it does not wait until f returns.
func (a *Agent) Background(f func(ctx context.Context)) (remove func()) {
	b := &a.background
	b.mu.Lock()
	defer b.mu.Unlock()
	j := &job{f: f}
	b.jobs = append(b.jobs, j)
	if b.serving > 0 {
		j.start(a)
	}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.jobs = slices.DeleteFunc(b.jobs, func(other *job) bool { return other == j })
		j.stop()
	}
}

// BeginServing starts the Background functions, unless the Agent is already served. A collector
// calls BeginServing when it starts to serve the Agent, and calls end when it stops. Until then, an
// Agent without a Logger logs to log, too, unless log is nil.
func (a *Agent) BeginServing(log *slog.Logger) (end func()) {
	removeLogger := func() {}
	if log != nil {
		removeLogger = a.logs.add(log)
	}
	b := &a.background
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.serving++; b.serving == 1 {
		for _, j := range b.jobs {
			j.start(a)
		}
	}
	return sync.OnceFunc(func() {
		b.endServing(a)
		removeLogger()
	})
}

// background has the Background functions of an Agent.
type background struct {
	mu      sync.Mutex
	serving int // how many calls of BeginServing have not ended
	jobs    []*job
}

func (b *background) endServing(a *Agent) {
	var runs []<-chan struct{}
	b.mu.Lock()
	if b.serving--; b.serving == 0 {
		for _, j := range b.jobs {
			j.stop()
			runs = append(runs, j.done)
		}
	}
	b.mu.Unlock()
	limit, cancel := context.WithTimeout(context.Background(), backgroundLimit)
	defer cancel()
	for _, done := range runs {
		select {
		case <-done:
		case <-limit.Done():
			a.warn(errors.New("it ignores the end of its ctx"), "a background function still runs")
			return
		}
	}
}

// isServed reports whether something serves the Agent.
func (a *Agent) isServed() bool {
	a.background.mu.Lock()
	defer a.background.mu.Unlock()
	return a.background.serving > 0
}

// A job is a Background function.
type job struct {
	f      func(context.Context)
	cancel context.CancelFunc // of the latest run; nil if there was none
	done   chan struct{}      // closed when that run has ended
}

// start begins a run. It waits for the previous run, which may not have returned yet.
func (j *job) start(a *Agent) {
	ctx, cancel := context.WithCancel(context.Background())
	before, done := j.done, make(chan struct{})
	j.cancel, j.done = cancel, done
	go func() {
		defer close(done)
		defer cancel()
		if before != nil {
			<-before
		}
		if ctx.Err() == nil {
			defer func() { a.logPanic(recover(), "Background") }()
			j.f(ctx)
		}
	}()
}

// stop ends the run, without waiting for it.
func (j *job) stop() {
	if j.cancel != nil {
		j.cancel()
	}
}

// beginServing calls BeginServing if the Handler has it.
func beginServing(h Handler) (end func()) {
	if s, ok := As[Serving](h); ok {
		return s.BeginServing(nil)
	}
	return func() {}
}

// logPanic logs the panic p, and reports whether there was one.
func (a *Agent) logPanic(p any, function string) bool {
	if p != nil {
		a.limitedLog().LogAttrs(context.Background(), slog.LevelError, "agent panicked", slog.String("agent", a.Name),
			slog.String("function", function), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
	}
	return p != nil
}
