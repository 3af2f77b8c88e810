package source

import (
	"context"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmns"
)

// TreeNames are the methods of a Source about names, for one whose names are in a tree.
type TreeNames struct{ Tree *pmns.Tree }

// Lookup finds the metrics of names.
func (t TreeNames) Lookup(_ context.Context, names []string) ([]pdu.PMID, Errors, error) {
	ids := make([]pdu.PMID, len(names))
	var errs Errors
	for i, name := range names {
		id, err := t.Tree.Lookup(name)
		if err != nil {
			id = pdu.NoPMID
			errs.Set(i, len(names), err)
		}
		ids[i] = id
	}
	return ids, errs, nil
}

// Names returns all names of a metric.
func (t TreeNames) Names(_ context.Context, id pdu.PMID) ([]string, error) {
	names := t.Tree.Names(id)
	if len(names) == 0 {
		return nil, pdu.ErrPMID
	}
	return names, nil
}

// Children returns what lies directly below a name.
func (t TreeNames) Children(_ context.Context, name string) ([]pmns.Child, error) {
	return t.Tree.Children(name)
}

// Traverse returns the names of all metrics at and below a name.
func (t TreeNames) Traverse(_ context.Context, name string) ([]string, error) {
	all, err := t.Tree.Traverse(name)
	if err != nil {
		return nil, err
	}
	var names []string
	for n := range all {
		names = append(names, n)
	}
	return names, nil
}
