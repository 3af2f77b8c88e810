package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// minWidth is the least width of a column.
const minWidth = 3

// A candidate is a metric that a Spec stands for, before it is known whether it can be reported.
type candidate struct {
	spec Spec // of the metric
	name string
	id   pdu.PMID
	desc pdu.Desc
	err  error // of the name or the descriptor
}

// resolve finds the metrics that specifications stand for.
func (r *Report) resolve(ctx context.Context) error {
	all, err := r.lookup(ctx)
	if err != nil {
		return err
	}
	if err := r.describe(ctx, all); err != nil {
		return err
	}
	r.header.Metrics, r.series = nil, nil
	var ids []pdu.PMID
	known := 0
	for _, c := range all {
		if r.opts.IgnoreUnknown && isUnknown(c.err) {
			continue
		}
		known++
		if c.err == nil && slices.Contains(ids, c.id) {
			continue
		}
		m, col, err := r.newMetric(ctx, c)
		switch {
		case err != nil && r.opts.IgnoreIncompat && !isUnknown(c.err) && isIncompatible(err):
			continue
		case err != nil:
			return err
		case m == nil:
			continue
		}
		ids = append(ids, c.id)
		r.header.Metrics = append(r.header.Metrics, *m)
		r.series = append(r.series, col)
	}
	switch {
	case known == 0:
		return errors.New("Not one known metric found.")
	case len(r.header.Metrics) == 0:
		return r.noInstances() // also if no type of a metric can be reported
	}
	if err := r.convert(); err != nil {
		return err
	}
	if len(r.header.Metrics) == 0 {
		return errors.New("No compatible metrics found.")
	}
	return nil
}

// convert finds the conversion of each metric's values. If the options ignore incompatible metrics,
// it drops those that cannot be converted.
func (r *Report) convert() error {
	metrics, all := r.header.Metrics[:0], r.series[:0]
	for i, c := range r.series {
		m := r.header.Metrics[i]
		var err error
		if c.conversion, err = r.opts.conversionOf(c.spec, m.Desc); err != nil {
			if r.opts.IgnoreIncompat && errors.Is(err, pdu.ErrConv) {
				continue
			}
			return err
		}
		m.Unit = c.label
		metrics, all = append(metrics, m), append(all, c)
	}
	r.header.Metrics, r.series = metrics, all
	return nil
}

// noInstances is the error of a report whose metrics have no instances.
func (r *Report) noInstances() error {
	return &noInstancesError{r.opts.Instances}
}

// A noInstancesError reports that no requested instance has anything to report.
type noInstancesError struct{ requested []string }

func (e *noInstancesError) Error() string { return "No matching instances found." }

// request is what pmrep(1) prints on standard output after the error, which may be nothing.
func (e *noInstancesError) request() string {
	if len(e.requested) == 0 {
		return ""
	}
	quoted := make([]string, len(e.requested))
	for i, text := range e.requested {
		quoted[i] = quotePython(text)
	}
	return "\nRequested global instances:\n[" + strings.Join(quoted, ", ") + "]\n"
}

// An invalidError says that a metric cannot be reported.
type invalidError struct {
	name string
	err  error
}

func (e *invalidError) Error() string {
	code := pdu.FromError(e.err)
	return fmt.Sprintf("Invalid metric %s (%s %v).", e.name, symbol(code), code)
}

func (e *invalidError) Unwrap() error { return e.err }

func isUnknown(err error) bool { return errors.Is(err, pdu.ErrName) }

// isIncompatible reports whether an error is one that Options.IgnoreIncompat ignores.
func isIncompatible(err error) bool {
	_, ok := errors.AsType[*invalidError](err)
	return ok
}

// lookup looks up the names of the specifications, and the metrics below names without a metric.
func (r *Report) lookup(ctx context.Context) ([]candidate, error) {
	names := make([]string, len(r.specs))
	for i, s := range r.specs {
		names[i] = s.Name
	}
	ids, failures, err := lookupAll(ctx, r.pc, names)
	if err != nil {
		return nil, err
	}
	var all []candidate
	at := map[string]int{} // in all
	put := func(c candidate, explicit bool) {
		i, ok := at[c.name]
		switch {
		case !ok:
			at[c.name] = len(all)
			all = append(all, c)
		case explicit:
			all[i] = c
		}
	}
	for i, s := range r.specs {
		if names[i] != "" && !errors.Is(failures[i], pdu.ErrNonLeaf) && !errors.Is(failures[i], pdu.ErrName) {
			put(candidate{spec: s, name: names[i], id: ids[i], err: failures[i]}, true)
			continue
		}
		leaves, err := r.pc.Traverse(ctx, names[i])
		if err != nil {
			put(candidate{spec: s, name: names[i], err: err}, true)
			continue
		}
		ids, failures, err := lookupAll(ctx, r.pc, leaves)
		if err != nil {
			return nil, err
		}
		for j, name := range leaves {
			put(candidate{spec: s, name: name, id: ids[j], err: failures[j]}, false)
		}
	}
	return all, nil
}

// lookupAll looks up names, with an error for each.
func lookupAll(ctx context.Context, pc *pmapi.Context, names []string) ([]pdu.PMID, []error, error) {
	failures := make([]error, len(names))
	if len(names) == 0 {
		return nil, failures, nil
	}
	ids, err := pc.Lookup(ctx, names)
	if _, ok := errors.AsType[*pmapi.BulkError](err); err != nil && !ok {
		return nil, nil, err
	}
	for i := range failures {
		failures[i] = pmapi.ErrorAt(err, i)
	}
	return ids, failures, nil
}

// describe requests the descriptors of metrics.
func (r *Report) describe(ctx context.Context, all []candidate) error {
	var ids []pdu.PMID
	var known []int
	for i, c := range all {
		if c.err == nil {
			ids = append(ids, c.id)
			known = append(known, i)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	descs, err := r.pc.Descs(ctx, ids)
	if _, ok := errors.AsType[*pmapi.BulkError](err); err != nil && !ok {
		return err
	}
	for j, i := range known {
		all[i].desc, all[i].err = descs[j], pmapi.ErrorAt(err, j)
	}
	return nil
}

// newMetric makes the metric of a candidate, nil if none of its instances are reported.
func (r *Report) newMetric(ctx context.Context, c candidate) (*Metric, *series, error) {
	if c.err != nil {
		return nil, nil, &invalidError{c.name, c.err}
	}
	if c.desc.Type < 0 || c.desc.Type > pdu.TypeString || c.desc.Type == pdu.TypeAggregate {
		return nil, nil, &invalidError{c.name, pdu.ErrType}
	}
	insts, err := r.instances(ctx, c.desc.InDom)
	if err != nil {
		return nil, nil, &invalidError{c.name, err}
	}
	m := &Metric{Name: c.name, Label: cmp.Or(c.spec.Label, headLabel(c.name)), Desc: c.desc, Raw: r.opts.isRaw(c.spec)}
	m.Width = r.opts.width(c.spec, m.Label)
	m.Precision = r.opts.precision(c.spec)
	col := &series{spec: c.spec}
	if m.Singular() {
		if r.opts.OmitFlat && !slices.Contains(r.opts.Predicates, m.Name) {
			return nil, nil, nil
		}
		m.Instances = []pdu.Instance{{ID: pdu.NoInst}}
		return m, col, r.addLabels(ctx, m)
	}
	texts := c.spec.Instances
	if len(texts) == 0 {
		texts = r.opts.Instances
	}
	filters, err := newFilters(texts)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case len(filters) == 0:
	case r.opts.LiveFilter:
		col.live = filters
	default:
		if insts = selectInstances(filters, insts); len(insts) == 0 {
			return nil, nil, nil
		}
		col.selected = map[pdu.InstID]bool{}
		for _, i := range insts {
			col.selected[i.ID] = true
		}
	}
	m.Instances = insts
	if len(insts) == 0 {
		m.Instances = []pdu.Instance{{ID: pdu.NoInst}}
	}
	return m, col, r.addLabels(ctx, m)
}

// instances are the instances of a domain, in archives those of all times.
func (r *Report) instances(ctx context.Context, d pdu.InDom) ([]pdu.Instance, error) {
	if d == pdu.NoInDom {
		return nil, nil
	}
	if insts, ok := r.domains[d]; ok {
		return insts, nil
	}
	get := r.pc.Instances
	if pcptool.IsArchive(r.pc) {
		get = r.pc.InstancesEver
	}
	insts, err := get(ctx, d)
	if err == nil {
		r.domains[d] = insts
	}
	return insts, err
}

// width is the width of the columns of a metric.
func (o *Options) width(s Spec, label string) int {
	width := 0
	switch {
	case o.WidthForce != Unset:
		width = o.WidthForce
	case s.Width != Unset:
		width = s.Width
	case o.Width != 0:
		width = o.Width
	case o.SeparateHeader:
		width = separateWidth
	}
	if width == 0 {
		width = utf8.RuneCountInString(label)
	}
	return max(width, minWidth)
}

// separateWidth is the width of columns whose headings are elsewhere.
const separateWidth = 8

func (o *Options) precision(s Spec) int {
	switch {
	case o.PrecisionForce != Unset:
		return o.PrecisionForce
	case s.Precision != Unset:
		return s.Precision
	}
	return o.Precision
}

// addLabels sets the texts of the labels of a metric.
func (r *Report) addLabels(ctx context.Context, m *Metric) error {
	if !r.opts.IncludeLabels {
		return nil
	}
	sets, err := r.pc.Labels(ctx, m.Desc.PMID)
	if err != nil {
		sets = nil // as where there are none
	}
	m.Labels = map[pdu.InstID]string{pdu.NoInst: labelsText(sets...)}
	if m.Singular() {
		return nil
	}
	insts, err := r.pc.InstanceLabels(ctx, m.Desc.InDom)
	if err != nil {
		insts = nil
	}
	for _, i := range m.Instances {
		m.Labels[i.ID] = m.Labels[pdu.NoInst]
	}
	for _, set := range insts {
		m.Labels[set.Inst] = labelsText(append(slices.Clone(sets), set)...)
	}
	return nil
}

// labelsText is the text of labels, "{'name':'value','name':'value'}": each where it is first, with
// its last value.
func labelsText(sets ...pdu.LabelSet) string {
	var names []string
	values := map[string]string{}
	for _, set := range sets {
		for l := range set.All() {
			if _, ok := values[l.Name]; !ok {
				names = append(names, l.Name)
			}
			values[l.Name] = l.Text()
		}
	}
	var b strings.Builder
	for i, name := range names {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "'%s':'%s'", name, values[name])
	}
	return "{" + b.String() + "}"
}
