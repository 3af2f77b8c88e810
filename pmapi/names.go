package pmapi

import (
	"context"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/internal/source"
	"github.com/pcp-go/pcp/pmns"
)

// Lookup finds the metrics of names. It returns one PMID for each name, in their order. One
// exchange looks all names up. Unknown names are then requested again one by one, to learn the
// reasons.
//
// The PMID of a name without a metric is pdu.NoPMID, and the error is a *BulkError: pdu.ErrName for
// an unknown name, pdu.ErrNonLeaf for one that has others below it. Without names the error is
// pdu.ErrTooSmall. The counterpart of pmLookupName(3), which does not fail if some names among
// several are unknown.
func (c *Context) Lookup(ctx context.Context, names []string) ([]pdu.PMID, error) {
	ids, errs, err := c.lookup(ctx, names)
	if err != nil {
		return nil, err
	}
	return ids, c.bulkError("lookup", errs, func(i int) string { return names[i] })
}

// lookup finds PMIDs. Its last error is about all names.
func (c *Context) lookup(ctx context.Context, names []string) (ids []pdu.PMID, errs source.Errors, err error) {
	if len(names) == 0 {
		return nil, nil, c.fail("lookup", "", pdu.ErrTooSmall)
	}
	err = c.inTurn(ctx, func() (err error) {
		ids, errs, err = c.src.Lookup(ctx, names)
		return err
	})
	return ids, errs, c.fail("lookup", names[0], err)
}

// Name returns the name of a metric, or one of its names if it has several. Errors: pdu.ErrPMID,
// and pdu.ErrNoAgent for a domain without an agent. The counterpart of pmNameID(3).
func (c *Context) Name(ctx context.Context, id pdu.PMID) (string, error) {
	names, err := c.Names(ctx, id)
	if err != nil {
		return "", err
	}
	return names[0], nil
}

// Names returns all names of a metric, at least one. Errors are those of Name. The counterpart of
// pmNameAll(3).
func (c *Context) Names(ctx context.Context, id pdu.PMID) ([]string, error) {
	var names []string
	err := c.inTurn(ctx, func() (err error) {
		names, err = c.src.Names(ctx, id)
		return err
	})
	return names, c.fail("name", id.String(), err)
}

// Children returns the components directly below a name, "" for the root, in the order of the name
// space. A metric has no children. Errors: pdu.ErrName for an unknown name. The counterpart of
// pmGetChildrenStatus(3).
func (c *Context) Children(ctx context.Context, name string) ([]pmns.Child, error) {
	var children []pmns.Child
	err := c.inTurn(ctx, func() (err error) {
		children, err = c.src.Children(ctx, name)
		return err
	})
	return children, c.fail("children", name, err)
}

// Traverse returns the names of all metrics at and below a name, or all names for "", in the order
// of the name space. Errors: pdu.ErrName for an unknown name. On agents of package local, there may
// be names with an error: those before the dynamic subtree that has failed. The names of a reply of
// more than 256 KiB share its memory; see Instances. The counterpart of pmTraversePMNS(3).
func (c *Context) Traverse(ctx context.Context, name string) ([]string, error) {
	var names []string
	err := c.inTurn(ctx, func() (err error) {
		names, err = c.src.Traverse(ctx, name)
		return err
	})
	return names, c.fail("traverse", name, err)
}
