package pmapi

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/internal/archivesource"
	"github.com/pcp-go/pcp/pmapi/internal/source"
	"github.com/pcp-go/pcp/pmns"
)

// Open opens a context on archives. Each path is a base name, any file of an archive, a directory,
// or a list of these separated by commas. All archives are read as one, in the order of time; see
// package archive. Open is ArchiveOptions.Open with the defaults.
//
//	c, err := pmapi.Open(ctx, "/var/log/pcp/pmlogger/web1/20261123")
//
// The context starts at the beginning of the archives, in ModeForward, and each Fetch moves it on.
// A Group needs no changes: its Every uses archive time and does not wait. Requests for metadata
// return what was valid at the position; see Context.Mode. Before the first record there are no
// instances and no labels yet, so fetch once before Instances and Labels, or use InstancesEver.
//
// If one of several archives is damaged, the others are read and a warning is logged to
// slog.Default. ArchiveOptions.Files.Damaged lets a program decide.
//
// Errors: pdu.ErrLogFile without a path, or if a file of an archive is missing; fs.ErrNotExist for
// a path that names no archive; and the others that archive.Error lists. The counterpart of
// pmNewContext(3) with PM_CONTEXT_ARCHIVE.
func Open(ctx context.Context, path ...string) (*Context, error) {
	return ArchiveOptions{}.Open(ctx, path...)
}

// ArchiveOptions are the options of contexts on archives. The zero value is ready for use.
type ArchiveOptions struct {
	// Files has the options for opening files.
	Files archive.Options
	// CounterWrap interpolates a decreased counter of an integer type as if it had passed its
	// greatest value once. The C library does so if PCP_COUNTER_WRAP is set.
	CounterWrap bool
	// IgnoreMarks interpolates across a mark if the records before and after it are at most this
	// far apart. math.MaxInt64 means all marks, and 0 means no mark. The C library does so if
	// PCP_IGNORE_MARK_RECORDS is set.
	IgnoreMarks time.Duration
	// PriorValues interpolates a number that is not a counter as the previous value, as PCP up to
	// 6.3.1 does, instead of the nearest value. It is for comparison with those releases.
	PriorValues bool
	// Names, if not nil, replaces the name space of the archives.
	Names *pmns.Tree
	// TrimNames removes from Names the dynamic parts and the metrics that are not in the archives.
	// The counterpart of pmTrimNameSpace(3).
	TrimNames bool
	// Derived are definitions of derived metrics. A context uses those defined when it is opened.
	// Nil means no derived metrics.
	Derived *Derived
}

// ArchiveOptionsFromEnv makes ArchiveOptions from the environment variables that the C library
// reads:
//
//	PCP_COUNTER_WRAP         CounterWrap, if it is set
//	PCP_IGNORE_MARK_RECORDS  IgnoreMarks, see ParseInterval; empty or 0 means all marks
//
// The variable PCP_INTERP_PRIOR, which the C library does not read, sets PriorValues if it is set.
//
// An invalid value is ignored, and err reports it with the text of the C library. The options are
// valid even then.
func ArchiveOptionsFromEnv() (o ArchiveOptions, err error) {
	_, o.CounterWrap = os.LookupEnv("PCP_COUNTER_WRAP")
	_, o.PriorValues = os.LookupEnv("PCP_INTERP_PRIOR")
	const name = "PCP_IGNORE_MARK_RECORDS"
	v, ok := os.LookupEnv(name)
	switch {
	case !ok:
		return o, nil
	case v == "":
		o.IgnoreMarks = archivesource.AllMarks
		return o, nil
	}
	d, err := ParseInterval(v)
	if err != nil {
		return o, fmt.Errorf("bad $%s: %w", name, err)
	}
	if o.IgnoreMarks = d; d == 0 {
		o.IgnoreMarks = archivesource.AllMarks
	}
	return o, nil
}

// Open opens a context on archives; see the function Open.
func (o ArchiveOptions) Open(ctx context.Context, path ...string) (*Context, error) {
	name := strings.Join(path, ",")
	if name == "" {
		return nil, &OpError{Op: "open", Err: fmt.Errorf("no archive is named: %w", pdu.ErrLogFile)}
	}
	set, err := o.Files.Open(ctx, name)
	if err != nil {
		return nil, &OpError{Op: "open", Host: name, Err: err}
	}
	src := archivesource.New(set, archivesource.Options{
		CounterWrap: o.CounterWrap, IgnoreMarks: o.IgnoreMarks, PriorValues: o.PriorValues,
	})
	names := o.Names
	if o.TrimNames && names != nil {
		if names, err = trimNames(ctx, names, src); err != nil {
			src.Close()
			return nil, &OpError{Op: "open", Host: name, Err: err}
		}
	}
	c := newContext(name, withOverlays(src, names, o.Derived))
	c.hostName = set.Label().Host
	return c, nil
}

// A Mode says how Fetch moves through archives.
type Mode int

// The modes, with the numbers of pmSetMode(3).
const (
	ModeLive    Mode = 0                               // the present values of a collector
	ModeInterp       = Mode(archivesource.ModeInterp)  // interpolated values at the position
	ModeForward      = Mode(archivesource.ModeForward) // the next record with any of the metrics
	ModeBack         = Mode(archivesource.ModeBack)    // the previous record with any of them
)

// String returns the name of the mode, such as "interp".
func (m Mode) String() string {
	switch m {
	case ModeLive:
		return "live"
	case ModeInterp:
		return "interp"
	case ModeForward:
		return "forward"
	case ModeBack:
		return "back"
	}
	return "mode " + strconv.Itoa(int(m))
}

// SetMode sets how Fetch moves through archives, and from where. The position becomes origin. If
// origin is the zero time, the position stays.
//
// In ModeForward and ModeBack, Fetch returns the values of the next or the previous record that has
// any of the metrics. After SetMode, that may be a record at the origin itself. A metric that the
// record lacks has no values. Records that step back in time are skipped.
//
// In ModeInterp, Fetch interpolates the values at the position from the records before and after
// it. Then the position moves on by step, which may be negative or 0. The rules for a value are:
//
//   - A counter is interpolated linearly between both records.
//   - Another number has the value of the nearest record, the earlier one if both are equally
//     near.
//   - A string or other value has the value of the record before.
//   - There is no value across a mark, before the first record of a metric and after its last one,
//     except that a discrete metric keeps its last value.
//
// Beyond the last record, or before the first one when the mode goes back, Fetch fails with
// pdu.ErrEOL.
//
// Errors: pdu.ErrMode for ModeLive on archives, and for the other modes on a collector. The
// counterpart of pmSetMode(3) and pmSetModeHighRes(3).
func (c *Context) SetMode(ctx context.Context, mode Mode, origin time.Time, step time.Duration) error {
	a := c.archive()
	err := c.inTurn(ctx, func() error {
		switch {
		case a != nil:
			return a.SetMode(archivesource.Mode(mode), origin, step)
		case mode != ModeLive:
			return pdu.ErrMode
		}
		return nil
	})
	return c.fail("set mode", mode.String(), err)
}

// Mode returns the mode, the position and the step of a context on archives. The position is the
// origin that was set, the time of the latest fetched record, or in ModeInterp the time of the next
// Fetch. Requests for instances and labels return what was valid at this time. On a collector, the
// mode is ModeLive and the position the present time.
func (c *Context) Mode() (mode Mode, position time.Time, step time.Duration) {
	a := c.archive()
	if a == nil {
		return ModeLive, c.src.Now(), 0
	}
	m, position, step := a.Mode()
	return Mode(m), position, step
}

// FetchArchive fetches the next record of an archive unchanged, in the direction of the mode, with
// all its metrics and instances. r.Len() is 0 for a mark. The position becomes the time of the
// record.
//
// Errors: pdu.ErrMode in ModeInterp, pdu.ErrNotArchive on a collector, pdu.ErrEOL at the end. The
// counterpart of pmFetchArchive(3).
func (c *Context) FetchArchive(ctx context.Context, r *pdu.Result) error {
	err := c.inArchive(ctx, func(a *archivesource.Source) error { return a.FetchRecord(ctx, r) })
	if err != nil {
		empty(r)
	}
	return c.fail("fetch", "", err)
}

// ArchiveLabel returns the label of the earliest archive. It has the start of the archives, the
// host that the values are from, and the time zone of the host. On a collector the error is
// pdu.ErrNotArchive. The counterpart of pmGetArchiveLabel(3).
func (c *Context) ArchiveLabel() (archive.Label, error) {
	a := c.archive()
	if a == nil {
		return archive.Label{}, c.fail("label", "", pdu.ErrNotArchive)
	}
	return a.Label(), nil
}

// ArchiveEnd returns the time of the last record. If the archives are being written, the next call
// may return a later time. An incomplete last record does not count. On a collector the error is
// pdu.ErrNotArchive; if no record is complete it is pdu.ErrLogRec. The counterpart of
// pmGetArchiveEnd(3).
func (c *Context) ArchiveEnd(ctx context.Context) (time.Time, error) {
	var end time.Time
	err := c.inArchive(ctx, func(a *archivesource.Source) (err error) {
		end, err = a.End()
		return err
	})
	return end, c.fail("end", "", err)
}

// InstancesEver returns the instances that a domain had at any time in the archives, each with its
// latest name. The instances of the latest record come first, then those that only earlier records
// have. Errors: pdu.ErrNotArchive, pdu.ErrInDom, pdu.ErrInDomLog. The counterpart of
// pmGetInDomArchive(3).
func (c *Context) InstancesEver(ctx context.Context, d pdu.InDom) ([]pdu.Instance, error) {
	list, err := c.instancesEver(ctx, pdu.InstanceReq{InDom: d, Inst: pdu.NoInst})
	return list, c.fail("instances", d.String(), err)
}

// InstIDEver returns the number of the instance with a name, or with that name up to the first
// space. If several instances have had the name, it returns the latest. Errors: those of
// InstancesEver, pdu.ErrInstLog. The counterpart of pmLookupInDomArchive(3).
func (c *Context) InstIDEver(ctx context.Context, d pdu.InDom, name string) (pdu.InstID, error) {
	list, err := c.instancesEver(ctx, pdu.InstanceReq{InDom: d, Inst: pdu.NoInst, Name: name})
	if err == nil && name == "" {
		err = pdu.ErrInstLog // the request was for all
	}
	if err != nil {
		return 0, c.fail("instance", name, err)
	}
	return list[0].ID, nil
}

// InstNameEver returns the latest name of an instance. Errors: those of InstancesEver,
// pdu.ErrInstLog. The counterpart of pmNameInDomArchive(3).
func (c *Context) InstNameEver(ctx context.Context, d pdu.InDom, id pdu.InstID) (string, error) {
	list, err := c.instancesEver(ctx, pdu.InstanceReq{InDom: d, Inst: id})
	if err == nil && id == pdu.NoInst {
		err = pdu.ErrInstLog // the request was for all
	}
	if err != nil {
		return "", c.fail("instance", strconv.Itoa(int(id)), err)
	}
	return list[0].Name, nil
}

func (c *Context) instancesEver(ctx context.Context, req pdu.InstanceReq) (list []pdu.Instance, err error) {
	err = c.inArchive(ctx, func(a *archivesource.Source) (err error) {
		list, err = a.AllInstances(req)
		return err
	})
	return list, err
}

// knownInstances returns the instances that a name in a Group may refer to: those at the position
// and, on archives, then those of other times. A fetch group of the C library refreshes its
// instances when a result has an unknown one. It then knows the instances of the record that libpcp
// has read ahead to. Libpcp also keeps the values of instances that have gone, so the values that C
// returns depend on the interval.
func (c *Context) knownInstances(ctx context.Context, d pdu.InDom) (list []pdu.Instance, err error) {
	if c.archive() == nil {
		return c.Instances(ctx, d)
	}
	err = c.inArchive(ctx, func(a *archivesource.Source) (err error) {
		list, err = a.KnownInstances(ctx, d)
		return err
	})
	return list, c.fail("instances", d.String(), err)
}

// inArchive calls f in turn with the archives of the context. On other sources it fails with
// pdu.ErrNotArchive.
func (c *Context) inArchive(ctx context.Context, f func(*archivesource.Source) error) error {
	a := c.archive()
	if a == nil {
		return pdu.ErrNotArchive
	}
	return c.inTurn(ctx, func() error { return f(a) })
}

// archive returns the source beneath all overlays if it reads archives, or else nil.
func (c *Context) archive() *archivesource.Source { return archiveBelow(c.src) }

// archiveBelow returns the source beneath all overlays if it reads archives, or else nil.
func archiveBelow(src source.Source) *archivesource.Source {
	for {
		if a, ok := src.(*archivesource.Source); ok {
			return a
		}
		over, ok := src.(interface{ Unwrap() source.Source })
		if !ok {
			return nil
		}
		src = over.Unwrap()
	}
}

// isReadBackwards reports whether a source is an archive that each fetch moves back in time.
func isReadBackwards(src source.Source) bool {
	a := archiveBelow(src)
	return a != nil && a.IsBackwards()
}
