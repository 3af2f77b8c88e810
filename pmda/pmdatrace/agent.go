package pmdatrace

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pcp-go/pcp/internal/connlimit"
	"github.com/pcp-go/pcp/internal/loglimit"
	"github.com/pcp-go/pcp/internal/tracewire"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/access"
)

// An Agent receives what applications send to the listeners of Serve and exports it through PMDA.
// It is safe for concurrent use.
type Agent struct {
	PMDA *pmda.Agent // the agent for a collector; do not replace it

	err     error       // of the Options
	metrics []tagMetric // by item; put is nil in unused entries
	access  *access.Control
	pid     int32

	port  atomic.Uint32 // for trace.control.port
	debug atomic.Int32
	log   atomic.Pointer[limitedLog]

	conns connlimit.Conns // of clients

	mu    sync.Mutex // guards what follows
	table *table
}

// noLabels are the labels of the agent. PCP's agent has no labels, and archives tell metrics apart
// by their labels.
const noLabels = "{}"

// New returns an agent. Its period begins now. Err of its PMDA reports invalid options, and Serve
// and collectors then refuse the agent.
func New(o Options) *Agent {
	err := o.complete()
	if err != nil {
		o.Period, o.Buckets = defaultPeriod, defaultBuckets // unused, because of Err
	}
	a := &Agent{
		PMDA:    &pmda.Agent{Name: "trace", Domain: o.Domain, DomainLabels: noLabels, Logger: o.Logger},
		err:     err,
		metrics: tagMetrics(&o),
		access:  access.New(o.Access),
		pid:     int32(os.Getpid()),
		table:   newTable(&o),
		conns:   connlimit.Conns{Max: o.limits().clients, IdleTime: idleTime},
	}
	a.register(&o)
	a.PMDA.Use(func(next pmda.Handler) pmda.Handler { return &handler{next, a} })
	return a
}

// A limitedLog is a log with a limit for equal lines.
type limitedLog struct{ of, log *slog.Logger }

// limitedLog returns the Log with a limit for equal lines.
func (a *Agent) limitedLog() *slog.Logger {
	log := a.PMDA.Log()
	if l := a.log.Load(); l != nil && l.of == log {
		return l.log
	}
	l := &limitedLog{log, loglimit.New(log)}
	a.log.Store(l)
	return l.log
}

// A handler wraps the Handler of the tables, and replies for the tags.
type handler struct {
	pmda.Handler
	a *Agent
}

// Err returns the error of the Options, or else that of the tables.
func (h *handler) Err() error {
	if h.a.err != nil {
		return &pmda.OpError{Op: "use the Options", Agent: h.a.PMDA.Name, Err: h.a.err}
	}
	return h.Handler.Err()
}

// Fetch writes the values of one moment.
func (h *handler) Fetch(ctx context.Context, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
	a := h.a
	domain := a.PMDA.Domain
	a.mu.Lock()
	defer a.mu.Unlock()
	at := moment{a.table.interval(time.Now()), a.table.period.Seconds()}
	for i, id := range ids {
		if m := a.metric(id); m != nil {
			w.Begin(id)
			a.table.of(m.kind).put(w, m, at, r.Profile.For(indomOf(domain, m.kind)))
		} else if err := h.Handler.Fetch(ctx, r, ids[i:i+1], w); err != nil {
			return err
		}
		if err := w.Err(); err != nil {
			return err
		}
	}
	return nil
}

// metric returns the tagMetric with an ID, or nil.
func (a *Agent) metric(id pdu.PMID) *tagMetric {
	if id.Domain() != a.PMDA.Domain || id.Cluster() != 0 || id.Item() >= len(a.metrics) || a.metrics[id.Item()].put == nil {
		return nil
	}
	return &a.metrics[id.Item()]
}

func indomOf(d pdu.Domain, k tracewire.Kind) pdu.InDom {
	return pdu.MakeInDom(d, int(k-tracewire.KindTransaction))
}

// put writes the values of the tags that the client's profile includes.
func (k *kindTable) put(w *pdu.ResultWriter, m *tagMetric, at moment, wanted pdu.InDomProfile) {
	all := wanted.All()
	for _, g := range k.list {
		if all || wanted.Includes(g.id) {
			m.put(w, g, at)
		}
	}
}

// Instances lists or looks up tags.
func (h *handler) Instances(ctx context.Context, r *pmda.Request, d pdu.InDom, inst pdu.InstID, name string) ([]pdu.Instance, error) {
	a := h.a
	if d.Domain() != a.PMDA.Domain || d.Serial() >= numKinds {
		return h.Handler.Instances(ctx, r, d, inst, name)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	k := &a.table.kinds[d.Serial()]
	switch {
	case inst == pdu.NoInst && name == "":
		return k.all(), nil
	case inst != pdu.NoInst && name != "":
		return nil, pdu.ErrInst
	}
	i, ok := k.instance(inst, name)
	if !ok {
		return nil, pdu.ErrInst
	}
	return []pdu.Instance{i}, nil
}

// Store refuses metrics that cannot be stored, with the same error as PCP's agent.
func (h *handler) Store(ctx context.Context, r *pmda.Request, values *pdu.Result) error {
	for i := range values.Len() {
		if id := values.At(i).PMID; id.Cluster() != 0 || id.Item() != itemReset && id.Item() != itemDebug {
			return pdu.ErrPMID
		}
	}
	return h.Handler.Store(ctx, r, values)
}
