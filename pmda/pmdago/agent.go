package pmdago

import (
	"context"
	"log/slog"
	"runtime/metrics"
	"strings"
	"time"

	"github.com/pcp-go/pcp/internal/ctxwait"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// Domain is the default domain of the agent. PCP leaves 385 to 510 to users' own agents; 490 is
// unlikely to collide with domains chosen from either end.
const Domain pdu.Domain = 490

// The clusters of the PMIDs. Those below clusterOfNew are for metrics of runtime/metrics in known,
// whose index is the item. Metrics that are not in known have the same clusters again from
// clusterOfNew on; their items may change with the release of Go.
const (
	clusterValue = iota
	clusterBuckets
	clusterCount
	clusterQuantiles
	clusterRecent
	clusterOfNew
)

const (
	clusterGodebug = 2*clusterOfNew + iota
	clusterProgram
	clusterBuild
	clusterProcess
	numClusters
)

// The serials of the instance domains. A histogram has the serial serialOfKnown or serialOfNew plus
// its item.
const (
	serialQuantiles = 1 + iota
	serialGodebug
	serialSettings
	serialOfKnown = 1024
	serialOfNew   = 2048
)

// Options configure the agent. The zero value is usable.
type Options struct {
	// Domain is the domain of the agent. Zero means the constant Domain. Two agents of one
	// collector, such as two services behind one pmcd, need different domains.
	Domain pdu.Domain
	// Prefix is the root of the metric names, such as "shop.go". Empty means "go".
	Prefix string
	// CommandLine exports the arguments of the program to every client. They may contain secrets.
	CommandLine bool
	// Logger gets the errors of the agent and the items that New skips. If nil, skipped items are
	// not logged; see pmda.Agent.Logger for the rest.
	Logger *slog.Logger
}

// New returns the agent. The agent's Err reports invalid options, and so does the collector or
// function that serves it.
func New(o Options) *pmda.Agent {
	return newAgent(o, metrics.All(), time.Now).Agent
}

// newAgent makes an agent for the runtime metrics in all.
func newAgent(o Options, all []metrics.Description, now func() time.Time) *agent {
	if o.Domain == 0 {
		o.Domain = Domain
	}
	if o.Prefix == "" {
		o.Prefix = "go"
	}
	a := &agent{
		Agent:      &pmda.Agent{Name: strings.ReplaceAll(o.Prefix, ".", "_"), Domain: o.Domain, Logger: o.Logger},
		prefix:     o.Prefix,
		now:        now,
		turn:       ctxwait.NewMutex(),
		histograms: map[int]*histogram{},
	}
	a.Use(func(next pmda.Handler) pmda.Handler { return handler{next, a} })
	a.addRuntime(all)
	a.addProgram()
	a.addBuild()
	a.addProcess(o.CommandLine)
	return a
}

// An agent is a pmda.Agent that reads the runtime metrics before a fetch needs them.
type agent struct {
	*pmda.Agent
	prefix    string
	now       func() time.Time
	quantiles *pmda.InDom

	// turn guards the following fields.
	turn       ctxwait.Mutex
	readings   [numClusters][]*reading // by item
	godebug    []*reading
	histograms map[int]*histogram // by serial
	wanted     []*reading         // by the current fetch
	samples    []metrics.Sample   // samples of wanted
}

// A reading is a runtime metric with its last sample.
type reading struct {
	sample metrics.Sample // Read reuses its histogram
	wanted bool           // by the current fetch
	hist   *histogram     // or nil
}

// A handler wraps the agent's Handler.
type handler struct {
	pmda.Handler
	a *agent
}

// Unwrap returns the wrapped Handler.
func (h handler) Unwrap() pmda.Handler { return h.Handler }

// Fetch first reads the requested runtime metrics, all at once and each only once.
func (h handler) Fetch(ctx context.Context, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
	a := h.a
	if err := a.turn.Lock(ctx); err != nil {
		return err
	}
	defer a.turn.Unlock()
	for _, id := range ids {
		c, i := id.Cluster(), id.Item()
		switch {
		case c == clusterGodebug:
			a.want(a.godebug...)
		case c < numClusters && i < len(a.readings[c]):
			a.want(a.readings[c][i])
		}
	}
	a.read()
	return h.Handler.Fetch(ctx, r, ids, w)
}

// want adds readings to the next call of read, each once.
func (a *agent) want(readings ...*reading) {
	for _, rd := range readings {
		if rd == nil || rd.wanted {
			continue
		}
		rd.wanted = true
		a.wanted = append(a.wanted, rd)
		a.samples = append(a.samples, rd.sample)
	}
}

// read reads the wanted metrics from the runtime.
func (a *agent) read() {
	if len(a.wanted) == 0 {
		return
	}
	metrics.Read(a.samples)
	for i, rd := range a.wanted {
		rd.sample, rd.wanted = a.samples[i], false
		if rd.hist != nil {
			rd.hist.list()
		}
	}
	a.wanted, a.samples = a.wanted[:0], a.samples[:0]
}

// Instances reads a histogram before it lists the buckets.
func (h handler) Instances(ctx context.Context, r *pmda.Request, d pdu.InDom, inst pdu.InstID, name string) ([]pdu.Instance, error) {
	a := h.a
	if hist := a.histograms[d.Serial()]; hist != nil {
		if err := a.turn.Lock(ctx); err != nil {
			return nil, err
		}
		a.want(hist.reading)
		a.read()
		a.turn.Unlock()
	}
	return h.Handler.Instances(ctx, r, d, inst, name)
}
