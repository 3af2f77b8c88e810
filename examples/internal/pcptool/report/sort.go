package report

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/pcp-go/pcp/pdu"
)

// A sortable is a row and its sort value.
type sortable struct {
	row  int32
	atom pdu.Atom
}

// sortRows returns the rows in their order: first those that have values of the metrics to sort by,
// metric after metric, then the others.
func (p *stdout) sortRows(values [][]Value) []int32 {
	p.order = p.order[:0]
	p.ordered = slices.Grow(p.ordered[:0], len(p.layout.rows))[:len(p.layout.rows)]
	clear(p.ordered)
	for _, key := range p.h.Sort {
		p.sorting = p.sorting[:0]
		m, cursor := &p.layout.metrics[key.Metric], 0
		for k := range values[key.Metric] {
			v := &values[key.Metric][k]
			if i := m.find(v.Inst.ID, &cursor); i != nobody && m.rows[i] != nobody {
				p.sorting = append(p.sorting, sortable{m.rows[i], v.Atom})
			}
		}
		if key.Ascending {
			slices.SortStableFunc(p.sorting, func(a, b sortable) int { return compareAtoms(a.atom, b.atom) })
		} else {
			slices.SortStableFunc(p.sorting, func(a, b sortable) int { return compareAtoms(b.atom, a.atom) })
		}
		for _, s := range p.sorting {
			p.addRow(s.row)
		}
	}
	for r := range p.layout.rows {
		p.addRow(int32(r))
	}
	return p.order
}

// addRow adds a row to the order, if it is not there yet.
func (p *stdout) addRow(r int32) {
	if !p.ordered[r] {
		p.ordered[r] = true
		p.order = append(p.order, r)
	}
}

// compareAtoms compares two values of one metric.
func compareAtoms(a, b pdu.Atom) int {
	switch a.Type {
	case pdu.TypeString:
		return bytes.Compare(a.Bytes(), b.Bytes())
	case pdu.TypeFloat, pdu.TypeDouble:
		return cmp.Compare(real(a), real(b))
	case pdu.TypeU64:
		v, _ := pdu.As[uint64](a)
		w, _ := pdu.As[uint64](b)
		return cmp.Compare(v, w)
	}
	v, _ := pdu.As[int64](a)
	w, _ := pdu.As[int64](b)
	return cmp.Compare(v, w)
}
