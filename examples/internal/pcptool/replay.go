package pcptool

import (
	"context"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// IsArchive reports whether a context is on archives.
func IsArchive(pc *pmapi.Context) bool {
	mode, _, _ := pc.Mode()
	return mode != pmapi.ModeLive
}

// FetchAtOrigin fetches metrics for a tool that prints them once, as pminfo(1) and pmprobe(1) do.
// On an archive it fetches from the first record at or after Origin that has any of them,
// independent of earlier fetches. Call SetTimes first. Errors are those of pmapi.Context.Fetch.
func (c *Command) FetchAtOrigin(ctx context.Context, pc *pmapi.Context, ids []pdu.PMID, r *pdu.Result) error {
	if IsArchive(pc) {
		if err := pc.SetMode(ctx, pmapi.ModeForward, c.Origin, 0); err != nil {
			return err
		}
	}
	return pc.Fetch(ctx, ids, r)
}
