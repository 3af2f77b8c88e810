package tool

import (
	"context"
	"errors"
	"slices"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// Lookup finds the metrics of names, as pmLookupName(3) does: that some of several are unknown is no error, and pdu.NoPMID
// stands for those.
func Lookup(ctx context.Context, pc *pmapi.Context, names []string) ([]pdu.PMID, error) {
	ids, err := pc.Lookup(ctx, names)
	known := slices.ContainsFunc(ids, func(id pdu.PMID) bool { return id != pdu.NoPMID })
	unknown := errors.Is(err, pdu.ErrName) || errors.Is(err, pdu.ErrNonLeaf)
	if known || unknown && len(names) > 1 {
		return ids, nil
	}
	return ids, err
}

// Descs describes metrics, all at once. Where there is no descriptor there is an error.
func Descs(ctx context.Context, pc *pmapi.Context, ids []pdu.PMID) ([]pdu.Desc, []error) {
	descs, err := pc.Descs(ctx, ids)
	errs := make([]error, len(ids))
	for i := range errs {
		errs[i] = pmapi.ErrorAt(err, i)
	}
	if descs == nil {
		descs = slices.Repeat([]pdu.Desc{{PMID: pdu.NoPMID}}, len(ids))
	}
	return descs, errs
}
