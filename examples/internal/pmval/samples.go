package pmval

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/pdu"
)

// printSamples prints the samples, the first at once and the others at the interval. Samples of an
// archive do not wait, except with -d.
func (p *printer) printSamples(ctx context.Context) error {
	if p.control != nil {
		p.samples = -1
	} else if p.samples == 0 {
		return nil
	} else if p.archive == "" || p.delay {
		ticker := time.NewTicker(p.interval) // keeps the interval however long a sample takes
		defer ticker.Stop()
		p.ticks = ticker.C
	}
	return p.printReports(ctx)
}

// printReports prints samples. It starts a new report when the name belongs to another metric.
func (p *printer) printReports(ctx context.Context) error {
	for {
		p.needLabels = true
		report := p.printGauge
		if p.rates {
			report = p.printCounter
		}
		if err := report(ctx); err != errOther {
			return err
		}
		if err := p.printHeader(); err != nil {
			return err
		}
	}
}

// errOther ends a report because the name now belongs to another metric. A new report starts.
var errOther = errors.New("another metric")

// wait waits for the next sample.
func (p *printer) wait() {
	if p.ticks != nil {
		p.out.Flush()
		<-p.ticks
	}
}

// printGauge prints samples without rates.
func (p *printer) printGauge(ctx context.Context) error {
	r := new(pdu.Result)
	for {
		more, err := p.fetch(ctx, r)
		if err != nil || !more {
			return err
		}
		switch set := p.values(r); {
		case p.mark:
			p.printMark()
		case p.checkValues(set):
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
		p.wait()
	}
}

// printCounter prints the rates of a counter. The first sample and a sample after one without
// values have no rate and do not count for -s. If a sample has no values where a rate was expected,
// the next is fetched at once. It counts as the first sample unless there has been a rate.
func (p *printer) printCounter(ctx context.Context) error {
	before, now := new(pdu.Result), new(pdu.Result)
	hadValues := false // of the sample before
	hadRate := false   // of any sample
	printed := false   // whether there has been a row or a gap
	for {
		if more, err := p.fetch(ctx, now); err != nil || !more {
			return err
		}
		hadValues, p.moved = hadValues && !p.moved, false
		hasValues := false
		if p.mark {
			p.printMark()
		} else if hasValues = p.checkValues(p.values(now)); hasValues {
			if err := p.updateLabels(ctx, p.values(now)); err != nil {
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
		switch {
		case hadValues == hasValues:
			printed = true
		case hadValues:
			printed = hadRate && !p.mark
		}
		wait := hasValues || !hadValues
		before, now, hadRate, hadValues = now, before, hadRate || hadValues && hasValues, hasValues
		if wait {
			p.wait()
		}
	}
}

// isLastSample counts a sample and reports whether it was the last.
func (p *printer) isLastSample() bool {
	p.samples--
	return p.samples == 0
}

// fetch fetches a sample. more is false after the end of the time window or the archive.
func (p *printer) fetch(ctx context.Context, r *pdu.Result) (more bool, err error) {
	for {
		if err := p.awaitStep(ctx); err != nil {
			return false, err
		}
		if err = p.fetchOnce(ctx, r); p.archive == "" || !errors.Is(err, pdu.ErrEOL) {
			break
		}
		if p.control == nil {
			return false, nil
		}
		if err := p.atEnd(); err != nil {
			return false, err
		}
	}
	if _, ok := errors.AsType[*pcptool.ExitError](err); ok || err == errOther {
		return false, err
	}
	if err != nil {
		p.out.Flush()
		fmt.Fprintln(os.Stderr)
		return false, p.Errorf("%s: %w", p.function(), pcptool.Cause(err))
	}
	r.SortInstances()
	p.now = r.Time
	more = p.mark || p.End.IsZero() || !r.Time.After(p.End)
	if !more && p.control != nil {
		_ = p.control.Done() // it does not matter if the server has gone
	}
	return more, nil
}

// function returns the name of the C library's function that fetches samples, for messages.
func (p *printer) function() string {
	if p.recorded {
		return "pmFetchArchive"
	}
	return "pmFetch"
}

func (p *printer) fetchOnce(ctx context.Context, r *pdu.Result) error {
	if p.recorded {
		return p.fetchRecorded(ctx, r)
	}
	if err := p.pc.Fetch(ctx, []pdu.PMID{p.desc.PMID}, r); err != nil {
		return err
	}
	if p.gone == nil && !r.Changed.AffectsNames() {
		return nil
	}
	if err := p.findAgain(ctx); err != nil || p.gone == nil {
		return err
	}
	var w pdu.ResultWriter
	w.Time = r.Time
	w.Begin(p.desc.PMID)
	w.Fail(pdu.FromError(p.gone))
	return w.Fill(r)
}

// findAgain looks up the metric after names have changed. If that fails it sets gone, and the next
// sample tries again. The error is errOther if the name belongs to another metric or the descriptor
// has changed.
func (p *printer) findAgain(ctx context.Context) error {
	ids, err := p.pc.Lookup(ctx, []string{p.name})
	var desc pdu.Desc
	if err == nil {
		desc, err = p.pc.Desc(ctx, ids[0])
	}
	if p.gone = err; err != nil || desc == p.desc {
		return nil
	}
	p.metric.desc = desc
	if err := p.findInstances(ctx, p.metric); err != nil {
		return err
	}
	p.describe()
	p.labelled = false
	return errOther
}

// checkValues reports whether the set has values. If not, it prints the reason.
func (p *printer) checkValues(set pdu.ValueSet) bool {
	if err := set.Err(); err != nil {
		p.out.Flush()
		fmt.Fprintf(os.Stderr, "\n%s: %s: %v\n", p.Name, p.function(), pcptool.Cause(err))
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
		p.printNote("No values available")
	}
}

// printNote prints a text instead of a row.
func (p *printer) printNote(text string) {
	if p.archive != "" {
		p.out.Write(append(p.appendStamp(p.buf[:0]), "  "...))
	}
	fmt.Fprintln(p.out, text)
}

// updateLabels prints labels above the first row, above the first row after a gap, and when
// instances without a column appear. Events have no labels.
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
