package pmapi

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/internal/derived"
)

// A DerivedDebug prints what is done with derived metrics in the form of the C library's debug
// option derive: definitions, what is wrong in files of them, names that are looked up, and metrics
// that are bound to those of a source. The C library prints more of names in an archive.
type DerivedDebug struct {
	Writer io.Writer
	// Parsed, Bound and Computed print expressions, too, as trees with addresses that only say
	// which part is which: as they are parsed, with their tokens; as they are bound; and with the
	// values of each fetch. They are the C library's options appl0, appl1 and appl2.
	Parsed, Bound, Computed bool
	// Desc is the lines about a descriptor, as pmPrintDesc(3) prints them; nil for none.
	Desc func(pdu.Desc) string
}

// SetDebug makes all that is done with the definitions be printed, at once those of event records'
// metrics; nil for nothing but what Control says. It must be called before there are contexts.
func (d *Derived) SetDebug(debug *DerivedDebug) {
	d.given.Store(debug)
	d.controlled(d.set.Controls())
	d.debug.Load().predefined()
}

// hook has the definitions tell what is done with them.
func (d *Derived) hook() {
	d.hooked.Do(func() {
		d.set.OnLoad = func(path string) { d.debug.Load().printf("pmLoadDerivedConfig(\"%s\")\n", path) }
		d.set.OnMistake = func(e *derived.ConfigError) { d.debug.Load().printf("%v\n", e) }
		d.set.OnParse = func(name, text string, failed *derived.SyntaxError) { d.debug.Load().parsed(name, text, failed) }
		d.set.OnDefine = func(index int, name string, e *derived.Expr) { d.debug.Load().defined(index, name, e) }
		d.set.OnControl = d.controlled
	})
}

// controlled has options of debugging take effect beside SetDebug, without which it is the standard
// error that is written to.
func (d *Derived) controlled(c derived.Controls) {
	debug := d.given.Load()
	if c.DebugSyntax || c.DebugSemantics || c.DebugEval {
		more := DerivedDebug{Writer: os.Stderr}
		if debug != nil {
			more = *debug
		}
		more.Parsed, more.Bound, more.Computed = more.Parsed || c.DebugSyntax, more.Bound || c.DebugSemantics, more.Computed || c.DebugEval
		debug = &more
	}
	d.debug.Store(debug)
}

// globalsBefore is how many global metrics the C library has before those that are defined: those
// of event records.
const globalsBefore = firstDerived - 1

func (d *DerivedDebug) printf(format string, args ...any) {
	if d != nil {
		fmt.Fprintf(d.Writer, format, args...)
	}
}

// parsed prints an expression that has been parsed, of which failed is what is wrong.
func (d *DerivedDebug) parsed(name, text string, failed *derived.SyntaxError) {
	if d == nil || !d.Parsed {
		return
	}
	d.printf("pmRegisterDerived: name=\"%s\" expr=\"%s\"\n", name, strings.TrimLeft(text, " \t"))
	derived.Trace(d.Writer, text, failed)
}

// opened prints that a context has been opened, which has so many metrics beside those of event
// records.
func (d *DerivedDebug) opened(metrics int) {
	if d != nil && d.Bound {
		d.printf("__dmopencontext(->ctx 0) called, %d derived metrics\n", metrics+globalsBefore)
	}
}

// predefined prints the definitions of event records' metrics, which the C library has before all
// others.
func (d *DerivedDebug) predefined() {
	if d == nil {
		return
	}
	for i, name := range eventNames {
		const expr = "anon(PM_TYPE_U32)"
		d.parsed(name, expr, nil)
		d.printf("pmRegisterDerived: global metric[%d] %s = %s\n", i, name, expr)
		if e, err := derived.Parse(expr); err == nil && d.Parsed {
			e.Dump(d.Writer)
		}
	}
}

// defined prints a definition.
func (d *DerivedDebug) defined(index int, name string, e *derived.Expr) {
	if d == nil {
		return
	}
	d.printf("pmRegisterDerived: global metric[%d] %s = %s\n", index+globalsBefore, name, strings.TrimLeft(e.String(), " \t"))
	if d.Parsed {
		e.Dump(d.Writer)
	}
}

func (d *DerivedDebug) describe(desc pdu.Desc) string {
	if d.Desc == nil {
		return ""
	}
	return d.Desc(desc)
}

// lookedUp prints what a name that the source does not have stands for.
func (d *DerivedDebug) lookedUp(name string, m *derivedMetric) {
	if m == nil {
		d.printf("__dmgetpmid: metric \"%s\" -> %v\n", name, pdu.ErrName)
	} else {
		d.printf("__dmgetpmid: metric \"%s\" -> PMID %v\n", name, m.id)
	}
}

// bound prints whether a metric could be bound, by its index. derivedOf is the derived metric that
// a name in it stands for, or nil; isKnown tells whether there is any metric of a name.
func (d *DerivedDebug) bound(index int, m *derivedMetric, derivedOf func(name string) *derivedMetric, isKnown func(name string) bool) {
	unknown, ok := errors.AsType[*derived.UnknownError](m.err)
	mistaken, _ := errors.AsType[*derived.SemanticError](m.err)
	switch {
	case mistaken != nil && mistaken.Detail != "" && d != nil && d.Bound:
		d.printf("Semantic error: %s\n", mistaken.Detail)
	case ok:
		where := ": " + unknown.Name
		if operand := derivedOf(unknown.Name); operand != nil {
			where = fmt.Sprintf(" (%s [%v])", unknown.Name, operand.id)
		} else {
			d.lookedUp(unknown.Name, nil)
		}
		d.printf("bind_expr: error: derived metric %s: operand%s: %v\n", m.Name, where, unknown.Err)
	case m.err == nil:
		for name := range m.Expr.Mentions() {
			if !isKnown(name) { // one of defined
				d.lookedUp(name, nil)
			}
		}
		d.printf("__dmbind: bind metric[%d] %s\n", index+globalsBefore, m.Name)
		if d.Bound {
			m.prog.Dump(d.Writer, m.id, false, d.describe)
		}
	}
}

// traversed prints whether a metric is among those below a name.
func (d *DerivedDebug) traversed(below string, m *derivedMetric) {
	if m.err == nil {
		d.printf("__dmtraverse: name=\"%s\" added \"%s\"\n", below, m.Name)
	} else {
		d.printf("__dmtraverse: name=\"%s\", omitting invalid child \"%s\"\n", below, m.Name)
	}
}

// computed prints the values of a metric at a place of a request.
func (d *DerivedDebug) computed(place int, m *derivedMetric) {
	if d != nil && d.Computed {
		m.prog.Trace(d.Writer, place, m.id)
		m.prog.Dump(d.Writer, m.id, true, d.describe)
	}
}

// prefetched prints what is fetched beside what was asked for.
func (d *DerivedDebug) prefetched(p *fetchPlan) {
	if d == nil || !d.Computed {
		return
	}
	var more []string
	for _, id := range p.asked {
		if !slices.Contains(p.ids, id) {
			more = append(more, id.String())
		}
	}
	if more != nil {
		d.printf("derived metrics prefetch added %d metrics: %s\n", len(more), strings.Join(more, " "))
	}
}
