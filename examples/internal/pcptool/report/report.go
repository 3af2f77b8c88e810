package report

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// Times say when the samples of a report are. The zero Times begin now, or at the start of an
// archive, and have no end.
type Times struct {
	Location *time.Location // in which times are reported; nil means tool.LocalZone
	// Origin is the time of the first sample. A live report waits for it only if Aligned is set.
	Origin  time.Time
	Aligned bool
	// Finish ends the report: that of an archive is at its end at the latest. With Options.Samples,
	// it sets the interval.
	Finish time.Time
}

// A Report is a report on metrics of a source, with headers that are made when it is. It is for one
// goroutine at a time.
type Report struct {
	// Started, if there is one, is called after the headers have been written. Its error ends the
	// report.
	Started func() error
	// Rows are the heights that the terminal gets, for RepeatAuto; it may be nil.
	Rows <-chan int

	pc     *pmapi.Context
	opts   Options
	specs  []Spec
	times  Times
	header Header

	domains    map[pdu.InDom][]pdu.Instance
	series     []*series
	predicates []int // indexes of metrics
	survivors  map[pdu.InDom]map[pdu.InstID]bool
	group      *pmapi.Group
	meta       metadata // for an archive
}

// New looks up the metrics of a report and checks the options against them. Formulas are defined as
// derived metrics of the context. The text of an error is that of pmrep(1); it wraps that of a
// request.
func New(ctx context.Context, pc *pmapi.Context, o Options, specs []Spec, times Times) (*Report, error) {
	if len(specs) == 0 {
		return nil, errNoMetrics
	}
	r := &Report{pc: pc, opts: o, specs: slices.Clone(specs), times: times, survivors: map[pdu.InDom]map[pdu.InstID]bool{}}
	if err := r.opts.reconcile(); err != nil {
		return nil, err
	}
	for _, s := range specs {
		if s.Formula != "" {
			if err := defineError(pc.Derive(ctx, s.Name, s.Formula)); err != nil {
				return nil, err
			}
		}
	}
	for _, name := range r.opts.Predicates {
		if !slices.ContainsFunc(r.specs, func(s Spec) bool { return s.Name == name }) {
			r.specs = append(r.specs, Spec{Name: name, Width: Unset, Precision: Unset})
		}
	}
	if pcptool.IsArchive(pc) {
		r.header.Archive = o.Source
	} else {
		r.opts.Interpol = true
	}
	if err := r.setTimes(ctx); err != nil {
		return nil, err
	}
	if err := r.setMode(ctx); err != nil { // labels are those of the start
		return nil, err
	}
	return r, r.prepare(ctx)
}

var errNoMetrics = errors.New("No metrics specified.")

// prepare finds the metrics, at the start and when names have changed.
func (r *Report) prepare(ctx context.Context) error {
	r.domains = map[pdu.InDom][]pdu.Instance{}
	if err := r.resolve(ctx); err != nil {
		return err
	}
	if err := r.findPredicates(); err != nil {
		return err
	}
	if err := r.findSortKeys(); err != nil {
		return err
	}
	r.header.Columns = 0
	for _, m := range r.header.Metrics {
		r.header.Columns += len(m.Instances)
	}
	r.group = r.pc.Group()
	r.findTexts(ctx)
	for i, c := range r.series {
		c.addTo(r.group, &r.header.Metrics[i], r.opts.CounterWrap)
	}
	return nil
}

// findPredicates finds the metrics that are predicates.
func (r *Report) findPredicates() error {
	r.predicates = nil
	for _, name := range r.opts.Predicates {
		i := slices.IndexFunc(r.header.Metrics, func(m Metric) bool { return m.Name == name })
		if i < 0 {
			return fmt.Errorf("Predicate metric %s filtered out.", name)
		}
		m := &r.header.Metrics[i]
		switch {
		case m.Singular():
			return errors.New("Predicate metric must have instances.")
		case m.Desc.Type == pdu.TypeString:
			return errors.New("Predicate metric values must be numeric.")
		}
		r.predicates = append(r.predicates, i)
	}
	return nil
}

// findSortKeys finds the metrics that determine the order of rows.
func (r *Report) findSortKeys() error {
	r.header.Sort = nil
	for _, text := range r.opts.SortMetrics {
		name, ascending := strings.CutPrefix(text, "-")
		i := slices.IndexFunc(r.header.Metrics, func(m Metric) bool { return m.Name == name })
		switch {
		case i < 0:
			return fmt.Errorf("Sort reference metric %s not part of metrics.", name)
		case r.header.Metrics[i].Singular():
			return errors.New("Sort reference metric must have instances.")
		}
		r.header.Sort = append(r.header.Sort, SortKey{Metric: i, Ascending: ascending})
	}
	return nil
}

// Header describes the report.
func (r *Report) Header() *Header { return &r.header }

// Options returns the effective options of the report, after New has changed those that other
// options exclude.
func (r *Report) Options() *Options { return &r.opts }
