package report

import (
	"slices"

	"github.com/pcp-go/pcp/pdu"
)

// A table is the values of a sample in the cells of a layout, which may depend on the sample.
type table struct {
	o       *Options
	h       *Header
	layout  *layout
	insts   [][]pdu.Instance // that have values; of layouts that depend on the sample
	follows bool             // layout is that of insts
	grid    []*Value         // the cells, row after row; nil where there is no value
	reports int              // since the header
}

// layOut makes the layout of the instances known at the start.
func (t *table) layOut(h *Header) {
	t.h = h
	all := make([][]pdu.Instance, len(h.Metrics))
	for i := range all {
		all[i] = h.Metrics[i].Instances
	}
	t.layout, t.follows = t.newLayout(all), false
}

func (t *table) newLayout(insts [][]pdu.Instance) *layout {
	switch {
	case !t.o.Swapped:
		return newLayout(t.h.Metrics, insts)
	case t.o.DynamicHeader:
		return newSwappedLayout(t.h.Metrics, insts, shareOne)
	case t.o.FixedHeader:
		return newSwappedLayout(t.h.Metrics, insts, shareFirst)
	}
	return newSwappedLayout(t.h.Metrics, insts, shareAll)
}

// perSample reports whether the layout depends on the sample.
func (t *table) perSample() bool { return t.o.DynamicHeader || t.o.FixedHeader }

// follow makes the layout of the instances that have values, if they are others than before. It
// reports whether they are.
func (t *table) follow(values [][]Value) bool {
	if t.follows && sameInstances(t.insts, values) {
		return false
	}
	t.insts = make([][]pdu.Instance, len(t.h.Metrics))
	for i := range min(len(values), len(t.insts)) {
		for _, v := range values[i] {
			t.insts[i] = append(t.insts[i], v.Inst)
		}
	}
	t.layout, t.follows = t.newLayout(t.insts), true
	return true
}

// sameInstances reports whether the values are of these instances.
func sameInstances(insts [][]pdu.Instance, values [][]Value) bool {
	return slices.EqualFunc(insts, values, func(insts []pdu.Instance, values []Value) bool {
		return slices.EqualFunc(insts, values, func(inst pdu.Instance, v Value) bool { return inst == v.Inst })
	})
}

// fill puts the values of a sample where they belong.
func (t *table) fill(values [][]Value) {
	n := len(t.layout.rows) * len(t.layout.columns)
	t.grid = slices.Grow(t.grid[:0], n)[:n]
	clear(t.grid)
	for m := range min(len(values), len(t.layout.metrics)) {
		p, cursor := &t.layout.metrics[m], 0
		for k := range values[m] {
			v := &values[m][k]
			for i := p.find(v.Inst.ID, &cursor); i != nobody; i = int(p.next[i]) {
				c := p.columns[i]
				if c == nobody {
					continue
				}
				if cell := &t.grid[int(p.rows[i])*len(t.layout.columns)+int(c)]; *cell == nil {
					*cell = v
				}
			}
		}
	}
}
