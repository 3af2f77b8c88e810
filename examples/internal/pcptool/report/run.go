package report

import (
	"cmp"
	"context"
	"errors"
	"math"
	"time"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/ctxwait"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// setTimes sets what the header says of time.
func (r *Report) setTimes(ctx context.Context) error {
	h, o := &r.header, &r.opts
	h.Location = cmp.Or(r.times.Location, tool.LocalZone())
	h.Start = r.times.Origin
	end := r.times.Finish
	if !pcptool.IsArchive(r.pc) {
		if o.OverallRank || o.OverallRankAlt {
			return errOverall
		}
		h.Host = r.pc.HostName(ctx)
		if h.Start.IsZero() {
			h.Start = time.Now()
		}
	} else {
		label, err := r.pc.ArchiveLabel()
		if err != nil {
			return err
		}
		h.Host = label.Host
		if h.Start.IsZero() {
			h.Start = label.Start
		}
		if h.End, err = r.pc.ArchiveEnd(ctx); err != nil {
			h.End = time.Time{}
		}
		if end.IsZero() {
			end = h.End
		}
	}
	return r.setSamples(end)
}

// setSamples sets the number of samples until an end, which may be unknown, and their interval.
func (r *Report) setSamples(end time.Time) error {
	h, o := &r.header, &r.opts
	finish := !r.times.Finish.IsZero()
	runtime := time.Duration(0)
	if !end.IsZero() {
		runtime = end.Sub(h.Start)
	}
	if finish && o.Samples > 0 && runtime >= 0 { // an end before the start leaves the interval, as it does in pmrep
		o.Samples = max(2, o.Samples)
		o.Interval = (runtime / time.Duration(o.Samples-1)).Truncate(time.Microsecond) // as pmrep does
	}
	if o.Interval <= 0 {
		return errors.New("Interval must be greater than zero.")
	}
	h.Samples, h.Interval = o.Samples, o.Interval
	if o.Samples == 0 && !end.IsZero() && o.Interpol {
		h.Samples = samplesWithin(runtime, o.Interval)
		if finish {
			o.Samples = max(1, h.Samples)
		}
	}
	if o.Samples == 0 && finish {
		o.Samples = samplesWithin(runtime, o.Interval)
	}
	switch {
	case finish || !o.Interpol:
		h.Duration = runtime
	case h.Samples > 0:
		h.Duration = time.Duration(h.Samples-1) * h.Interval
	}
	if !pcptool.IsArchive(r.pc) && h.Samples > 0 {
		h.End = h.Start.Add(h.Duration)
	}
	return nil
}

// samplesWithin is how many samples there are in some time.
func samplesWithin(runtime, interval time.Duration) int {
	return max(0, int(min(runtime.Seconds()/interval.Seconds()+1, math.MaxInt32)))
}

// interpolates reports whether values of archives are interpolated, which those that are recorded
// are not.
func (r *Report) interpolates() bool { return r.opts.Interpol && r.opts.Output != OutputArchive }

// Run writes the report: the headers and the samples. It ends after as many samples as the options
// request, at the end of the source, or when the context ends, which is no error. The text of an
// error is PCP's.
func (r *Report) Run(ctx context.Context, p Printer) error {
	if err := p.Start(&r.header); err != nil {
		return err
	}
	if r.Started != nil {
		if err := r.Started(); err != nil {
			return err
		}
	}
	if err := r.goToStart(ctx); err != nil {
		return err
	}
	err := r.printSamples(ctx, p)
	if errors.Is(err, pdu.ErrEOL) || ctx.Err() != nil {
		err = nil
	}
	if err != nil {
		return err
	}
	if r.opts.OverallRank || r.opts.OverallRankAlt {
		if err := p.Rank(r.ranking()); err != nil {
			return err
		}
	}
	return p.Finish()
}

// goToStart makes the first fetch that of the first sample.
func (r *Report) goToStart(ctx context.Context) error {
	if r.times.Aligned && !pcptool.IsArchive(r.pc) {
		_ = ctxwait.Sleep(ctx, time.Until(r.times.Origin)) // the loop below sees ctx
	}
	return r.setMode(ctx)
}

// setMode goes to the start of the report in archives.
func (r *Report) setMode(ctx context.Context) error {
	switch {
	case !pcptool.IsArchive(r.pc):
		return nil
	case r.interpolates():
		return r.pc.SetMode(ctx, pmapi.ModeInterp, r.header.Start, r.header.Interval)
	}
	return r.pc.SetMode(ctx, pmapi.ModeForward, r.header.Start, 0)
}

// printSamples prints samples until an error.
func (r *Report) printSamples(ctx context.Context, p Printer) error {
	var s Sample
	began, changed := time.Now(), false
	for n := 0; r.opts.Samples == 0 || n < r.opts.Samples; n++ {
		if !pcptool.IsArchive(r.pc) && ctxwait.Sleep(ctx, time.Until(began.Add(time.Duration(n)*r.header.Interval))) != nil {
			return ctx.Err()
		}
		if changed && r.opts.NamesChange == NamesUpdate {
			if err := r.update(ctx, p); err != nil {
				return err
			}
		}
		if err := r.fetch(ctx, &s); err != nil {
			return err
		}
		changed = r.group.Changed()&pdu.ChangeNames != 0
		if r.isBeyond(s.Time) || changed && r.opts.NamesChange == NamesAbort {
			return nil
		}
		r.takeSize(p)
		r.findLabels(ctx, &s)
		if err := r.printSample(&s, p); err != nil {
			return err
		}
	}
	return nil
}

// isBeyond reports whether a record of an archive that is not interpolated is after the end. Where
// values are recorded without an option that asks for records, as many of those are as there would
// be samples.
func (r *Report) isBeyond(t time.Time) bool {
	return pcptool.IsArchive(r.pc) && !r.opts.Interpol && !r.times.Finish.IsZero() && t.Truncate(time.Second).After(r.times.Finish)
}

// fetch fetches the values of a sample. A metric without any has an empty set of them.
func (r *Report) fetch(ctx context.Context, s *Sample) error {
	now, err := r.group.Fetch(ctx)
	if err != nil && (ctx.Err() != nil || !isOfMetrics(err)) {
		return err
	}
	s.Time = now
	if len(s.Values) != len(r.series) {
		s.Values = make([][]Value, len(r.series))
	}
	r.sample(s)
	return nil
}

// isOfMetrics reports whether a fetch failed only because no metric is available at present. The
// report then goes on.
func isOfMetrics(err error) bool {
	switch pdu.FromError(err) {
	case pdu.ErrName, pdu.ErrNonLeaf, pdu.ErrPMID, pdu.ErrNoAgent, pdu.ErrAgain, pdu.ErrInDom, pdu.ErrBadDerive, pdu.ErrType, pdu.ErrConv:
		return true
	}
	return false
}

func (r *Report) printSample(s *Sample, p Printer) error {
	if r.opts.OverallRank || r.opts.OverallRankAlt {
		r.rankOverall(s)
		return nil
	}
	return p.Print(s)
}

// update finds all metrics again, as names have changed.
func (r *Report) update(ctx context.Context, p Printer) error {
	if err := r.prepare(ctx); err != nil {
		return err
	}
	return p.Update(&r.header)
}

// takeSize tells a printer the latest height of the terminal.
func (r *Report) takeSize(p Printer) {
	for {
		select {
		case rows := <-r.Rows:
			p.Resize(rows)
			continue
		default:
		}
		return
	}
}
