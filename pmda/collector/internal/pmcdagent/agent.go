package pmcdagent

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// A pmcd holds the state behind the metrics of the agent.
type pmcd struct {
	Config
	agent *pmda.Agent

	loggers, registers, agents, engines, buffers, clients *pmda.InDom

	stores    map[pdu.PMID]setter
	register  [16]atomic.Int32
	debug     atomic.Int32
	highestFD atomic.Int64

	mu        sync.Mutex // guards recorders, ofAgents, ofClients and changes of instance domains
	ofAgents  []pdu.Instance
	ofClients []pdu.Instance
	recorders recorders
	notes     clientNotes
}

// New creates the agent of a collector.
func New(c Config) *pmda.Agent {
	p := &pmcd{
		Config: c,
		agent:  &pmda.Agent{Name: "pmcd", Domain: Domain, Logger: c.Logger},
		stores: map[pdu.PMID]setter{},
	}
	p.agent.Use(func(next pmda.Handler) pmda.Handler { return handler{next, p} })
	p.agent.OnEndClient(p.notes.remove)
	p.attachInDoms()
	// The order is that of the names in the name space of PCP.
	p.addControl()
	p.addPDUs()
	p.addSize()
	p.addAgents()
	p.addLoggers()
	p.addIdentity()
	p.addEngines()
	p.addBuffers()
	p.addClients()
	p.addReplyWaits()
	p.addCPU()
	p.addFeatures()
	p.addProcess()
	return p.agent
}

// register registers a metric. It ignores errors, because the metric tables are constant and
// their test fails if a metric is invalid.
func register[T pdu.Scalar](p *pmcd, m pmda.Metric[T]) { _ = pmda.Register(p.agent, m) }

// always returns the Value function of a metric that has the same value for every client.
func always[T pdu.Scalar](f func() T) func(context.Context, *pmda.Request, pdu.Instance) (T, error) {
	return func(context.Context, *pmda.Request, pdu.Instance) (T, error) { return f(), nil }
}

func (p *pmcd) attachInDoms() {
	p.loggers = &pmda.InDom{
		Serial: pmda.InDomSerial(1), Name: "pmlogger", Refresh: p.refreshLoggers,
		Text: "Archive loggers (pmlogger) on this host",
		Help: `One instance for each running pmlogger, numbered and named by its process
identifier. The primary logger is there a second time, as number 0 with
the name "primary".`,
	}
	p.registers = &pmda.InDom{
		Serial: pmda.InDomSerial(2), Name: "register",
		Text: "Registers of pmcd.control.register",
		Help: "The sixteen registers, 0 to 15.",
	}
	p.agents = &pmda.InDom{
		Serial: pmda.InDomSerial(3), Name: "agent", Refresh: p.refreshAgents,
		Text: "Agents (PMDAs) of this collector",
		Help: `One instance for each configured agent, also for those that are not
connected at the moment. The number is the agent's domain.`,
	}
	p.engines = &pmda.InDom{
		Serial: pmda.InDomSerial(4), Name: "pmie", Refresh: p.refreshEngines,
		Text: "Inference engines (pmie) on this host",
		Help: `One instance for each running pmie, numbered and named by its process
identifier. The primary engine is there a second time, as number 0 with
the name "primary".`,
	}
	p.buffers = &pmda.InDom{
		Serial: pmda.InDomSerial(5), Name: "buffer pool",
		Text: "Sizes of PDU buffers",
		Help: `The size classes of buffers that the C implementation keeps, in bytes.
The last one is for all that are larger.`,
	}
	p.clients = &pmda.InDom{
		Serial: pmda.InDomSerial(6), Name: "client", Refresh: p.refreshClients,
		Text: "Clients connected to this collector",
		Help: `One instance for each connection. The number counts connections since the
collector began and is never used again.`,
	}
	for _, d := range []*pmda.InDom{p.loggers, p.registers, p.agents, p.engines, p.buffers, p.clients} {
		_ = p.agent.Attach(d)
	}
	insts := make([]pdu.Instance, len(p.register))
	for i := range insts {
		insts[i] = pdu.Instance{ID: pdu.InstID(i), Name: strconv.Itoa(i)}
	}
	_, _ = p.registers.SetInstances(insts...)
	_, _ = p.buffers.SetInstances([]pdu.Instance{{ID: 12, Name: "0012"}, {ID: 20, Name: "0020"}, {ID: 1024, Name: "1024"},
		{ID: 2048, Name: "2048"}, {ID: 4196, Name: "4196"}, {ID: 8192, Name: "8192"}, {ID: 8193, Name: "8192+"}}...)
}

// A setter handles the stores of clients into a metric.
type setter struct {
	anyUser bool // any user may store, not only root
	set     func(r *pmda.Request, values pdu.ValueSet) error
}

// storable lets clients store into a metric.
func (p *pmcd) storable(cluster, item int, s setter) {
	p.stores[pdu.MakePMID(Domain, cluster, item)] = s
}

// A handler wraps the Handler that replies from the metric tables.
type handler struct {
	pmda.Handler
	p *pmcd
}

// Store sets values. It replaces the Store of the metric tables, which supports neither metrics
// about the calling client nor one value for all instances.
//
// Unless any user may store into the metric, the client must be known to have the user ID 0, as
// in PCP 7. The collector of PCP 6.0.3 lets every client store that is not denied all stores.
func (h handler) Store(_ context.Context, r *pmda.Request, values *pdu.Result) error {
	p := h.p
	for _, v := range values.All() {
		s, ok := p.stores[v.PMID]
		switch {
		case !ok:
			return pdu.ErrPMID
		case !s.anyUser && r.Client.UID != 0:
			return pdu.ErrPermission
		}
		if err := s.set(r, v); err != nil {
			return err
		}
	}
	return nil
}

// setEach returns a setter that calls set for each value. The instance is pdu.NoInst if the
// metric is singular.
func setEach[T pdu.Scalar](set func(i pdu.InstID, v T) error) func(*pmda.Request, pdu.ValueSet) error {
	return func(_ *pmda.Request, values pdu.ValueSet) error {
		for i, atom := range values.All(pdu.ScalarType[T]()) {
			v, err := pdu.As[T](atom)
			if err != nil {
				return err
			}
			if err := set(i, v); err != nil {
				return err
			}
		}
		return nil
	}
}
