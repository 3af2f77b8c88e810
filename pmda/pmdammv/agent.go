package pmdammv

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pcp-go/pcp/internal/ctxwait"
	"github.com/pcp-go/pcp/internal/loglimit"
	"github.com/pcp-go/pcp/mmv"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// Domain is the domain of PCP's MMV agent. Name is its name, and the root of its metrics.
const (
	Domain pdu.Domain = 70
	Name              = "mmv"
)

// PMProxyDomain and PMProxyName are the domain and name of PCP's MMV agent for the metrics of
// pmproxy. Its files are in a separate directory, $PCP_TMP_DIR/pmproxy.
const (
	PMProxyDomain pdu.Domain = 4
	PMProxyName              = "pmproxy"
)

// Options configure an agent. With the zero Options it serves no files and no Registries.
type Options struct {
	// Dir is the directory of the files, such as /var/lib/pcp/tmp/mmv. It may be missing. Empty
	// means no files.
	Dir string
	// Registries are served as if each had written a file with its Name into the directory. Two
	// registries with the same Name are served together, like two files with the same cluster.
	Registries []*mmv.Registry
	// Name is the agent's name and the root of its metrics. Empty means the constant Name.
	Name string
	// Domain is the domain of the agent. Zero means the constant Domain.
	Domain pdu.Domain
	// Logger logs which files are not served, and why. See pmda.Agent.Logger for the meaning of
	// nil.
	Logger *slog.Logger
}

// New returns an agent. Its Err reports invalid options, and collectors then refuse the agent.
func New(o Options) *pmda.Agent { return newAgent(o, defaultLimits).Agent }

// Of returns an agent that serves Registries of this program and no files.
func Of(registries ...*mmv.Registry) *pmda.Agent { return New(Options{Registries: registries}) }

func newAgent(o Options, l limits) *agent {
	if o.Name == "" {
		o.Name = Name
	}
	if o.Domain == 0 {
		o.Domain = Domain
	}
	a := &agent{
		Agent:      &pmda.Agent{Name: o.Name, Domain: o.Domain, Logger: o.Logger},
		limits:     l,
		registries: o.Registries,
		turn:       ctxwait.NewMutex(),
	}
	if o.Dir != "" {
		a.dir = newDirectory(o.Dir, l)
	}
	a.AddDynamic(o.Name)
	a.Use(func(next pmda.Handler) pmda.Handler { return handler{next, a} })
	return a
}

// An agent is a pmda.Agent that serves files and Registries.
type agent struct {
	*pmda.Agent
	limits     limits
	registries []*mmv.Registry

	snap    atomic.Pointer[snapshot] // nil before the first request
	reload  atomic.Bool              // read everything again
	debug   atomic.Int32             // mmv.control.debug
	next    atomic.Uint32            // where the next check of some entries starts
	checked atomic.Int64             // before that time, in ns since 1970, fresh checks nothing
	fetches sync.Pool                // of *fetch

	// turn guards what follows.
	turn    ctxwait.Mutex
	dir     *directory // nil without a directory
	regs    []*entry   // of registries; nil before the first scan
	limited struct{ of, log *slog.Logger }
}

// A handler wraps the Handler of the pmda.Agent, which has only the root of the names.
type handler struct {
	pmda.Handler
	a *agent
}

// Err returns an error for a nil Registry, which would panic in every request.
func (h handler) Err() error {
	if i := slices.Index(h.a.registries, nil); i >= 0 {
		return fmt.Errorf("pmdammv: Registry %d of %d is nil", i+1, len(h.a.registries))
	}
	return h.Handler.Err()
}

// Unwrap returns the wrapped Handler.
func (h handler) Unwrap() pmda.Handler { return h.Handler }

// log returns the agent's log with a limit for equal lines. The caller holds the lock.
func (a *agent) log() *slog.Logger {
	if log := a.Log(); a.limited.of != log {
		a.limited.of, a.limited.log = log, loglimit.New(log.With(slog.String("agent", a.Name)))
	}
	return a.limited.log
}

// Each request checks for changes, as in C agents: of the directory with one stat, and of each file
// with a small read. With many files those reads would take most of the time. So a request checks
// only some files, in turn, and a fetch also checks the files that it reads. A request about all
// files, or for an unknown metric, checks all of them. Such requests come in large numbers, so the
// check is not repeated immediately.
const (
	checkSome  = 32                     // files, for most requests
	longCheck  = 200 * time.Microsecond // a longer check of more files is not repeated immediately
	checkShare = 8                      // but after that many times its duration
)

// recent returns a recent snapshot. With few files it is up to date. recent does not allocate if
// nothing has changed.
func (a *agent) recent(ctx context.Context) (*snapshot, error) {
	s := a.snap.Load()
	if s == nil || a.reload.Load() || a.dir != nil && a.dir.changed() {
		return a.scan(ctx, s)
	}
	all := s.entries
	n, from := len(all), 0
	if n > checkSome {
		from = int(a.next.Add(checkSome) % uint32(n))
		n = checkSome
	}
	for i := range n {
		if all[(from+i)%len(all)].changed() {
			return a.scan(ctx, s)
		}
	}
	return s, nil
}

// find calls look with a recent snapshot. If look fails, find calls it again with a fresh one. It
// returns the error of look.
func (a *agent) find(ctx context.Context, look func(s *snapshot) error) error {
	s, err := a.recent(ctx)
	if err != nil {
		return err
	}
	if err = look(s); err == nil || len(s.entries) <= checkSome {
		return err
	}
	if s, err = a.fresh(ctx); err != nil {
		return err
	}
	return look(s)
}

// fresh returns a snapshot that is up to date, or that was a moment ago.
func (a *agent) fresh(ctx context.Context) (*snapshot, error) {
	s := a.snap.Load()
	now := time.Now()
	if s == nil || a.reload.Load() {
		return a.scan(ctx, s)
	}
	if now.UnixNano() < a.checked.Load() {
		return s, nil
	}
	if a.dir != nil && a.dir.changed() || anyChanged(s.entries) {
		return a.scan(ctx, s)
	}
	// A check of few files takes long only if the system is busy.
	if took := time.Since(now); took > longCheck && len(s.entries) > checkSome {
		a.checked.Store(now.Add((1 + checkShare) * took).UnixNano())
	}
	return s, nil
}

func anyChanged(entries []*entry) bool {
	for _, e := range entries {
		if e.changed() {
			return true
		}
	}
	return false
}

// scan reads the changes since an old snapshot and returns a new one. If another goroutine has
// already replaced the old one, scan returns the replacement.
func (a *agent) scan(ctx context.Context, old *snapshot) (*snapshot, error) {
	if err := a.turn.Lock(ctx); err != nil {
		return nil, err
	}
	defer a.turn.Unlock()
	if s := a.snap.Load(); s != old {
		return s, nil
	}
	log := a.log()
	force := a.reload.Swap(false)
	entries := a.scanRegistries(force, log)
	if a.dir != nil {
		entries = mergeEntries(entries, a.dir.scan(force, log))
	}
	if old != nil && slices.Equal(old.entries, entries) {
		return old, nil
	}
	s := newSnapshot(a.Name, a.Domain, entries, a.limits.metrics, log)
	a.snap.Store(s)
	if old != nil {
		a.Notify(old.difference(s))
	}
	return s, nil
}
