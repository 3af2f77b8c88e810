// Package source defines the interface through which a pmapi.Context reads metrics.
//
// Package pmapi exports no function that makes a Context on a Source, so that the interface
// can change. Packages pmapitest and local, which have Sources too, call NewContext, a variable
// that pmapi sets when it is initialized.
package source

import (
	"context"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmns"
)

// A Source is where the metrics of a context come from. There is one implementation for
// each kind of origin:
//
//	host           a collector (pmapi, host.go)
//	client         agents in this process (pmapi/local, client.go)
//	pmapitest      metrics that a test makes up (pmapi/pmapitest, conn.go)
//	archive set    archives (pmapi/internal/archivesource); see below
//
// and overlays, which embed another source and change some of its methods:
//
//	namesOverlay   names from a file (pmapi, names_overlay.go)
//	eventOverlay   the metrics of event records (pmapi, event_overlay.go)
//	derivedOverlay derived metrics (pmapi, derived_overlay.go)
//
// A context adds to a source a queue of calls, a profile, and OpErrors. A group compares epochs.
// Both are independent of the kind of source.
//
// # Calls
//
// A context calls one method at a time. Only Close, Epoch, Now and Sleep may be called concurrently
// with any other. An argument belongs to the caller again when the method returns. The exception is
// a profile, which is never changed: the same pointer means the same profile, so a source can see
// whether it has changed.
//
// # Errors
//
// An error that is a pdu.Error, and does not only wrap one, is the source's reply to this request.
// An error wraps pdu.ErrIPC if no later request can succeed. If ctx has ended the request, the
// error is context.Cause(ctx).
//
// A method for several items returns a value for each, in their order. errs has the reason for each
// missing value. The last result is the error of the request as a whole; then there are no values.
//
// # An archive set
//
// The comment of each method describes archive sets under "Archive". In general, an archive set has
// a position in time and a mode: forward, back, or interpolating with a step (pmSetMode(3)).
// Requests for metadata are about the position. Fetch returns values at or after it, moves it on,
// and fails with ErrEnd at the end of the log.
//
// A context finds the archive set beneath its overlays by their method Unwrap, for operations that
// only archives have. A method that sets the position waits for its turn in the context
// (Context.inTurn), like a request, and so never runs during a request. The source has a lock for
// the state that Epoch, Now and Sleep use, since these run outside of turns.
type Source interface {
	// Lookup finds the metrics of names. The PMID of an unknown name is pdu.NoPMID.
	//
	// Archive: names are those of all archives of the set.
	Lookup(ctx context.Context, names []string) (ids []pdu.PMID, errs Errors, err error)

	// Names returns all names of a metric: at least one, or an error.
	Names(ctx context.Context, id pdu.PMID) ([]string, error)

	// Children returns what lies directly below a name, "" for the root.
	Children(ctx context.Context, name string) ([]pmns.Child, error)

	// Traverse returns the names of all metrics at and below a name. With an error it returns the
	// names before the failure.
	Traverse(ctx context.Context, name string) ([]string, error)

	// Descs describes metrics. A missing descriptor has the PMID pdu.NoPMID.
	//
	// Archive: a metric has the same descriptor at all positions.
	Descs(ctx context.Context, ids []pdu.PMID) (descs []pdu.Desc, errs Errors, err error)

	// Instances returns the instances of a domain, or the one that req selects.
	//
	// Archive: those at the position, from the latest record of the domain before it. A separate
	// method returns all recorded instances, like pmGetInDomArchive(3).
	Instances(ctx context.Context, req pdu.InstanceReq) ([]pdu.Instance, error)

	// Texts returns help texts of the requested kinds. If a text is missing, the context requests
	// the other kind. An empty text counts as missing.
	//
	// Archive: if the archives have no text of a kind at all, its errors are pdu.ErrNotHost.
	Texts(ctx context.Context, reqs []pdu.TextReq) (texts []string, errs Errors, err error)

	// Labels returns label sets: for a request of class pdu.LabelInstances one for each
	// instance that the profile includes, for any other class at most one. A source that
	// has no labels at all fails with pdu.ErrNoLabels.
	//
	// Archive: those at the position.
	Labels(ctx context.Context, reqs []pdu.LabelReq, profile *pdu.Profile) (sets [][]pdu.LabelSet, errs Errors, err error)

	// HostName returns the name of the host whose metrics these are. If it fails or returns an
	// empty name, the context uses a substitute.
	//
	// Archive: from the label record.
	HostName(ctx context.Context) (string, error)

	// Fetch replaces r with the values of metrics. r has one set for each metric, in their order,
	// with the instances that the profile includes. A metric that fails has its error in its set.
	// After an error the contents of r are undefined. Repeated fetches do not allocate.
	//
	// If Fetch has not yet reported a gap, it returns the gap as its error, once, and the gap
	// becomes Epoch.Gap.
	//
	// Archive: in the modes forward and back, the next record with one of the metrics;
	// in the interpolating mode, values between the records around the position. r.Time
	// is the time of the values, r.Changed is 0. At the end of the log the error is
	// ErrEnd, in mode back also at its beginning.
	Fetch(ctx context.Context, ids []pdu.PMID, profile *pdu.Profile, r *pdu.Result) error

	// Store sets the values of metrics.
	//
	// Archive: always pdu.ErrNotHost.
	Store(ctx context.Context, r *pdu.Result) error

	// Epoch returns the current epoch. Only methods with a ctx begin a new one.
	//
	// Archive: Connection changes when the position is set and at a mark record, because there are
	// no rates across it. Names changes when an instance has another name, and Labels when other
	// labels apply at the position.
	Epoch() Epoch

	// Now returns the time at the source: for a host, the time of this computer.
	//
	// Archive: the position.
	Now() time.Time

	// Sleep waits for a duration of the source's time. Group.Every uses it between two fetches. If
	// ctx ends, it returns context.Cause(ctx).
	//
	// Archive: Sleep does nothing, because Fetch moves the position on. In the interpolating mode
	// the step is the interval of Every.
	Sleep(ctx context.Context, d time.Duration) error

	// Reconnect starts again at the origin, with a new epoch. A host makes a new connection.
	//
	// Archive: Reconnect reads what has been recorded since, and keeps the position.
	Reconnect(ctx context.Context) error

	// Dup opens the same source again, independent of this one.
	//
	// Archive: at the same position, in the same mode.
	Dup(ctx context.Context) (Source, error)

	// Close closes the source. Methods that need the origin fail with pdu.ErrNoContext, even if
	// they were called before Close.
	Close() error
}

// A SetFetcher is a Source that can return its values in place, without copying them into a Result.
type SetFetcher interface {
	// FetchSets is like Fetch, but returns the sets and the time of the values. The sets are valid
	// until the next call of a method that is not about metadata. If sets is nil without an error,
	// FetchSets has done nothing, and the caller must use Fetch.
	FetchSets(ctx context.Context, ids []pdu.PMID, profile *pdu.Profile) (sets Sets, t time.Time, err error)
}

// Sets are the values of metrics: a *pdu.Result or a *pdu.Selection.
type Sets interface {
	// At returns the set of the metric at an index of the request.
	At(i int) pdu.ValueSet
}

// Errors has the error of each of several items, nil for each item that has not failed. It is nil
// itself if no item has failed.
type Errors []error

// At returns the error of item i.
func (e Errors) At(i int) error {
	if e == nil {
		return nil
	}
	return e[i]
}

// Set sets the error of item i of n.
func (e *Errors) Set(i, n int, err error) {
	if *e == nil {
		*e = make(Errors, n)
	}
	(*e)[i] = err
}

// An Epoch identifies a time during which the values and names of a source belong together.
// Two epochs are compared field by field; the fields mean nothing else.
type Epoch struct {
	// Connection changes when there are no rates between later values and earlier ones,
	// as after the loss of a connection. Names are looked up again, too.
	Connection uint64
	// Names changes when names, or instances, may stand for something else.
	Names uint64
	// Labels changes when labels may be others.
	Labels uint64
	// Gap is the latest gap that Fetch has reported, or nil.
	Gap error
}

// ErrEnd is the error of a Fetch beyond the last value of a source. It wraps pdu.ErrEOL, but is
// not equal to it: a collector may reply with that. It ends Group.Every.
var ErrEnd error = endError{}

type endError struct{}

func (endError) Error() string { return pdu.ErrEOL.Error() }

func (endError) Unwrap() error { return pdu.ErrEOL }

// NewContext makes a *pmapi.Context on a source, with the derived metrics of a *pmapi.Derived,
// which may be nil; see the package comment. The name is that of the host in errors. Package pmapi
// sets it.
var NewContext func(name string, src Source, derived any) any

// Of a *pmapi.Context, for package webapi; set by package pmapi.
var (
	// AfterClose calls f in a goroutine once Close is called.
	AfterClose func(c any, f func())
	// IsReplaced reports whether other archives have replaced those of the context.
	IsReplaced func(c any) bool
)
