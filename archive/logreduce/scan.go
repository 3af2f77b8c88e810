package logreduce

import (
	"context"
	"errors"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// scanTo reads the input records up to time t and marks their instances as seen. It copies marks to
// the new archive.
func (r *reducer) scanTo(ctx context.Context, t time.Time) error {
	for r.scanned == nil {
		if !r.ahead {
			if r.scanned = r.scan.FetchArchive(ctx, &r.record); r.scanned != nil {
				break
			}
		}
		if r.ahead = r.record.Time.After(t); r.ahead {
			return nil
		}
		r.seen, r.idle = r.seen+1, 0
		if r.record.Len() == 0 && r.record.Time.Before(r.Start) {
			continue
		}
		if r.record.Len() == 0 {
			if err := r.out.WriteMark(r.record.Time); err != nil {
				return err
			}
			continue
		}
		for _, set := range r.record.All() {
			if m := r.byID[set.PMID]; m != nil {
				m.see(set, r.now)
			}
		}
	}
	if errors.Is(r.scanned, pdu.ErrEOL) {
		return nil
	}
	return r.scanned
}
