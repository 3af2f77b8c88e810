package pcptool

import (
	"context"
	"errors"
	"slices"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// Lookup finds the metrics of names as pmLookupName(3) does, for tools that continue without some
// of them. A name without a metric yields pdu.NoPMID. If there are several names, unknown ones are
// no error. Lookup returns other errors of pmapi.Context.Lookup for a single name, or if no name
// was found.
func Lookup(ctx context.Context, pc *pmapi.Context, names []string) ([]pdu.PMID, error) {
	ids, err := pc.Lookup(ctx, names)
	found := slices.ContainsFunc(ids, func(id pdu.PMID) bool { return id != pdu.NoPMID })
	unknown := errors.Is(err, pdu.ErrName) || errors.Is(err, pdu.ErrNonLeaf)
	if found || unknown && len(names) > 1 {
		return ids, nil
	}
	return ids, err
}
