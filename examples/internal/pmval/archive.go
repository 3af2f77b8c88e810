package pmval

import (
	"context"
	"time"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// openArchive prepares for the samples of an archive: from the origin on at the interval, or the
// recorded ones with -U and for events.
func (p *printer) openArchive(ctx context.Context, name string) error {
	p.archive = name
	p.layout = [...]string{pcptool.StampLayout, pcptool.DateMicroStampLayout, pcptool.DateHighResStampLayout}[min(p.stamps, 2)]
	// As in pmval(1), steps are in milliseconds.
	mode, interval := pmapi.ModeInterp, p.interval.Truncate(time.Millisecond)
	if p.recorded = p.recorded || p.isEvents(); p.recorded {
		mode, interval = pmapi.ModeForward, 0
		p.samples = p.Samples
	}
	if err := p.pc.SetMode(ctx, mode, p.Origin, interval); err != nil {
		return p.Errorf("pmSetMode: %w", pcptool.Cause(err))
	}
	return nil
}

// fetchRecorded reads the next record with the metric, or a mark.
func (p *printer) fetchRecorded(ctx context.Context, r *pdu.Result) error {
	for {
		if err := p.pc.FetchArchive(ctx, r); err != nil {
			return err
		}
		p.mark = r.Len() == 0
		if _, ok := p.find(r); ok || p.mark {
			return nil
		}
	}
}

// find returns the metric's set in a sample, which may be a whole record.
func (p *printer) find(r *pdu.Result) (set pdu.ValueSet, ok bool) {
	for _, s := range r.All() {
		if s.PMID == p.desc.PMID {
			return s, true
		}
	}
	return set, false
}

// values returns the metric's set in a sample, empty in a mark.
func (p *printer) values(r *pdu.Result) pdu.ValueSet {
	set, _ := p.find(r)
	return set
}

// printMark prints that recording was interrupted.
func (p *printer) printMark() {
	p.printNote("Archive logging suspended")
	p.needLabels = true
}
