package pmda

import (
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/pcp-go/pcp/internal/loglimit"
)

// agentLogs are the logs of the collectors that serve an Agent.
type agentLogs struct {
	current atomic.Pointer[slog.Logger] // writes to all logs; nil without logs
	limited atomic.Pointer[slog.Logger] // the same, with a limit on each of them
	news    atomic.Uint64               // counts the calls of add with a log that was not in all

	mu  sync.Mutex
	all []*slog.Logger // contains a log as often as it was added
}

func (g *agentLogs) add(l *slog.Logger) (remove func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !slices.Contains(g.all, l) {
		defer g.news.Add(1)
	}
	g.all = append(g.all, l)
	g.changedLocked()
	return sync.OnceFunc(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		i := slices.Index(g.all, l)
		g.all = slices.Delete(g.all, i, i+1)
		g.changedLocked()
	})
}

func (g *agentLogs) changedLocked() {
	var different []*slog.Logger
	var handlers, limited []slog.Handler
	for _, l := range g.all {
		if !slices.Contains(different, l) {
			different = append(different, l)
			handlers = append(handlers, l.Handler())
			limited = append(limited, loglimit.New(l).Handler())
		}
	}
	switch len(different) {
	case 0:
		g.current.Store(nil)
		g.limited.Store(nil)
	case 1:
		g.current.Store(different[0])
		g.limited.Store(slog.New(limited[0]))
	default:
		g.current.Store(slog.New(slog.NewMultiHandler(handlers...)))
		g.limited.Store(slog.New(slog.NewMultiHandler(limited...)))
	}
}

func (g *agentLogs) logger() *slog.Logger {
	if l := g.current.Load(); l != nil {
		return l
	}
	return slog.Default()
}
