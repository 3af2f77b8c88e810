package pmtop

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pmapi"
)

// A tableSpec says what a table shows: a row for each instance of some metrics.
type tableSpec struct {
	title   string
	metrics []metricScale
	columns []columnSpec
	order   int // the column whose greatest values come first
}

// A metricScale is a metric and the text for pmapi.Scale; empty for values without Scale.
type metricScale struct{ name, scale string }

// A columnSpec is a column of a table.
type columnSpec struct {
	heading string
	of      func(v []float64) float64 // v are the values of the table's metrics
	format  func(float64) string
	heat    bool // it is a percentage; what is near 100 stands out
}

const columnWidth = 9

// value returns the function of a column that is the sum of some metrics.
func value(indexes ...int) func([]float64) float64 {
	return func(v []float64) float64 {
		sum := 0.0
		for _, i := range indexes {
			sum += v[i]
		}
		return sum
	}
}

var disks = &tableSpec{
	title: "DISK",
	metrics: []metricScale{{"disk.dev.read", "count / sec"}, {"disk.dev.write", "count / sec"}, {"disk.dev.read_bytes", "byte / sec"}, {"disk.dev.write_bytes", "byte / sec"},
		{"disk.dev.read_rawactive", "millisec / sec"}, {"disk.dev.write_rawactive", "millisec / sec"}, {"disk.dev.avactive", "%"}},
	columns: []columnSpec{
		{"reads/s", value(0), count, false},
		{"writes/s", value(1), count, false},
		{"read B/s", value(2), size, false},
		{"writ. B/s", value(3), size, false},
		{"await ms", func(v []float64) float64 { return per(v[4]+v[5], v[0]+v[1]) }, count, false},
		{"busy %", value(6), percent, true},
	},
	order: 5,
}

var interfaces = &tableSpec{
	title: "NETWORK",
	metrics: []metricScale{{"network.interface.in.bytes", "byte / sec"}, {"network.interface.out.bytes", "byte / sec"},
		{"network.interface.in.packets", "count / sec"}, {"network.interface.out.packets", "count / sec"}, {"network.interface.in.errors", "count / sec"}, {"network.interface.out.errors", "count / sec"},
		{"network.interface.in.drops", "count / sec"}, {"network.interface.out.drops", "count / sec"}},
	columns: []columnSpec{
		{"in B/s", value(0), size, false},
		{"out B/s", value(1), size, false},
		{"in pkt/s", value(2), count, false},
		{"out pkt/s", value(3), count, false},
		{"errors/s", value(4, 5), count, false},
		{"drops/s", value(6, 7), count, false},
	},
	order: 0,
}

var processes = &tableSpec{
	title: "PROCESS",
	metrics: []metricScale{{"proc.psinfo.utime", "%"}, {"proc.psinfo.stime", "%"}, {"proc.psinfo.rss", "byte"}, {"proc.psinfo.threads", ""},
		{"proc.io.read_bytes", "byte / sec"}, {"proc.io.write_bytes", "byte / sec"}},
	columns: []columnSpec{
		{"cpu %", value(0, 1), percent, true},
		{"user %", value(0), percent, false},
		{"sys %", value(1), percent, false},
		{"resident", value(2), size, false},
		{"threads", value(3), whole, false},
		{"read B/s", value(4), size, false},
		{"writ. B/s", value(5), size, false},
	},
	order: 0,
}

// per returns a / b, 0 if both are 0.
func per(a, b float64) float64 {
	if a == 0 && b == 0 {
		return 0
	}
	return a / b
}

// A table is a tableSpec with the items of a group that it reads.
type table struct {
	*tableSpec
	sets []*pmapi.Set[float64]
}

// A row is one instance of a table.
type row struct {
	name   string
	values []float64 // of the metrics, NaN where there is none
	cells  []float64 // of the columns
}

func (s *tableSpec) add(g *pmapi.Group) *table {
	t := &table{tableSpec: s}
	for _, m := range s.metrics {
		t.sets = append(t.sets, add(g, m.name, m.scale))
	}
	return t
}

// add adds all instances of a metric.
func add(g *pmapi.Group, name, scale string) *pmapi.Set[float64] {
	if scale == "" {
		return pmapi.AddSet[float64](g, name)
	}
	return pmapi.AddSet[float64](g, name, pmapi.Scale(scale))
}

// read returns the values that the group has fetched, in the order of the view.
func (t *table) read() []row {
	byName := map[string]int{}
	var rows []row
	for k, set := range t.sets {
		for i := range set.Len() {
			inst, v, err := set.At(i)
			if err != nil {
				v = math.NaN()
			}
			at, ok := byName[inst.Name]
			if !ok {
				at = len(rows)
				byName[inst.Name] = at
				rows = append(rows, t.newRow(inst.Name))
			}
			rows[at].values[k] = v
		}
	}
	for i := range rows {
		for _, c := range t.columns {
			rows[i].cells = append(rows[i].cells, c.of(rows[i].values))
		}
	}
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(-cmp.Compare(a.cells[t.order], b.cells[t.order]), strings.Compare(a.name, b.name))
	})
	return rows
}

func (t *table) newRow(name string) row {
	r := row{name: terminal.EscapeName(name), values: make([]float64, len(t.metrics))}
	for i := range r.values {
		r.values[i] = math.NaN()
	}
	return r
}
