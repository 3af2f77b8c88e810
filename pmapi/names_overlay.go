package pmapi

import (
	"context"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/internal/source"
	"github.com/pcp-go/pcp/pmns"
)

// withOverlays is a source as contexts use it: with the metrics of event records,
// and names from a tree instead of its own, unless that is nil.
func withOverlays(src source.Source, names *pmns.Tree) source.Source {
	if names != nil {
		src = &namesOverlay{src, names}
	}
	return &eventOverlay{src}
}

// A namesOverlay has the names of a tree instead of those of the source below.
type namesOverlay struct {
	source.Source
	tree *pmns.Tree
}

func (o *namesOverlay) Lookup(_ context.Context, names []string) ([]pdu.PMID, source.Errors, error) {
	ids := make([]pdu.PMID, len(names))
	var errs source.Errors
	for i, name := range names {
		id, err := o.tree.Lookup(name)
		if err != nil {
			id = pdu.NoPMID
			errs.Set(i, len(names), err)
		}
		ids[i] = id
	}
	return ids, errs, nil
}

func (o *namesOverlay) Names(_ context.Context, id pdu.PMID) ([]string, error) {
	names := o.tree.Names(id)
	if len(names) == 0 {
		return nil, pdu.ErrPMID
	}
	return names, nil
}

func (o *namesOverlay) Children(_ context.Context, name string) ([]pmns.Child, error) {
	return o.tree.Children(name)
}

func (o *namesOverlay) Traverse(_ context.Context, name string) ([]string, error) {
	all, err := o.tree.Traverse(name)
	if err != nil {
		return nil, err
	}
	var names []string
	for n := range all {
		names = append(names, n)
	}
	return names, nil
}

func (o *namesOverlay) NamesLocation() source.Location { return source.LocalNames }

func (o *namesOverlay) Dup(ctx context.Context) (source.Source, error) {
	src, err := o.Source.Dup(ctx)
	if err != nil {
		return nil, err
	}
	return &namesOverlay{src, o.tree}, nil
}
