package pmda

import (
	"context"
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
}

// A Handler answers the requests that a collector makes of one domain. Handlers
// run concurrently, like those of net/http; Serial wraps one that cannot.
//
// A method that fails as a whole returns an error, of which the client sees
// pdu.FromError's code. Do not return pdu.ErrIPC or pdu.ErrTimeout: collectors
// take them for a broken connection to the agent. What a method is given is
// read-only and valid until it returns. ctx ends when the answer is no longer
// wanted.
//
// Embed Unimplemented to write just the methods that matter.
type Handler interface {
	// Info says who the agent is. It does not change while the Handler serves.
	Info() Info

	// Fetch writes one set per PMID, in order. A metric that fails alone has its
	// error in its set. It is fetch of pmdaInterface.
	Fetch(ctx context.Context, r *Request, ids []pdu.PMID, w *pdu.ResultWriter) error

	// Desc describes a metric, or returns pdu.ErrPMID.
	Desc(ctx context.Context, r *Request, id pdu.PMID) (pdu.Desc, error)

	// Instances lists a domain if inst is pdu.NoInst and name empty. With an inst
	// it gives one Instance with at least the name, with a name one with at least
	// the ID. The caller does not change the slice. Errors: pdu.ErrInDom;
	// pdu.ErrInst, also if both inst and name are given.
	Instances(ctx context.Context, r *Request, d pdu.InDom, inst pdu.InstID, name string) ([]pdu.Instance, error)

	// Text gives the help text that kind says, of the PMID or InDom that ident is,
	// or pdu.ErrText.
	Text(ctx context.Context, r *Request, ident uint32, kind pdu.TextKind) (string, error)

	// Store sets values, of which there are some in every set.
	Store(ctx context.Context, r *Request, values *pdu.Result) error

	// PMID finds the metric of a full name below one of the agent's dynamic roots,
	// or returns pdu.ErrName or pdu.ErrNonLeaf.
	PMID(ctx context.Context, r *Request, name string) (pdu.PMID, error)

	// Names gives all full names of a metric below the agent's dynamic roots, or
	// pdu.ErrPMID.
	Names(ctx context.Context, r *Request, id pdu.PMID) ([]string, error)

	// Children gives the components directly below a name with their status, or,
	// with traverse, the full names of all leaves at or below it.
	Children(ctx context.Context, r *Request, name string, traverse bool) (pdu.NameList, error)

	// Labels gives the labels of a class; ident is as the class wants it. All
	// classes but pdu.LabelInstances have at most one set.
	Labels(ctx context.Context, r *Request, ident uint32, class pdu.LabelClass) ([]pdu.LabelSet, error)

	// EndClient says that a client has gone: whatever is kept for its Seq can be
	// forgotten. It is called for every client, known or not, and must not block.
	EndClient(c *Client)
}

// A Request says on whose behalf a Handler is asked. It and what it points to
// never change.
type Request struct {
	Client   *Client      // who asks
	Context  int32        // which of the client's contexts, 0 to 63
	Profile  *pdu.Profile // the instances wanted; nil means all
	Deadline time.Time    // when the answer is no longer wanted; zero if never
}

// A Client is a connection to the collector, as agents see it. It never changes:
// when an attribute does, there is a new Client with the same ID and Seq.
type Client struct {
	ID        uint32 // its slot in the collector; reused when it has gone
	Seq       uint64 // its number since the collector began; never reused
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

// Unimplemented answers every request as an agent without metrics does. Embed
// it in a Handler, whose methods then replace its own.
type Unimplemented struct {
	Name   string
	Domain pdu.Domain
}

// Info is the name and the domain.
func (u Unimplemented) Info() Info { return Info(u) }

// Fetch gives pdu.ErrPMID for every metric.
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
func (Unimplemented) Text(context.Context, *Request, uint32, pdu.TextKind) (string, error) {
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
func (Unimplemented) Children(context.Context, *Request, string, bool) (pdu.NameList, error) {
	return pdu.NameList{}, pdu.ErrName
}

// Labels gives the default label of a domain, {"agent":"NAME"}, and no others.
func (u Unimplemented) Labels(_ context.Context, _ *Request, _ uint32, class pdu.LabelClass) ([]pdu.LabelSet, error) {
	if class != pdu.LabelDomain {
		return nil, nil
	}
	return DefaultLabels(u.Name)
}

// EndClient does nothing.
func (Unimplemented) EndClient(*Client) {}

// A Namespace is a Handler that knows the names of its metrics. An agent
// without one has its names in the collector's PMNS file.
type Namespace interface {
	// Namespace returns the agent's part of the name space; a new pointer when it has
	// changed. It may be called at any time, also while a request is answered, and
	// does not wait.
	Namespace() *pmns.Tree
}

// A Watcher is a Handler that wants to know the attributes of clients: it is
// told before the first request of a client, and when an attribute changes.
// Attributes must not block.
type Watcher interface {
	Attributes(c *Client)
}
