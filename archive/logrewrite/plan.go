package logrewrite

import (
	"fmt"
	"slices"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/internal/hashorder"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmns"
)

// Options configure a rewrite. The zero value keeps the version of the archive and ignores
// warnings.
type Options struct {
	Version int           // of the output, at least that of the input; 0 means that of the input
	Rescale bool          // convert values whenever units change within one dimension
	Warn    func(Warning) // if not nil, called for each rule without effect or suspicious rule
	// Desperate makes Plan.Write keep an incomplete output after an error.
	Desperate bool
}

// A Plan holds the changes that rules make to one archive. Only one goroutine may use it at a time.
// Add, Check and one of the Write methods are called in this order:
//
//	plan, err := logrewrite.Options{}.Plan(set)
//	err = plan.Add(rules) // once for each rules file
//	err = plan.Check()    // all rules together
//	err = plan.Write(ctx, "web1/20261123.new")
type Plan struct {
	opts    Options
	set     *archive.Set
	meta    *archive.Metadata
	names   *pmns.Tree
	label   archive.Label // of the input
	version int           // of the output
	step    func(string)  // called before each step of WriteInPlace, for tests

	rules int    // number of rules so far
	file  string // of the current rule
	line  int

	host, zone, zoneinfo *string
	features             *uint32
	delta                *time.Duration

	indoms  []*indomSpec // in the order of the rules, as the others
	metrics []*metricSpec
	texts   []*textSpec
	labels  []*labelSpec

	byInDom  map[pdu.InDom]*indomSpec
	byMetric map[pdu.PMID]*metricSpec
	byText   map[textKey][]*textSpec

	metricOrder []archive.Metric // all, in the order of the C library's hash tables, as the others
	indomOrder  []*archive.InDom
	textOrder   []archive.TextRecord
	labelOrder  []labelKey
}

type textKey struct {
	kind  pdu.TextKind
	ident uint32
}

type labelKey struct {
	class pdu.LabelClass
	ident uint32
}

// Plan returns a plan without rules for an archive set, which must stay open. The output is one
// archive, even if the set has several. The error is pdu.ErrLabel if Version is unknown or below
// the archive's.
func (o Options) Plan(set *archive.Set) (*Plan, error) {
	p := &Plan{opts: o, set: set, meta: set.Metadata(), label: set.Label(),
		byInDom: map[pdu.InDom]*indomSpec{}, byMetric: map[pdu.PMID]*metricSpec{}, byText: map[textKey][]*textSpec{}}
	p.names = p.meta.Names()
	for _, a := range set.Archives() {
		p.version = max(p.version, o.Version, a.Label().Version)
	}
	if o.Version != 0 && o.Version != p.version || p.version > 3 {
		return nil, fmt.Errorf("logrewrite: version %d of an archive of version %d: %w", o.Version, p.label.Version, pdu.ErrLabel)
	}
	if p.opts.Warn == nil {
		p.opts.Warn = func(Warning) {}
	}
	p.order()
	return p, nil
}

// order sorts the metadata in the order of libpcp's hash tables, which pmlogrewrite shows.
func (p *Plan) order() {
	metrics := slices.Collect(p.meta.Metrics())
	p.metricOrder = inHashOrder(metrics, func(m archive.Metric) uint32 { return uint32(m.PMID) })
	p.indomOrder = inHashOrder(slices.Collect(p.meta.InDoms()), func(d *archive.InDom) uint32 { return uint32(d.ID) })
	p.textOrder = inTwoTables(slices.Collect(p.meta.Texts()),
		func(t archive.TextRecord) (uint32, uint32) { return uint32(t.Kind), t.Ident })
	var labels []labelKey
	for l := range p.meta.AllLabels() {
		labels = append(labels, labelKey{l.Class, l.Ident})
	}
	p.labelOrder = inTwoTables(labels, func(l labelKey) (uint32, uint32) { return uint32(l.class), l.ident })
}

func inHashOrder[T any](list []T, key func(T) uint32) []T {
	keys := make([]uint32, len(list))
	for i, v := range list {
		keys[i] = key(v)
	}
	sorted := make([]T, 0, len(list))
	for _, i := range hashorder.Of(keys) {
		sorted = append(sorted, list[i])
	}
	return sorted
}

// inTwoTables sorts list in the order of a hash table of hash tables.
func inTwoTables[T any](list []T, keys func(T) (outer, inner uint32)) (sorted []T) {
	var outer []uint32
	inner := map[uint32][]T{}
	for _, v := range list {
		k, _ := keys(v)
		if inner[k] == nil {
			outer = append(outer, k)
		}
		inner[k] = append(inner[k], v)
	}
	for _, i := range hashorder.Of(outer) {
		sorted = append(sorted, inHashOrder(inner[outer[i]], func(v T) uint32 { _, k := keys(v); return k })...)
	}
	return sorted
}

// Add adds rules to the plan. It stops at the first error, which is an *Error.
func (p *Plan) Add(rules Rules) error {
	p.file = rules.name
	for i := range rules.rules {
		if err := p.add(&rules.rules[i]); err != nil {
			return err
		}
	}
	p.line = rules.lines
	return nil
}

// add adds one rule.
func (p *Plan) add(r *rule) error {
	notes := r.notes
	warn := func(before int) {
		for len(notes) > 0 && notes[0].before <= before {
			p.line = notes[0].line
			p.always("%s", notes[0].text)
			notes = notes[1:]
		}
	}
	warn(-1)
	p.rules++
	p.line = r.line
	var apply func(change) error
	switch of := r.target.(type) {
	case nil: // Parse failed in the target
	case globalTarget:
		apply = p.changeGlobal
	case indomTarget:
		apply = p.beginInDoms(of)
	case metricTarget:
		apply = p.beginMetrics(of)
	case textTarget:
		apply = p.beginTexts(of)
	case labelTarget:
		apply = p.beginLabels(of)
	}
	for i, c := range r.changes {
		warn(i)
		p.line = r.lines[i]
		if err := apply(c); err != nil {
			return err
		}
	}
	warn(len(r.changes))
	return nil
}

func (p *Plan) warn(format string, args ...any) {
	p.opts.Warn(Warning{File: p.file, Line: p.line, Text: fmt.Sprintf(format, args...)})
}

func (p *Plan) always(format string, args ...any) {
	p.opts.Warn(Warning{File: p.file, Line: p.line, Text: fmt.Sprintf(format, args...), Always: true})
}

func (p *Plan) errorf(format string, args ...any) error {
	return &Error{File: p.file, Line: p.line, Text: fmt.Sprintf(format, args...)}
}

func (p *Plan) semantic(format string, args ...any) error {
	return &Error{File: p.file, Line: p.line, Text: fmt.Sprintf(format, args...), semantic: true}
}

// wrong returns an error for a change that the target does not support.
func (p *Plan) wrong(c change) error { return p.errorf("%T is no change of this target", c) }

// changeGlobal applies a change to the archive label or the times.
func (p *Plan) changeGlobal(c change) error {
	switch c := c.(type) {
	case setHost:
		return p.setGlobal(&p.host, "hostname", p.label.Host, c.name)
	case setTimeZone:
		return p.setGlobal(&p.zone, "timezone", p.label.TimeZone, c.zone)
	case setZoneInfo:
		if p.version < 3 {
			return p.errorf("Global zoneinfo clause requires output archive version of 3 or greater")
		}
		return p.setGlobal(&p.zoneinfo, "zoneinfo", p.label.ZoneInfo, c.zone)
	case setFeatures:
		return p.setFeatures(c.bits)
	case shift:
		if p.delta != nil {
			return p.errorf("Duplicate global time clause")
		}
		if c.by == 0 {
			p.warn("Global time: No change")
			return nil
		}
		p.delta = &c.by
	default:
		return p.wrong(c)
	}
	return nil
}

// setGlobal sets a text field of the label.
func (p *Plan) setGlobal(to **string, what, was, is string) error {
	if *to != nil {
		return p.errorf("Duplicate global %s clause", what)
	}
	if was == is {
		p.warn("Global %s (%s): No change", what, is)
		return nil
	}
	*to = &is
	return nil
}

func (p *Plan) setFeatures(set uint32) error {
	switch {
	case p.version < 3:
		return p.errorf("Global features clause requires output archive version of 3 or greater")
	case p.features != nil:
		return p.errorf("Duplicate global features clause")
	case p.label.Features == set:
		p.warn("Global features (%d): No change", int32(set))
		return nil
	}
	p.features = &set
	return nil
}

// Changes reports whether the rules change anything.
func (p *Plan) Changes() bool {
	return p.changesGlobal() ||
		slices.ContainsFunc(p.indoms, (*indomSpec).changes) || slices.ContainsFunc(p.metrics, (*metricSpec).changes) ||
		slices.ContainsFunc(p.texts, (*textSpec).changes) || slices.ContainsFunc(p.labels, (*labelSpec).changes)
}

func (p *Plan) changesGlobal() bool {
	return p.host != nil || p.zone != nil || p.zoneinfo != nil || p.features != nil || p.delta != nil
}
