package report

import (
	"slices"

	"github.com/pcp-go/pcp/pdu"
)

// A layout is where values are in a report: columns, and the rows that a sample has. Reports that
// are not swapped have a column for each instance and one row for each sample. Swapped ones have a
// column for each label, which metrics may share, and a row for each name of an instance.
type layout struct {
	columns  []column
	rows     []row
	metrics  []placement // of each metric of the report
	domains  bool        // some metric has instances
	distinct int         // names of instances there are
}

// A column is a column of values.
type column struct {
	metric int          // of which it has the heading and the width
	inst   pdu.Instance // of reports that are not swapped
}

// A row is a row of values.
type row struct {
	name  string  // of the instance
	cells []int32 // the metric whose values each column has there, or nobody
}

// The index of a metric that a cell lacks, or of a cell that an instance lacks.
const nobody = -1

// A placement is where the values of a metric are.
type placement struct {
	insts   []pdu.Instance
	columns []int32 // of each of insts, or nobody
	rows    []int32
	head    []int32              // the first one of insts with the same id
	next    []int32              // the next one, or nobody
	first   map[pdu.InstID]int32 // index of insts
}

// singularRow is the name of the row of metrics without an instance domain, and of those without
// instances at the time.
const singularRow = "="

func rowName(m *Metric, inst pdu.Instance) string {
	if m.Singular() || inst.ID == pdu.NoInst {
		return singularRow
	}
	return inst.Name
}

// newLayout makes the layout of a report with the instances of each of its metrics that has a
// column for each.
func newLayout(metrics []Metric, insts [][]pdu.Instance) *layout {
	l := &layout{rows: make([]row, 1)}
	l.place(metrics, insts)
	for i := range metrics {
		p := &l.metrics[i]
		for k, inst := range p.insts {
			p.columns[k], p.rows[k] = int32(len(l.columns)), 0
			l.columns = append(l.columns, column{i, inst})
			l.rows[0].cells = append(l.rows[0].cells, int32(i))
		}
	}
	return l
}

// A sharing is how metrics share a column of a swapped report.
type sharing int

const (
	shareAll   sharing = iota // the first metric that has an instance
	shareFirst                // the first metric; the others have rows, but no cells
	shareOne                  // the first metric with instances; the others have no rows either
)

// newSwappedLayout makes the layout of a swapped report. Labels without instances have no column if
// they share by shareOne.
func newSwappedLayout(metrics []Metric, insts [][]pdu.Instance, share sharing) *layout {
	l := &layout{}
	l.place(metrics, insts)
	byLabel := map[string]int{} // index of columns
	for i := range metrics {
		if share == shareOne && len(insts[i]) == 0 {
			continue
		}
		if _, ok := byLabel[metrics[i].Label]; !ok {
			byLabel[metrics[i].Label] = len(l.columns)
			l.columns = append(l.columns, column{metric: i})
		}
	}
	byName := map[string]int{} // index of rows
	for i := range metrics {
		c, ok := byLabel[metrics[i].Label]
		owner := ok && l.columns[c].metric == i
		if !owner && share == shareOne {
			continue
		}
		p := &l.metrics[i]
		for k, inst := range p.insts {
			r := l.row(byName, rowName(&metrics[i], inst))
			cell := &l.rows[r].cells[c]
			if *cell == nobody && (owner || share == shareAll) {
				*cell = int32(i)
			}
			if *cell == int32(i) {
				p.columns[k], p.rows[k] = int32(c), int32(r)
			}
		}
	}
	return l
}

// row returns the index of the row of a name.
func (l *layout) row(byName map[string]int, name string) int {
	r, ok := byName[name]
	if !ok {
		r = len(l.rows)
		byName[name] = r
		l.rows = append(l.rows, row{name, slices.Repeat([]int32{nobody}, len(l.columns))})
	}
	return r
}

// place prepares the placements of metrics, in no cells yet.
func (l *layout) place(metrics []Metric, insts [][]pdu.Instance) {
	l.metrics = make([]placement, len(metrics))
	names := map[string]struct{}{}
	for i := range metrics {
		n := len(insts[i])
		all := slices.Repeat([]int32{nobody}, 4*n)
		p := placement{insts: insts[i], columns: all[:n:n], rows: all[n : 2*n : 2*n], head: all[2*n : 3*n : 3*n], next: all[3*n:], first: make(map[pdu.InstID]int32, n)}
		for k := n - 1; k >= 0; k-- {
			inst := insts[i][k]
			names[rowName(&metrics[i], inst)] = struct{}{}
			if next, ok := p.first[inst.ID]; ok {
				p.next[k] = next
			}
			p.first[inst.ID] = int32(k)
		}
		for k, inst := range insts[i] {
			p.head[k] = p.first[inst.ID]
		}
		l.metrics[i] = p
		l.domains = l.domains || !metrics[i].Singular()
	}
	l.distinct = len(names)
}

// find returns the first of the metric's instances with an id, or -1. In a sample instances mostly
// have the order of the placement; cursor is after the one that was found last.
func (p *placement) find(id pdu.InstID, cursor *int) int {
	i := *cursor
	if i >= len(p.insts) || p.insts[i].ID != id {
		first, ok := p.first[id]
		if !ok {
			return nobody
		}
		i = int(first)
	}
	*cursor = i + 1
	return int(p.head[i])
}
