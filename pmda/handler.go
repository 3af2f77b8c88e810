package pmda

import (
	"context"
	"log/slog"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmns"
)

// Info identifies an agent.
type Info struct {
	// Name is the agent's name in the collector's tables, and the value of its default domain
	// label.
	Name string
	// Domain is the agent's number, 0 to pdu.MaxDomain: the upper part of all its identifiers.
	Domain pdu.Domain
	// ClientAttributes says that the agent needs the attributes of its clients, such as the user. A
	// collector in another process sends them only to agents that ask for them when they connect.
	ClientAttributes bool
}

// A Handler replies to a collector's requests for one domain. Its methods run concurrently, as in
// net/http. Serial wraps a Handler that does not allow that.
//
// A method that fails as a whole returns an error, and the client gets the code that pdu.FromError
// returns for it. Do not return pdu.ErrIPC or pdu.ErrTimeout: collectors then assume that the
// connection to the agent is broken. Arguments are read-only and valid until the method returns.
// ctx ends when the reply is no longer needed.
//
// Handlers are wrapped as in net/http: a struct that embeds a Handler and overrides a method works
// everywhere. Give it the method
//
//	func (t traced) Unwrap() pmda.Handler { return t.Handler }
//
// so that As finds the optional abilities of the embedded Handler, such as Serving.
//
// Embed the Handler of Unimplemented to write only some methods.
type Handler interface {
	// Info identifies the agent. It does not change while the Handler serves.
	Info() Info

	// Err returns the reason why the Handler cannot serve, such as a failed registration, or nil.
	// Serve, Main and collectors refuse a Handler with an error.
	Err() error

	// Namespace returns the agent's part of the name space, as a new pointer after each change. Nil
	// means that the names are in the collector's PMNS file. It may be called at any time, even
	// during a request, and must not block.
	Namespace() *pmns.Tree

	// Fetch writes one value set per PMID, in order. The error of a single metric goes into its
	// set. For a fetch of more than 1024 metrics, a collector calls Fetch several times with the
	// same writer, which then has the sets of earlier calls. After w.Err returns an error, w drops
	// all values. It is fetch of pmdaInterface.
	Fetch(ctx context.Context, r *Request, ids []pdu.PMID, w *pdu.ResultWriter) error

	// Desc describes a metric, or returns pdu.ErrPMID.
	Desc(ctx context.Context, r *Request, id pdu.PMID) (pdu.Desc, error)

	// Instances lists a domain if inst is pdu.NoInst and name is empty. If only inst is given, it
	// returns one Instance with at least the name. If only name is given, it returns one Instance
	// with at least the ID. The caller does not change the slice. Errors: pdu.ErrInDom, and
	// pdu.ErrInst for an unknown instance or if both inst and name are given.
	Instances(ctx context.Context, r *Request, d pdu.InDom, inst pdu.InstID, name string) ([]pdu.Instance, error)

	// Text returns a help text of a metric or an instance domain, or pdu.ErrText.
	// kind is pdu.TextOneLine or pdu.TextHelp.
	Text(ctx context.Context, r *Request, of pdu.TextTarget, kind pdu.TextKind) (string, error)

	// Store sets values. Each value set has at least one value.
	Store(ctx context.Context, r *Request, values *pdu.Result) error

	// PMID finds the metric of a full name at or below one of the agent's dynamic roots. Errors:
	// pdu.ErrName for an unknown name, pdu.ErrNonLeaf if the name only has names below it.
	PMID(ctx context.Context, r *Request, name string) (pdu.PMID, error)

	// Names returns all full names of a metric at and below the agent's dynamic roots, or
	// pdu.ErrPMID.
	Names(ctx context.Context, r *Request, id pdu.PMID) ([]string, error)

	// Children returns the last components of the names one level below name, or pdu.ErrName. name
	// is at or below a dynamic root.
	Children(ctx context.Context, r *Request, name string) ([]pmns.Child, error)

	// Traverse returns the full names of all metrics at and below name, or pdu.ErrName. name is at
	// or below a dynamic root.
	Traverse(ctx context.Context, r *Request, name string) ([]string, error)

	// Labels returns label sets: for pdu.LabelInstances one for each instance with labels, for
	// other classes at most one.
	Labels(ctx context.Context, r *Request, of pdu.LabelTarget) ([]pdu.LabelSet, error)

	// SetClient passes the attributes of a client. It is called before the client's first request
	// and after each change of an attribute. It must not block. See Info.ClientAttributes.
	SetClient(c *Client)

	// EndClient is called when a client disconnects. The Handler can then release all state for the
	// client's Seq. It is called for every client, known or not, and must not block.
	EndClient(c *Client)
}

// Serving is an optional interface of a Handler, such as an Agent, that works in the background or
// may not be ready for requests. Serve and collectors find it with As.
type Serving interface {
	// BeginServing is called before the first request, and end after the last one. Several
	// collectors may serve a Handler at once, each with a call of BeginServing. The Handler may log
	// to log, which is that of the collector. Serve passes a nil log.
	BeginServing(log *slog.Logger) (end func())
	// WhenReady returns a channel that is closed when the Handler is ready, or already is. Before
	// that, its requests fail with pdu.ErrPMDANotReady. See Agent.SetReady.
	WhenReady() <-chan struct{}
}

// As returns the first T in the chain of h, or false if there is no T in it. The chain begins with
// h. Each next Handler is the result of the method Unwrap() Handler of the previous one. As is to
// Handlers what errors.AsType is to errors.
func As[T any](h Handler) (T, bool) {
	for h != nil {
		if t, ok := h.(T); ok {
			return t, true
		}
		w, ok := h.(wrapper)
		if !ok {
			break
		}
		h = w.Unwrap()
	}
	var none T
	return none, false
}

type wrapper interface{ Unwrap() Handler }

// A Request describes a call of a Handler. A Request and the values that it points to never change.
type Request struct {
	Client    *Client      // the client that makes the request
	ContextID int32        // the number of the client's PCP context
	Profile   *pdu.Profile // the requested instances; nil means all
	Deadline  time.Time    // when the request expires; zero means never

	// Memory, if not nil, accounts for the memory of the reply until the client has read it. A
	// ResultWriter reserves its memory automatically. A Handler that gets a long reply from
	// elsewhere reserves it here, and fails the request with the error of Reserve.
	Memory pdu.Memory

	session *session // sends the reply; nil in the collector's process
}

// A Client is a connection to the collector, as agents see it. A Client never changes. After a
// change of an attribute there is a new Client with the same ID and Seq.
type Client struct {
	ID        uint32 // its slot in the collector; reused after the client has disconnected
	Seq       uint64 // counts clients since the collector started; never reused
	PID       int    // -1 if unknown, as for all TCP clients
	UID       int    // -1 if unknown
	GID       int    // -1 if unknown
	User      string // authenticated name, empty if there is none
	Container string // the container whose metrics it requests, empty for the host
}

// NewClient returns a Client with these numbers and no known attributes.
func NewClient(id uint32, seq uint64) *Client {
	return &Client{ID: id, Seq: seq, PID: -1, UID: -1, GID: -1}
}

// Unimplemented returns a Handler that replies like an agent without metrics. A Handler without
// tables is a struct that embeds it and overrides methods:
//
//	type uptime struct{ pmda.Handler }
//
//	h := &uptime{pmda.Unimplemented(pmda.Info{Name: "uptime", Domain: 403})}
func Unimplemented(i Info) Handler { return unimplemented{i} }

type unimplemented struct{ info Info }

func (u unimplemented) Info() Info { return u.info }

func (unimplemented) Err() error { return nil }

func (unimplemented) Namespace() *pmns.Tree { return nil }

func (unimplemented) Fetch(_ context.Context, _ *Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
	for _, id := range ids {
		w.Begin(id)
		w.Fail(pdu.ErrPMID)
	}
	return nil
}

func (unimplemented) Desc(context.Context, *Request, pdu.PMID) (pdu.Desc, error) {
	return pdu.Desc{}, pdu.ErrPMID
}

func (unimplemented) Instances(context.Context, *Request, pdu.InDom, pdu.InstID, string) ([]pdu.Instance, error) {
	return nil, pdu.ErrInDom
}

func (unimplemented) Text(context.Context, *Request, pdu.TextTarget, pdu.TextKind) (string, error) {
	return "", pdu.ErrText
}

func (unimplemented) Store(context.Context, *Request, *pdu.Result) error { return pdu.ErrPermission }

func (unimplemented) PMID(context.Context, *Request, string) (pdu.PMID, error) {
	return pdu.NoPMID, pdu.ErrName
}

func (unimplemented) Names(context.Context, *Request, pdu.PMID) ([]string, error) {
	return nil, pdu.ErrPMID
}

func (unimplemented) Children(context.Context, *Request, string) ([]pmns.Child, error) {
	return nil, pdu.ErrName
}

func (unimplemented) Traverse(context.Context, *Request, string) ([]string, error) {
	return nil, pdu.ErrName
}

// Labels returns only the default label of the domain, {"agent":"NAME"}.
func (u unimplemented) Labels(_ context.Context, _ *Request, of pdu.LabelTarget) ([]pdu.LabelSet, error) {
	if of.Class != pdu.LabelDomain {
		return nil, nil
	}
	return defaultLabels(u.info.Name)
}

func (unimplemented) SetClient(*Client) {}

func (unimplemented) EndClient(*Client) {}
