package pmapi

import (
	"context"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/internal/source"
	"github.com/pcp-go/pcp/pmns"
)

// A namesOverlay has the names of a tree instead of those of the source below.
type namesOverlay struct {
	source.Source
	names source.TreeNames
}

func (o *namesOverlay) Lookup(ctx context.Context, names []string) ([]pdu.PMID, source.Errors, error) {
	return o.names.Lookup(ctx, names)
}

func (o *namesOverlay) Names(ctx context.Context, id pdu.PMID) ([]string, error) {
	return o.names.Names(ctx, id)
}

func (o *namesOverlay) Children(ctx context.Context, name string) ([]pmns.Child, error) {
	return o.names.Children(ctx, name)
}

func (o *namesOverlay) Traverse(ctx context.Context, name string) ([]string, error) {
	return o.names.Traverse(ctx, name)
}

func (o *namesOverlay) Dup(ctx context.Context) (source.Source, error) {
	src, err := o.Source.Dup(ctx)
	if err != nil {
		return nil, err
	}
	return &namesOverlay{src, o.names}, nil
}

// Unwrap returns the source below.
func (o *namesOverlay) Unwrap() source.Source { return o.Source }

// trimNames returns a name space without the metrics whose descriptors a source lacks.
func trimNames(ctx context.Context, names *pmns.Tree, src source.Source) (*pmns.Tree, error) {
	var ids []pdu.PMID
	for _, id := range names.All() {
		ids = append(ids, id)
	}
	_, errs, err := src.Descs(ctx, ids)
	if err != nil {
		return nil, err
	}
	trimmed, i := pmns.Builder{AnyStart: true}, 0
	for name, id := range names.All() {
		if errs.At(i) == nil {
			if err := trimmed.Add(name, id); err != nil {
				return nil, err
			}
		}
		i++
	}
	return trimmed.Tree(), nil
}
