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

// Options say how rules apply.
type Options struct {
	Version int           // of the archive that is written; 0 means that of the one that is read, which is the least
	Rescale bool          // convert the values of all metrics whose units change but not their dimension
	Warn    func(Warning) // gets what is odd about rules; nil drops it
	// Trace gets a line for each record that is read or written, as pmlogrewrite -D appl0 prints
	// it; nil drops it.
	Trace func(line string)
	// Desperate has Plan.Write leave what it has written before an error.
	Desperate bool
}

// A Plan is what rules change of one archive. One goroutine at a time.
//
//	plan, err := logrewrite.Options{}.Plan(set)
//	err = plan.Add(rules) // of several files one after the other
//	err = plan.Check()    // all of them together
//	err = plan.Write(ctx, "web1/20261123.new")
type Plan struct {
	opts    Options
	set     *archive.Set
	meta    *archive.Metadata
	names   *pmns.Tree
	label   archive.Label // as it was
	version int           // of what is written
	step    func(string)  // for tests of WriteInPlace

	rules int    // how many there were
	file  string // of the rule that is being added
	line  int

	host, zone, zoneinfo *string
	features             *uint32
	delta                *time.Duration

	indoms  []*indomSpec // in the order in which rules named them, as are the others
	metrics []*metricSpec
	texts   []*textSpec
	labels  []*labelSpec

	byInDom  map[pdu.InDom]*indomSpec
	byMetric map[pdu.PMID]*metricSpec
	byText   map[textKey][]*textSpec

	metricOrder []archive.Metric // all, in the order of the C library's hash tables, as are the others
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

// Plan makes a plan that changes nothing. The set must stay open. Several archives become one. A
// Version that is less than that of the archive, or not known, is pdu.ErrLabel.
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

// order sorts what the archive has as hash tables of the C library do.
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

// inTwoTables is the order of a table of tables.
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

// Add adds rules to those before. The error is an *Error. Of a rule with an error nothing else is
// done.
func (p *Plan) Add(rules Rules) error {
	for i := range rules.Rules {
		r := &rules.Rules[i]
		p.file = r.file
		if p.file == "" {
			p.file = rules.Name
		}
		if err := p.add(r); err != nil {
			return err
		}
	}
	p.file, p.line = rules.Name, rules.lines
	return nil
}

// add adds one rule.
func (p *Plan) add(r *Rule) error {
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
	var apply func(Change) error
	switch of := r.Of.(type) {
	case nil: // it ends with an error
	case Global:
		apply = p.changeGlobal
	case InDom:
		apply = p.beginInDoms(of)
	case Metric:
		apply = p.beginMetrics(of)
	case Text:
		apply = p.beginTexts(of)
	case Label:
		apply = p.beginLabels(of)
	}
	for i, c := range r.Do {
		warn(i)
		p.line = r.changeLine(i)
		if err := apply(c); err != nil {
			return err
		}
	}
	warn(len(r.Do))
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
	return &Error{File: p.file, Line: p.line, Text: fmt.Sprintf(format, args...), Semantic: true}
}

// wrong is the error of a change that a target does not have.
func (p *Plan) wrong(c Change) error { return p.errorf("%T is no change of this target", c) }

// changeGlobal applies a change of a Global.
func (p *Plan) changeGlobal(c Change) error {
	switch c := c.(type) {
	case SetHost:
		return p.setGlobal(&p.host, "hostname", p.label.Host, c.Name)
	case SetTimeZone:
		return p.setGlobal(&p.zone, "timezone", p.label.TimeZone, c.Zone)
	case SetZoneInfo:
		if p.version < 3 {
			return p.errorf("Global zoneinfo clause requires output archive version of 3 or greater")
		}
		return p.setGlobal(&p.zoneinfo, "zoneinfo", p.label.ZoneInfo, c.Zone)
	case SetFeatures:
		return p.setFeatures(c.Bits)
	case Shift:
		if p.delta != nil {
			return p.errorf("Duplicate global time clause")
		}
		if c.By == 0 {
			p.warn("Global time: No change")
			return nil
		}
		p.delta = &c.By
	default:
		return p.wrong(c)
	}
	return nil
}

// setGlobal sets a text of the label.
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
