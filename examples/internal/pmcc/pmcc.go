// Package pmcc is the common part of tools that are Python programs in PCP: how they open their
// source, and how they report errors. [Metrics] is for other tools, too.
package pmcc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// An Error is an error of the client library with its arguments. These tools print it on standard
// output and end with status 0.
type Error struct {
	Err  error
	Args []string
}

func (e *Error) Error() string {
	if e.Args == nil {
		return pcptool.Cause(e.Err).Error()
	}
	return fmt.Sprintf("%v %s", pcptool.Cause(e.Err), List(e.Args))
}

func (e *Error) Unwrap() error { return e.Err }

// List formats words as Python formats a list of them.
func List(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quote := "'"
		if strings.Contains(w, "'") && !strings.Contains(w, `"`) {
			quote = `"`
		}
		quoted[i] = quote + strings.ReplaceAll(strings.ReplaceAll(w, `\`, `\\`), quote, `\`+quote) + quote
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// Open opens the source of the command line and sets the times. Archives are read at an interval
// from the origin on, or record by record.
func Open(ctx context.Context, c *pcptool.Command, mode pmapi.Mode, interval time.Duration) (*pmapi.Context, error) {
	kind, name := c.Source()
	pc, err := c.OpenSource(ctx, kind, name)
	if err != nil {
		exit, ok := errors.AsType[*pcptool.ExitError](err)
		if !ok || errors.Is(err, errors.ErrUnsupported) {
			return nil, err
		}
		c.Report(exit.WithMessage(""))
		return nil, &Error{err, []string{name}}
	}
	err = c.SetTimes(ctx, pc)
	if err == nil && pcptool.IsArchive(pc) {
		if err = pc.SetMode(ctx, mode, c.Origin, interval); err != nil {
			err = &Error{Err: err}
		}
	}
	if err != nil {
		pc.Close()
		return nil, err
	}
	return pc, nil
}

// Lookup looks up metrics and their descriptors. The error names the metrics that the source lacks.
func Lookup(ctx context.Context, pc *pmapi.Context, names []string) ([]pdu.PMID, []pdu.Desc, error) {
	ids, err := pc.Lookup(ctx, names)
	var unknown []string
	for i, id := range ids {
		if id == pdu.NoPMID {
			unknown = append(unknown, names[i])
		}
	}
	switch {
	case unknown != nil:
		return nil, nil, &Error{pdu.ErrName, unknown}
	case err != nil:
		return nil, nil, &Error{Err: err}
	}
	descs, err := pc.Descs(ctx, ids)
	if err != nil {
		var failed []string
		for i, d := range descs {
			if d.PMID == pdu.NoPMID {
				failed = append(failed, names[i])
			}
		}
		return nil, nil, &Error{err, failed}
	}
	return ids, descs, nil
}

// Metrics are metrics that a tool fetches repeatedly.
type Metrics struct {
	Names []string
	Descs []pdu.Desc // of the last fetch; nil before the first
}

// Fetch fetches the metrics. It looks them up at first and when one of them has changed. Errors are
// those of Lookup, and *Error.
func (m *Metrics) Fetch(ctx context.Context, pc *pmapi.Context, r *pdu.Result) error {
	if m.Descs == nil {
		var err error
		if _, m.Descs, err = Lookup(ctx, pc, m.Names); err != nil {
			return err
		}
	}
	if err := m.fetch(ctx, pc, r); err != nil {
		return err
	}
	if !r.Changed.AffectsNames() {
		return nil
	}
	ids, err := pc.Lookup(ctx, m.Names) // NoPMID, which has no values, for a name that is unknown now
	if len(ids) != len(m.Names) {
		return &Error{Err: err}
	}
	descs, err := pc.Descs(ctx, ids)
	switch {
	case len(descs) != len(ids):
		return &Error{Err: err}
	case slices.Equal(descs, m.Descs):
		return nil
	}
	m.Descs = descs
	changed := r.Changed
	err = m.fetch(ctx, pc, r)
	r.Changed |= changed
	return err
}

// fetch fetches the metrics of Descs.
func (m *Metrics) fetch(ctx context.Context, pc *pmapi.Context, r *pdu.Result) error {
	ids := make([]pdu.PMID, len(m.Descs))
	for i, d := range m.Descs {
		ids[i] = d.PMID
	}
	if err := pc.Fetch(ctx, ids, r); err != nil {
		return &Error{Err: err}
	}
	return nil
}

// Report prints an error of a tool and returns its exit status: 0 for an error of the client
// library, as in these tools, and usage for others.
func Report(out io.Writer, c *pcptool.Command, err error, usage int) (status int) {
	if e, ok := errors.AsType[*Error](err); ok {
		fmt.Fprintf(out, "%s: %s\n", c.Name, terminal.Escape(e.Error()))
		return 0
	}
	return min(c.Report(err), usage)
}
