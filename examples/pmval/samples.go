package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// printSamples prints the samples, the first at once and the others at the interval.
func (p *printer) printSamples(ctx context.Context) error {
	if p.samples == 0 {
		return nil
	}
	ticker := time.NewTicker(p.interval) // keeps the interval however long a sample takes
	defer ticker.Stop()
	p.needLabels = true
	if p.rates {
		return p.printCounter(ctx, ticker.C)
	}
	return p.printGauge(ctx, ticker.C)
}

// printGauge prints samples as they are.
func (p *printer) printGauge(ctx context.Context, ticks <-chan time.Time) error {
	r := new(pdu.Result)
	for {
		if more, err := p.fetch(ctx, r); err != nil || !more {
			return err
		}
		if set := r.At(0); p.checkValues(set) {
			if err := p.updateLabels(ctx, set); err != nil {
				return err
			}
			if p.isEvents() {
				p.printEvents(ctx, set)
			} else if err := p.printValues(set); err != nil {
				return err
			}
		}
		if p.isLastSample() {
			return nil
		}
		<-ticks
	}
}

// printCounter prints how a counter changes. A sample that comes first, or after one without values, has no rate; it does
// not count as a sample of -s. After one without values where there would have been a rate, the next is fetched at once.
func (p *printer) printCounter(ctx context.Context, ticks <-chan time.Time) error {
	before, now := new(pdu.Result), new(pdu.Result)
	hadValues, printed := false, false // of the sample before; whether there has been a row or a gap
	for {
		if more, err := p.fetch(ctx, now); err != nil || !more {
			return err
		}
		hasValues := p.checkValues(now.At(0))
		if hasValues {
			if err := p.updateLabels(ctx, now.At(0)); err != nil {
				return err
			}
		}
		switch {
		case hadValues && hasValues:
			if err := p.printRates(before, now); err != nil {
				return err
			}
		case hasValues && printed:
			p.printNoValues()
		}
		if (hadValues || !hasValues) && p.isLastSample() {
			return nil
		}
		printed = printed || hadValues == hasValues
		wait := hasValues || !hadValues
		before, now, hadValues = now, before, hasValues
		if wait {
			p.out.Flush()
			<-ticks
		}
	}
}

// isLastSample counts a sample and reports whether it was the last.
func (p *printer) isLastSample() bool {
	p.out.Flush()
	p.samples--
	return p.samples == 0
}

// fetch fetches a sample. more is false when the time window has ended.
func (p *printer) fetch(ctx context.Context, r *pdu.Result) (more bool, err error) {
	if err := p.pc.Fetch(ctx, []pdu.PMID{p.desc.PMID}, r); err != nil {
		p.out.Flush()
		fmt.Fprintln(os.Stderr)
		return false, p.Errorf("pmFetch: %w", tool.Cause(err))
	}
	r.SortInstances()
	return p.End.IsZero() || !r.Time.After(p.End), nil
}

// checkValues reports whether there are values. If there are none, it prints that or why.
func (p *printer) checkValues(set pdu.ValueSet) bool {
	if err := set.Err(); err != nil {
		p.out.Flush()
		fmt.Fprintf(os.Stderr, "\npmval: pmFetch: %v\n", tool.Cause(err))
	} else if set.Len() > 0 {
		return true
	} else {
		p.printNoValues()
	}
	p.needLabels = true
	return false
}

func (p *printer) printNoValues() {
	if !p.isEvents() {
		fmt.Fprintln(p.out, "No values available")
	}
}

// updateLabels prints labels above the first row and above the first after a gap, and again when there are instances
// without a column. Events have none.
func (p *printer) updateLabels(ctx context.Context, set pdu.ValueSet) error {
	if p.desc.InDom == pdu.NoInDom || p.isEvents() {
		return nil
	}
	if !p.needLabels {
		if p.selected || p.allHaveColumns(set) {
			return nil
		}
		if err := p.refreshInstances(ctx, p.metric); err != nil {
			return err
		}
	}
	p.needLabels = false
	p.printLabels()
	return nil
}
