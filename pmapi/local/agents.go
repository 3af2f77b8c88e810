package local

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"sync"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/internal/source"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmns"
)

// Open opens a context on agents of this process; see Agents. Close the context to end the use of
// the agents.
func Open(agents ...pmda.Handler) (*pmapi.Context, error) {
	return (&Agents{Handlers: agents}).Open()
}

// Agents opens contexts on agents of this process. Its fields must not change after the first Open.
// It is safe for concurrent use. All contexts call the agents concurrently, as a collector does.
type Agents struct {
	// Handlers are the agents. If several have the same domain, the first is used.
	Handlers []pmda.Handler
	// Names returns the names of metrics. It is called once, when names are first needed. After an
	// error all requests about names fail with pdu.ErrNoPMNS. Nil means the names that the agents
	// have.
	Names func() (*pmns.Tree, error)
	// Derived holds definitions of derived metrics. A context uses those defined when it is opened.
	// Nil means no derived metrics.
	Derived *pmapi.Derived
	// Labels are the labels of contexts. collector.SystemLabels("/etc/pcp") returns those of the C
	// library.
	Labels collector.ContextLabels
	// Logger gets the log records of agents without a Logger. Nil means slog.Default().
	Logger *slog.Logger

	setup    sync.Once
	invalid  error
	used     []pmda.Handler // the first of each domain
	byDomain map[pdu.Domain]pmda.Handler
	files    func() (*pmns.Tree, error) // calls Names once

	mu      sync.Mutex
	clients uint64 // number of contexts so far
	open    int    // number of open contexts
	release []func()

	naming sync.Mutex
	trees  []*pmns.Tree // of the agents; names is merged from them
	merged *pmns.Tree
}

// Open opens a context. It fails if an agent cannot serve, with the agent's Err, and with
// pdu.ErrArg for a nil Handler. The counterpart of pmNewContext(3) with PM_CONTEXT_LOCAL.
func (a *Agents) Open() (*pmapi.Context, error) {
	a.setup.Do(func() { a.invalid = a.init() })
	if a.invalid != nil {
		return nil, &pmapi.OpError{Op: "open", Host: "local", Err: a.invalid}
	}
	return source.NewContext("local", a.connect(), a.Derived).(*pmapi.Context), nil
}

func (a *Agents) init() error {
	a.byDomain = make(map[pdu.Domain]pmda.Handler, len(a.Handlers))
	for _, h := range a.Handlers {
		if h == nil {
			return errNilHandler
		}
		if err := h.Err(); err != nil {
			return err
		}
		if d := h.Info().Domain; a.byDomain[d] == nil {
			a.byDomain[d] = h
			a.used = append(a.used, h)
		}
	}
	if a.Names != nil {
		a.files = sync.OnceValues(a.Names)
	}
	return nil
}

var errNilHandler = errors.Join(errors.New("the Handler is nil"), pdu.ErrArg)

// connect returns a new source. The first one begins the serving of the agents.
func (a *Agents) connect() *client {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open++; a.open == 1 {
		a.beginServing()
	}
	a.clients++
	c := &client{agents: a, who: pmda.NewClient(uint32(a.clients), a.clients)}
	c.who.PID, c.who.UID, c.who.GID = os.Getpid(), os.Getuid(), os.Getgid()
	for _, h := range a.used {
		h.SetClient(c.who)
	}
	c.request.Client = c.who
	return c
}

// beginServing tells the agents that requests will come.
func (a *Agents) beginServing() {
	log := a.Logger
	if log == nil {
		log = slog.Default()
	}
	for _, h := range a.used {
		if s, ok := pmda.As[pmda.Serving](h); ok {
			a.release = append(a.release, s.BeginServing(log))
		}
	}
}

// disconnect ends a source. The last one ends the serving of the agents.
func (a *Agents) disconnect(c *client) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, h := range a.used {
		h.EndClient(c.who)
	}
	if a.open--; a.open > 0 {
		return
	}
	for _, end := range slices.Backward(a.release) {
		end()
	}
	a.release = nil
}

// handler waits until the agent of a domain is ready and returns it. Without an agent it returns
// pdu.ErrNoAgent.
func (a *Agents) handler(ctx context.Context, d pdu.Domain) (pmda.Handler, error) {
	h := a.byDomain[d]
	if h == nil {
		return nil, pdu.ErrNoAgent
	}
	if r, ok := pmda.As[pmda.Serving](h); ok {
		select {
		case <-r.WhenReady():
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return h, nil
}

func (a *Agents) names() (*pmns.Tree, error) {
	if a.files != nil {
		t, err := a.files()
		if err != nil || t == nil {
			return nil, pdu.ErrNoPMNS
		}
		return t, nil
	}
	var trees []*pmns.Tree
	for _, h := range a.used {
		if t := h.Namespace(); t != nil {
			trees = append(trees, t)
		}
	}
	a.naming.Lock()
	defer a.naming.Unlock()
	if a.merged == nil || !slices.Equal(a.trees, trees) {
		a.merged, _ = pmns.Merge(trees...) // the first of two metrics keeps the name
		a.trees = trees
	}
	return a.merged, nil
}
