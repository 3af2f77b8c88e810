package pmda

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmns"
)

// An Agent is a Handler made of tables. Register and AddInDom add metrics and instance domains, and
// the Agent replies from the tables with descriptors, names, help texts, labels, instances and
// values. A wrapper of Use can override single replies.
//
// Set the exported fields before the Agent serves. Metrics, instance domains and dynamic roots can
// be added, removed and replaced at any time. Clients get a change notice when names have changed.
// An Agent is safe for concurrent use.
//
// It is the counterpart of pmdaInterface, pmdaDaemon(3), pmdaDSO(3) and pmdaInit(3).
type Agent struct {
	// Name is the agent's name, such as "cache". The names of its metrics usually start with
	// "cache.".
	Name string
	// Domain is the agent's number, 1 to pdu.MaxDomain. An Agent without one cannot serve. Private
	// agents may use 385 to 510. Each agent of a collector has a different number.
	Domain pdu.Domain
	// DomainLabels is a JSON object with the labels of the domain; see LabelJSON. Empty means the
	// default, {"agent":"NAME"}, where NAME is the agent's name without a leading "pmda".
	DomainLabels string
	// ClusterLabels maps the number of a cluster, 0 to pdu.MaxCluster, to a JSON object with its
	// labels; see LabelJSON.
	ClusterLabels map[int]string
	// LabelsOf, if not nil, returns further labels of the domain, a cluster, an instance domain or
	// a metric, such as labels that change. It returns a JSON object, or an empty string. These
	// labels override those of the same name in DomainLabels, ClusterLabels, and Labels of a Metric
	// or InDom.
	//
	// If it returns labels of the domain and DomainLabels is empty, the default label is omitted.
	// LabelsOf must be safe for concurrent use. Call Notify after a change.
	LabelsOf func(ctx context.Context, r *Request, of pdu.LabelTarget) string
	// ClientAttributes says that the agent uses the attributes of Request.Client: see Info.
	ClientAttributes bool
	// StartsNotReady says that the Agent is not ready for requests until SetReady(true) is called,
	// for agents that start slowly. The line of a pipe agent in pmcd.conf must then have the word
	// notready, as in "big 400 pipe binary notready /usr/lib/pmdabig"; --install writes it.
	// Leave it false under dbpmda, which would take each reply for that of the previous request.
	StartsNotReady bool
	// Logger gets the failures of the agent's functions. The Agent suppresses equal lines beyond a
	// limit and logs their number. If Logger is nil, the Agent logs to the log of Main and to the
	// log of each collector that serves it, or to slog.Default if there is no such log: see
	// BeginServing. Leave Logger nil under Main.
	Logger *slog.Logger

	logs     agentLogs
	limited  atomic.Pointer[limitedLog] // of the Log that was used last
	wrapping sync.Mutex                 // one Use at a time
	handler  atomic.Pointer[Handler]    // the outermost wrapper of Use; nil if there is none
	changed  atomic.Uint32              // pdu.Change bits for the next fetch

	labelsLog   logOnce
	eventQueues eventQueues
	background  background

	snap atomic.Pointer[snapshot] // of tables; nil when they have changed
	seen atomic.Bool              // the tables have been used

	hooks atomic.Pointer[hooks] // of OnRequest and OnReply; nil if there are none
	ready readiness

	mu        sync.RWMutex // guards what follows
	err       error        // the first registration that failed
	tables    *tables      // nil until the first registration
	last      lastNames
	numbers   numbers
	groups    int // number of groups made
	endClient []func(*Client)
}

// Use wraps the Agent's Handler. wrap gets the current Handler and returns one that embeds it and
// overrides some methods.
//
//	type tracing struct{ pmda.Handler }
//
//	func (t tracing) Desc(ctx context.Context, r *pmda.Request, id pdu.PMID) (pdu.Desc, error) {
//		log.Println("desc", id)
//		return t.Handler.Desc(ctx, r, id)
//	}
//
//	a.Use(func(next pmda.Handler) pmda.Handler { return tracing{next} })
//
// The wrapper of the latest Use gets requests first. The innermost Handler replies from the tables.
// A wrapper must call the Handler that it was given, not the Agent, which would call the wrapper
// again. A wrapper cannot be removed, and needs no method Unwrap. If wrap returns nil, Err returns
// an error.
func (a *Agent) Use(wrap func(next Handler) Handler) {
	a.wrapping.Lock() // not mu, which wrap may need
	defer a.wrapping.Unlock()
	h := wrap(a.wrapped())
	if h == nil {
		a.fail(&OpError{Op: "use a wrapper", Agent: a.Name, Err: errors.New("it is nil: return a Handler that embeds the one given")})
		return
	}
	a.handler.Store(&h)
}

// fail makes Err return err, unless it already returns an error.
func (a *Agent) fail(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err == nil {
		a.err = err
	}
}

// wrapped returns the outermost Handler. For a nil *Agent it has no metrics.
func (a *Agent) wrapped() Handler {
	if a == nil {
		return Unimplemented(Info{})
	}
	if h := a.handler.Load(); h != nil {
		return *h
	}
	return tableHandler{a}
}

// OnEndClient adds a function that is called when a client has disconnected. The functions run in
// the order of the calls of OnEndClient. They must not block. OnEndClient is the counterpart of
// pmdaSetEndContextCallBack(3).
func (a *Agent) OnEndClient(f func(c *Client)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.endClient = append(slices.Clip(a.endClient), f)
}

// Notify tells all clients, with the next fetch of this agent, that labels (pdu.ChangeLabels) or
// names (pdu.ChangeNames) have changed. Registrations and removals do so automatically. Notify is
// the counterpart of pmdaSetFlags(3) with PMDA_EXT_LABEL_CHANGE and PMDA_EXT_NAMES_CHANGE.
func (a *Agent) Notify(c pdu.Change) {
	a.changed.Or(uint32(c & (pdu.ChangeLabels | pdu.ChangeNames)))
}

// Log returns the Logger. If that is nil, it returns a log that writes to all logs of BeginServing,
// or slog.Default if there are no such logs.
func (a *Agent) Log() *slog.Logger {
	if a.Logger != nil {
		return a.Logger
	}
	return a.logs.logger()
}

// errNilAgent is the error of a nil *Agent.
var errNilAgent = &OpError{Op: "serve", Err: errors.New("the *Agent is nil")}

// Info returns Name, Domain and ClientAttributes.
func (a *Agent) Info() Info { return a.wrapped().Info() }

// Err returns the reason why the Agent cannot serve: an invalid exported field, or else the first
// error of Register, AddInDom, Attach, AddDynamic, UseHelp or another function that adds to the
// Agent. So a program that ignores the results of these functions fails when it starts to serve. A
// nil *Agent has an error, too.
func (a *Agent) Err() error {
	if a == nil {
		return errNilAgent
	}
	return a.wrapped().Err()
}

// Namespace returns the names of the agent's metrics. A dynamic root stands for all names at and
// below it. The pointer stays the same until the names or the Domain change. Its Lookup finds the
// PMID of a name, such as the name of an event parameter.
func (a *Agent) Namespace() *pmns.Tree { return a.wrapped().Namespace() }

// Fetch writes the values of metrics to w, and adds the changes of Notify to w.Changed.
func (a *Agent) Fetch(ctx context.Context, r *Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
	if err := a.begin(ctx, pdu.KindFetch, r); err != nil {
		return err
	}
	defer a.end(pdu.KindFetch, r)
	err := a.wrapped().Fetch(ctx, r, ids, w)
	// The client of a request that has been abandoned would not see the changes.
	if err == nil && a.changed.Load() != 0 && ctx.Err() == nil {
		w.Changed |= pdu.Change(a.changed.Swap(0))
	}
	return err
}

// Desc describes a metric.
func (a *Agent) Desc(ctx context.Context, r *Request, id pdu.PMID) (pdu.Desc, error) {
	if err := a.begin(ctx, pdu.KindDescReq, r); err != nil {
		return pdu.Desc{}, err
	}
	defer a.end(pdu.KindDescReq, r)
	return a.wrapped().Desc(ctx, r, id)
}

// Instances lists an instance domain or looks an instance up.
func (a *Agent) Instances(ctx context.Context, r *Request, d pdu.InDom, inst pdu.InstID, name string) ([]pdu.Instance, error) {
	if err := a.begin(ctx, pdu.KindInstanceReq, r); err != nil {
		return nil, err
	}
	defer a.end(pdu.KindInstanceReq, r)
	return a.wrapped().Instances(ctx, r, d, inst, name)
}

// Text returns a help text.
func (a *Agent) Text(ctx context.Context, r *Request, of pdu.TextTarget, kind pdu.TextKind) (string, error) {
	if err := a.begin(ctx, pdu.KindTextReq, r); err != nil {
		return "", err
	}
	defer a.end(pdu.KindTextReq, r)
	return a.wrapped().Text(ctx, r, of, kind)
}

// Store sets values through the Store functions of the metrics.
func (a *Agent) Store(ctx context.Context, r *Request, values *pdu.Result) error {
	if err := a.begin(ctx, pdu.KindResult, r); err != nil {
		return err
	}
	defer a.end(pdu.KindResult, r)
	return a.wrapped().Store(ctx, r, values)
}

// PMID finds the metric of a name at or below a dynamic root.
func (a *Agent) PMID(ctx context.Context, r *Request, name string) (pdu.PMID, error) {
	if err := a.begin(ctx, pdu.KindPMNSNames, r); err != nil {
		return pdu.NoPMID, err
	}
	defer a.end(pdu.KindPMNSNames, r)
	return a.wrapped().PMID(ctx, r, name)
}

// Names returns the names of a metric at and below dynamic roots.
func (a *Agent) Names(ctx context.Context, r *Request, id pdu.PMID) ([]string, error) {
	if err := a.begin(ctx, pdu.KindPMNSIDs, r); err != nil {
		return nil, err
	}
	defer a.end(pdu.KindPMNSIDs, r)
	return a.wrapped().Names(ctx, r, id)
}

// Children returns the names one level below a name at or below a dynamic root.
func (a *Agent) Children(ctx context.Context, r *Request, name string) ([]pmns.Child, error) {
	if err := a.begin(ctx, pdu.KindPMNSChild, r); err != nil {
		return nil, err
	}
	defer a.end(pdu.KindPMNSChild, r)
	return a.wrapped().Children(ctx, r, name)
}

// Traverse returns the names of all metrics at and below name, which is at or below a dynamic root.
func (a *Agent) Traverse(ctx context.Context, r *Request, name string) ([]string, error) {
	if err := a.begin(ctx, pdu.KindPMNSTraverse, r); err != nil {
		return nil, err
	}
	defer a.end(pdu.KindPMNSTraverse, r)
	return a.wrapped().Traverse(ctx, r, name)
}

// Labels returns the label sets of a domain, cluster, metric or instance domain, or of its
// instances.
func (a *Agent) Labels(ctx context.Context, r *Request, of pdu.LabelTarget) ([]pdu.LabelSet, error) {
	if err := a.begin(ctx, pdu.KindLabelReq, r); err != nil {
		return nil, err
	}
	defer a.end(pdu.KindLabelReq, r)
	return a.wrapped().Labels(ctx, r, of)
}

// SetClient does nothing, unless a wrapper overrides it.
func (a *Agent) SetClient(c *Client) { a.wrapped().SetClient(c) }

// EndClient calls the functions of OnEndClient and removes the client from the event queues.
func (a *Agent) EndClient(c *Client) { a.wrapped().EndClient(c) }

// A tableHandler replies from the tables of an Agent. It is the innermost Handler.
type tableHandler struct{ a *Agent }

func (h tableHandler) Info() Info {
	return Info{Name: h.a.Name, Domain: h.a.Domain, ClientAttributes: h.a.ClientAttributes}
}

func (h tableHandler) Namespace() *pmns.Tree { return h.a.snapshot().tree }

func (h tableHandler) SetClient(*Client) {}

func (h tableHandler) EndClient(c *Client) {
	h.a.mu.Lock()
	hooks := h.a.endClient
	h.a.mu.Unlock()
	for _, f := range hooks {
		f(c)
	}
	h.a.eventQueues.end(c)
}

func (h tableHandler) Err() error {
	err := h.a.checkFields()
	if err != nil {
		return &OpError{Op: "serve", Agent: h.a.Name, Err: err}
	}
	h.a.mu.Lock()
	defer h.a.mu.Unlock()
	return h.a.err
}

// checkFields returns an error for invalid exported fields.
func (a *Agent) checkFields() error {
	const free = "385 to 510 are free for agents of one's own"
	switch {
	case a.Name == "":
		return errors.New("agent without a Name")
	case a.Domain == 0:
		return errors.New("needs a Domain: " + free)
	case a.Domain < 0 || a.Domain > pdu.MaxDomain:
		return fmt.Errorf("domain %d out of range (1..%d): %s", a.Domain, pdu.MaxDomain, free)
	}
	for cluster, json := range a.ClusterLabels {
		if err := checkLabels(fmt.Sprintf("ClusterLabels[%d]", cluster), json); err != nil {
			return err
		}
	}
	return checkLabels("DomainLabels", a.DomainLabels)
}
