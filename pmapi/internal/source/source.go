// Package source defines what a pmapi.Context stands on: the origin of metrics.
package source

import (
	"context"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmns"
)

// A Source is the origin of the metrics of a context: a collector that it is
// connected to, an archive set, metrics that a test made up. Overlays are sources
// that add to another one: names from a file, the metrics of event records, derived
// metrics. A context adds turns, a profile, and OpErrors to it; a group compares
// epochs. Neither knows what its source is.
//
// # Calls
//
// One call at a time: the context serialises them. Only Close, Epoch, Now and Sleep
// may be called at any time. What a caller passes is its own again when the call
// returns, but for a profile: the same pointer means the same profile, and what it
// points to does not change.
//
// # Errors
//
// An error that is a pdu.Error itself, not one that wraps it, says that the source
// has refused this request and that others are not concerned; a request that cannot
// be carried out at all wraps pdu.ErrIPC or is the cause of ctx. Methods that are
// asked about several things return a value for each, in their order, and in errs why
// there is none: errs is nil if there is no such error, or else as long as the
// values. Their last result is the error of the request as a whole; then there are no
// values.
//
// # A host
//
// Its calls are exchanges with the collector. When the connection breaks, all fail
// until Reconnect, or it reconnects by itself and reports the gap.
//
// # An archive set
//
// It has a position in time and a mode (pmSetMode(3)), which Dup copies. What is
// asked is true of that position: which names there are (those whose descriptors lie in
// an archive that covers it), instances, labels and texts as of it. Fetch gives the
// next record in the modes forward and back, and interpolated values at the position
// in the interpolating one, and then moves the position on by the step; r.Time is the
// time of the values. Past the last record, or before the first one in mode back,
// Fetch fails with ErrEnd. An epoch ends where another archive of the set begins
// and names or descriptors differ (Names), and at a <mark> record, which stands for
// a gap in the recording (Connection: rates do not go across it). The methods say what
// else is special. Mode and position are set by a method that hosts do not have: Open,
// the counterpart of Dial, keeps what it opens below the overlays, for that.
type Source interface {
	// Lookup finds the metrics of names. pdu.NoPMID stands where there is none.
	Lookup(ctx context.Context, names []string) (ids []pdu.PMID, errs Errors, err error)

	// Names are all names of a metric: at least one, or an error.
	Names(ctx context.Context, id pdu.PMID) ([]string, error)

	// Children are what lies directly below a name, "" for the root.
	Children(ctx context.Context, name string) ([]pmns.Child, error)

	// Traverse are the names of all metrics at and below a name.
	Traverse(ctx context.Context, name string) ([]string, error)

	// NamesLocation says where names are looked up, as pmGetPMNSLocation(3) does: 1 for
	// a file, 2 for a collector, 3 for an archive.
	NamesLocation() int

	// Descs describes metrics. A descriptor whose PMID is pdu.NoPMID stands where
	// there is none.
	Descs(ctx context.Context, ids []pdu.PMID) (descs []pdu.Desc, errs Errors, err error)

	// Instances are the instances of a domain, or the one that the request names. An
	// archive has those as of its position, or with the position at the start, before
	// any Fetch, all that ever were.
	Instances(ctx context.Context, req pdu.InstanceReq) ([]pdu.Instance, error)

	// Texts are help texts, of the very kind that is asked for: the context asks for
	// the other kind where there is none. "" and an error are the same. Archives have
	// them from version 3 on, others have pdu.ErrText.
	Texts(ctx context.Context, reqs []pdu.TextReq) (texts []string, errs Errors, err error)

	// Labels are the sets of labels of something, at most one of all classes but
	// pdu.LabelInstances, of which there is one for each instance that the profile
	// includes. A source without labels is pdu.ErrNoLabels.
	Labels(ctx context.Context, reqs []pdu.LabelReq, profile *pdu.Profile) (sets [][]pdu.LabelSet, errs Errors, err error)

	// HostName is the name of the host whose metrics these are: as its collector says,
	// or the label record of an archive. On an error, and if it is empty, there is another
	// in its place.
	HostName(ctx context.Context) (string, error)

	// Fetch refills r with the values of metrics under a profile: one set for each, in
	// their order, with the PMID asked for. It allocates nothing in a steady state. A
	// gap that has not been reported yet is the error, once, and there are no values. On an
	// error r may hold anything.
	Fetch(ctx context.Context, ids []pdu.PMID, profile *pdu.Profile, r *pdu.Result) error

	// Store sets values. A source that cannot be changed, as an archive, is
	// pdu.ErrPermission.
	Store(ctx context.Context, r *pdu.Result) error

	// Epoch says what values may be compared with each other. It changes only in calls
	// that take a ctx, and is up to date when such a call returns.
	Epoch() Epoch

	// Now is the time at the source: that of this computer for a host, the position in
	// an archive, or a time that a test made up.
	Now() time.Time

	// Sleep waits for a duration of that time, or until ctx ends, of which it returns
	// the cause. An archive does not wait: it moves the position on, in the
	// interpolating mode, and does nothing in the others. It is the pause of Group.Every.
	Sleep(ctx context.Context, d time.Duration) error

	// Reconnect begins anew at the origin, and thereby another epoch: a host gets
	// another connection, an archive set is opened again, to see what has been recorded
	// since, and keeps its position.
	Reconnect(ctx context.Context) error

	// Dup opens the same source again, independent of this one.
	Dup(ctx context.Context) (Source, error)

	// Close ends the source. Calls in progress, and later ones that need the origin,
	// fail with pdu.ErrNoContext.
	Close() error
}

// Errors are those about each of several things: nil if there are none, or else as
// many as things, with nil for what has not failed.
type Errors []error

// At is the error about one of the things.
func (e Errors) At(i int) error {
	if e == nil {
		return nil
	}
	return e[i]
}

// Set enters the error about one of n things.
func (e *Errors) Set(i, n int, err error) {
	if *e == nil {
		*e = make(Errors, n)
	}
	(*e)[i] = err
}

// An Epoch is a time in which the values and names of a source belong together. Its
// fields mean nothing but that they differ from those of another epoch.
type Epoch struct {
	// Connection differs when values are not the continuation of those before, as after
	// the loss of a connection: there are no rates across it, and names are looked up
	// again.
	Connection uint64
	// Names differs when names may stand for other metrics, instances included.
	Names uint64
	// Gap is the latest error with which a Fetch has reported a gap, nil if there was
	// none.
	Gap error
}

// ErrEnd is pdu.ErrEOL as the error of a source that has no more values, and not that
// of an agent. It ends Group.Every.
var ErrEnd error = endError{}

type endError struct{}

func (endError) Error() string { return pdu.ErrEOL.Error() }

func (endError) Unwrap() error { return pdu.ErrEOL }

// Sleep waits for a duration of this computer's time, or until ctx ends, of which it
// returns the cause.
func Sleep(ctx context.Context, d time.Duration) error {
	if d > 0 && ctx.Err() == nil {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-ctx.Done():
		case <-t.C:
			return nil
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// NewContext makes a *pmapi.Context on a source, whose name stands in errors. Package
// pmapi sets it, so that pmapitest can make contexts without an exported function.
var NewContext func(name string, src Source) any
