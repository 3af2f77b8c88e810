package main

import (
	"context"
	"fmt"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// run prints the samples, the first at once and the others when it is time.
func (p *printer) run(ctx context.Context) {
	if p.samples == 0 {
		return
	}
	ticks := time.NewTicker(p.interval) // they keep their distance however long a sample takes
	defer ticks.Stop()
	p.gap = true
	if p.rates {
		p.runRates(ctx, ticks.C)
	} else {
		p.runValues(ctx, ticks.C)
	}
}

// runValues prints values as they are.
func (p *printer) runValues(ctx context.Context, ticks <-chan time.Time) {
	for r := new(pdu.Result); p.fetch(ctx, r); <-ticks {
		if set := r.At(0); p.good(set) {
			p.columns(ctx, set)
			if p.events() {
				p.arrays(ctx, set)
			} else {
				p.values(set)
			}
		}
		if p.last() {
			return
		}
	}
}

// runRates prints how a counter changes. A sample that comes first, or after one without values, is there for the next
// alone and does not count. After one without values that should have had a rate, the next is taken at once.
func (p *printer) runRates(ctx context.Context, ticks <-chan time.Time) {
	before, now := new(pdu.Result), new(pdu.Result)
	have, begun := false, false
	for p.fetch(ctx, now) {
		had, good := have, p.good(now.At(0))
		if good {
			p.columns(ctx, now.At(0))
		}
		switch {
		case had && good:
			p.rateRow(before, now)
		case good && begun:
			p.nothing()
		}
		if (had || !good) && p.last() {
			return
		}
		before, now, have = now, before, good
		begun = begun || had == good
		if good || !had {
			p.out.Flush()
			<-ticks
		}
	}
}

// last counts a sample and reports whether there are no more.
func (p *printer) last() bool {
	p.out.Flush()
	p.samples--
	return p.samples == 0
}

// fetch takes a sample. It reports false when the time for them is over, and ends the program if the collector fails.
func (p *printer) fetch(ctx context.Context, r *pdu.Result) bool {
	if err := p.pc.Fetch(ctx, []pdu.PMID{p.desc.PMID}, r); err != nil {
		p.out.Flush()
		fmt.Fprintln(p.errs)
		p.fatal("pmFetch: %s", tool.Reason(err))
	}
	r.SortInstances()
	return p.end.IsZero() || !r.Time.After(p.end)
}

// good reports whether there are values, and says so if there are none.
func (p *printer) good(set pdu.ValueSet) bool {
	if err := set.Err(); err != nil {
		p.out.Flush()
		fmt.Fprintf(p.errs, "\npmval: pmFetch: %s\n", tool.Reason(err))
	} else if set.Len() > 0 {
		return true
	} else {
		p.nothing()
	}
	p.gap = true
	return false
}

func (p *printer) nothing() {
	if !p.events() {
		fmt.Fprintln(p.out, "No values available")
	}
}

// columns labels the columns above the first row and above the first after a gap, and anew when there are instances
// without one. Events have none.
func (p *printer) columns(ctx context.Context, set pdu.ValueSet) {
	if p.desc.InDom == pdu.NoInDom || p.events() {
		return
	}
	if !p.gap {
		if p.chosen || !p.strange(set) {
			return
		}
		if err := p.lookAgain(ctx); err != nil {
			p.fail("%v", err)
		}
	}
	p.gap = false
	p.labels()
}
