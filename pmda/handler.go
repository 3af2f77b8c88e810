package pmda

import (
	"context"
	"log/slog"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmns"
)

// Info says who an agent is.
type Info struct {
	// Name is the agent's name: its label in the collector's tables and the
	// value of its default domain label.
	Name string
	// Domain is the agent's number, 0 to pdu.MaxDomain, at the top of all its
	// identifiers.
	Domain pdu.Domain
	// ClientAttributes says that the agent needs to know who its clients are. A
	// collector in another process tells only agents that say so when they connect.
	ClientAttributes bool
}

// A Handler replies to the requests that a collector makes of one domain. Handlers
// run concurrently, like those of net/http; Serial wraps one that cannot.
//
// A method that fails as a whole returns an error, of which the client sees
// pdu.FromError's code. Do not return pdu.ErrIPC or pdu.ErrTimeout: collectors
// take them for a broken connection to the agent. Arguments are read-only and
// valid until the method returns. ctx ends when the reply is no longer wanted.
//
// Handlers are wrapped like those of net/http: a struct that embeds a Handler and
// overrides a method is a Handler that works everywhere. Give it the method
//
//	func (t traced) Unwrap() pmda.Handler { return t.Handler }
//
// so that As finds what the embedded Handler has beyond the interface, which is
// the choice of its log.
//
// Embed Unimplemented to write just the methods that matter.
type Handler interface {
	// Info says who the agent is. It does not change while the Handler serves.
	Info() Info

	// Err is why the Handler cannot serve, such as a registration that has failed;
	// nil if it can. Serve, Main and a collector refuse a Handler with an error.
	Err() error

	// Namespace returns the agent's part of the name space; a new pointer when it has
	// changed. Nil means that the names are in the collector's PMNS file. It may be
	// called at any time, also during a request, and does not block.
	Namespace() *pmns.Tree

	// Fetch writes one set per PMID, in order. A metric that fails alone has its
	// error in its set. A collector makes a fetch of more than 1024 metrics in several
	// calls with the same writer, which has the sets of earlier ones then. When w has an
	// Err, further values are in vain. It is fetch of pmdaInterface.
	Fetch(ctx context.Context, r *Request, ids []pdu.PMID, w *pdu.ResultWriter) error

	// Desc describes a metric, or returns pdu.ErrPMID.
	Desc(ctx context.Context, r *Request, id pdu.PMID) (pdu.Desc, error)

	// Instances lists a domain if inst is pdu.NoInst and name empty. With an inst
	// it returns one Instance with at least the name, with a name one with at least
	// the ID. The caller does not change the slice. Errors: pdu.ErrInDom;
	// pdu.ErrInst, also if both inst and name are given.
	Instances(ctx context.Context, r *Request, d pdu.InDom, inst pdu.InstID, name string) ([]pdu.Instance, error)

	// Text returns a help text of a metric or an instance domain, or pdu.ErrText.
	// kind is pdu.TextOneLine or pdu.TextHelp.
	Text(ctx context.Context, r *Request, of pdu.TextTarget, kind pdu.TextKind) (string, error)

	// Store sets values, of which there are some in every set.
	Store(ctx context.Context, r *Request, values *pdu.Result) error

	// PMID finds the metric of a full name below one of the agent's dynamic roots,
	// or returns pdu.ErrName or pdu.ErrNonLeaf.
	PMID(ctx context.Context, r *Request, name string) (pdu.PMID, error)

	// Names returns all full names of a metric below the agent's dynamic roots, or
	// pdu.ErrPMID.
	Names(ctx context.Context, r *Request, id pdu.PMID) ([]string, error)

	// Children returns what is one level below a name at or below a dynamic root, or
	// pdu.ErrName.
	Children(ctx context.Context, r *Request, name string) ([]pmns.Child, error)

	// Traverse returns the full names of all metrics at or below a name at or below
	// a dynamic root, or pdu.ErrName.
	Traverse(ctx context.Context, r *Request, name string) ([]string, error)

	// Labels returns label sets: of pdu.LabelInstances one for each instance that
	// has some, of other classes at most one.
	Labels(ctx context.Context, r *Request, of pdu.LabelTarget) ([]pdu.LabelSet, error)

	// SetClient says who a client is. It is called before the client's first request
	// and when an attribute has changed, and must not block. See Info.ClientAttributes.
	SetClient(c *Client)

	// EndClient is called when a client disconnects: whatever is kept for its Seq can
	// be forgotten. It is called for every client, known or not, and must not block.
	EndClient(c *Client)
}

// Logging is what a Handler implements that logs by itself, as an Agent does. Serve
// and collectors find it with As.
type Logging interface {
	// Log is where the Handler logs; nil means slog.Default.
	Log() *slog.Logger
	// AddLogger adds a log for a Handler that has none of its own, until remove is
	// called. A Handler that several collectors serve has several.
	AddLogger(l *slog.Logger) (remove func())
}

// As finds the first Handler that is a T among h and those that it wraps: from
// each it goes on to what its method Unwrap() Handler returns, if it has one. It
// is to Handlers what errors.AsType is to errors.
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

// A Request says for which client a Handler is called. It and what it points to
// never change.
type Request struct {
	Client    *Client      // whose request it is
	ContextID int32        // which of the client's PCP contexts
	Profile   *pdu.Profile // the instances wanted; nil means all
	Deadline  time.Time    // when the reply is no longer wanted; zero if never

	// Memory, if not nil, grants the memory for the reply, which the client is charged for
	// until it has that. It is for Handlers that get a long reply from elsewhere: a
	// ResultWriter asks by itself. Its error is that of the request.
	Memory pdu.Memory

	session *session // that sends the reply; nil in the collector's own process
}

// A Client is a connection to the collector, as agents see it. It never changes:
// when an attribute does, there is a new Client with the same ID and Seq.
type Client struct {
	ID        uint32 // its slot in the collector; reused when it has gone
	Seq       uint64 // counts clients since the collector started; never reused
	PID       int    // -1 if unknown, as for all TCP clients
	UID       int    // -1 if unknown
	GID       int    // -1 if unknown
	User      string // authenticated name, empty if there is none
	Container string // whose metrics it wants, empty for the host's
}

// NewClient returns a Client of whom nothing is known but its numbers.
func NewClient(id uint32, seq uint64) *Client {
	return &Client{ID: id, Seq: seq, PID: -1, UID: -1, GID: -1}
}

// Unimplemented is a Handler that replies as an agent without metrics does. Embed
// it in a Handler, whose methods then replace its own.
type Unimplemented struct {
	Name             string     // see Info
	Domain           pdu.Domain // see Info
	ClientAttributes bool       // see Info
}

// Info has the fields of u.
func (u Unimplemented) Info() Info { return Info(u) }

// Err is nil.
func (Unimplemented) Err() error { return nil }

// Namespace is nil: the names are in the collector's PMNS file.
func (Unimplemented) Namespace() *pmns.Tree { return nil }

// Fetch writes pdu.ErrPMID for every metric.
func (Unimplemented) Fetch(_ context.Context, _ *Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
	for _, id := range ids {
		w.Begin(id)
		w.Fail(pdu.ErrPMID)
	}
	return nil
}

// Desc returns pdu.ErrPMID.
func (Unimplemented) Desc(context.Context, *Request, pdu.PMID) (pdu.Desc, error) {
	return pdu.Desc{}, pdu.ErrPMID
}

// Instances returns pdu.ErrInDom.
func (Unimplemented) Instances(context.Context, *Request, pdu.InDom, pdu.InstID, string) ([]pdu.Instance, error) {
	return nil, pdu.ErrInDom
}

// Text returns pdu.ErrText.
func (Unimplemented) Text(context.Context, *Request, pdu.TextTarget, pdu.TextKind) (string, error) {
	return "", pdu.ErrText
}

// Store returns pdu.ErrPermission.
func (Unimplemented) Store(context.Context, *Request, *pdu.Result) error { return pdu.ErrPermission }

// PMID returns pdu.ErrName.
func (Unimplemented) PMID(context.Context, *Request, string) (pdu.PMID, error) {
	return pdu.NoPMID, pdu.ErrName
}

// Names returns pdu.ErrPMID.
func (Unimplemented) Names(context.Context, *Request, pdu.PMID) ([]string, error) {
	return nil, pdu.ErrPMID
}

// Children returns pdu.ErrName.
func (Unimplemented) Children(context.Context, *Request, string) ([]pmns.Child, error) {
	return nil, pdu.ErrName
}

// Traverse returns pdu.ErrName.
func (Unimplemented) Traverse(context.Context, *Request, string) ([]string, error) {
	return nil, pdu.ErrName
}

// Labels returns the default label of a domain, {"agent":"NAME"}, and no others.
func (u Unimplemented) Labels(_ context.Context, _ *Request, of pdu.LabelTarget) ([]pdu.LabelSet, error) {
	if of.Class != pdu.LabelDomain {
		return nil, nil
	}
	return defaultLabels(u.Name)
}

// SetClient does nothing.
func (Unimplemented) SetClient(*Client) {}

// EndClient does nothing.
func (Unimplemented) EndClient(*Client) {}
