package pmapi

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// A Column has the values of one instance, or of a metric without instances, over time.
type Column struct {
	Metric   string // the name of the metric
	Instance string // for an Item the text of its option Instance; otherwise the name, or else the number
	// Values has one number for each row, in the units of the item; a time.Duration is in seconds.
	// A number is NaN if the instance has no value, in a gap, in the first row of a rate, and for
	// texts.
	Values []float64
}

// maxColumnValues limits the values that Group.Columns reads, columns times rows: 512 MiB of
// numbers.
const maxColumnValues = 1 << 26

// presizedValues limits the values that Columns allocates space for in advance, because the time
// window of a damaged archive may be wrong.
const presizedValues = 1 << 20

// Columns reads the rows of Every at an interval, for programs that compute with values or plot
// them. It returns the times of the rows, and a column for each Item and each instance of a Set.
// Columns are in the order of the group's metrics, and the instances of a Set in the order of their
// first values. An Item without any value has a column of NaN, and Events have no column.
//
// It reads from the position to the time end, including a row at end. If the mode goes back, end is
// before the position. A zero end is the end of the archive, or means no end on a collector.
//
// On a collector it waits as Every does. When ctx ends, it returns the rows so far without an
// error, so a time-out of ctx may end it. After an error of a fetch, or pdu.ErrTooBig for more than
// 67,108,864 values, it also returns the rows so far. Err has the errors of single metrics.
//
//	g := c.Group()
//	pmapi.Add[float64](g, "kernel.all.load", pmapi.Instance("1 minute"))
//	pmapi.AddSet[float64](g, "disk.dev.read_bytes", pmapi.Scale("Mbyte/second"))
//	times, columns, err := g.Columns(ctx, time.Minute, time.Time{})
//	…
//	load := columns[0].Values // at times
//
// A row allocates nothing, except when the columns grow.
func (g *Group) Columns(ctx context.Context, interval time.Duration, end time.Time) (times []time.Time, columns []Column, err error) {
	r := newColumnReader(g)
	mode, begin, step := g.c.Mode()
	back := mode == ModeBack || mode == ModeInterp && step < 0
	if err := r.presize(ctx, begin, end, interval); err != nil {
		return nil, nil, err
	}
	var failure error
	for now, err := range g.Every(ctx, interval) {
		if err != nil {
			failure = err
			break
		}
		if !end.IsZero() && (!back && now.After(end) || back && now.Before(end)) {
			break
		}
		if !r.addRow(now) {
			failure = g.c.fail("fetch", "", fmt.Errorf("more than %d values in columns: %w", maxColumnValues, pdu.ErrTooBig))
			break
		}
	}
	return r.times, r.columns(), failure
}

// A columnReader has the columns of a group while they are read.
type columnReader struct {
	group   *Group
	times   []time.Time
	members []*memberColumns // in the order of the group's members, then those that a Tree has lost
	rows    int              // how many are expected; 0 if that is not known
	count   int              // of columns
}

// memberColumns are the columns of one member of a group.
type memberColumns struct {
	reader     *columnReader
	member     member
	metric     string
	columns    []Column
	byInstance map[string]int
	slots      []columnSlot // of the rows of a Set, as they were at the latest fetch
}

// A columnSlot says where the values of an instance belong.
type columnSlot struct {
	inst   pdu.Instance
	column int
	known  bool
}

func newColumnReader(g *Group) *columnReader {
	return &columnReader{group: g}
}

// presize estimates the number of rows and makes the columns of items.
func (r *columnReader) presize(ctx context.Context, begin, end time.Time, interval time.Duration) error {
	if r.group.c.archive() != nil && end.IsZero() {
		var err error
		if end, err = r.group.c.ArchiveEnd(ctx); err != nil {
			return err
		}
	}
	if interval > 0 && !end.IsZero() && !begin.IsZero() {
		r.rows = int(min(end.Sub(begin).Abs()/interval, presizedValues)) + 1
	}
	if r.rows <= presizedValues {
		r.times = make([]time.Time, 0, r.rows)
	}
	r.align()
	return nil
}

// align puts the columns in the order of the group's members, which a Tree changes, and makes those
// of new ones.
func (r *columnReader) align() {
	for i, m := range r.group.members {
		if i < len(r.members) && r.members[i].member == m {
			continue
		}
		if at := slices.IndexFunc(r.members, func(c *memberColumns) bool { return c.member == m }); at >= 0 {
			c := r.members[at]
			r.members = slices.Insert(slices.Delete(r.members, at, at+1), i, c)
			continue
		}
		c := &memberColumns{reader: r, member: m, metric: m.base().name, byInstance: map[string]int{}}
		r.members = slices.Insert(r.members, i, c)
		m.initColumns(c)
	}
}

// addRow adds the values of the latest fetch. It reports whether there is room for more.
func (r *columnReader) addRow(now time.Time) bool {
	r.align()
	for i, m := range r.group.members {
		m.addToColumns(r.members[i])
	}
	r.times = append(r.times, now)
	return r.count <= maxColumnValues/(len(r.times)+1)
}

// columns returns all columns, padded to the same length.
func (r *columnReader) columns() (all []Column) {
	for i := range r.members {
		for _, col := range r.members[i].columns {
			col.Values = padColumn(col.Values, len(r.times))
			all = append(all, col)
		}
	}
	return all
}

// padColumn pads values with NaN up to a number of rows.
func padColumn(values []float64, rows int) []float64 {
	values = slices.Grow(values, rows-len(values))
	for len(values) < rows {
		values = append(values, math.NaN())
	}
	return values
}

// column returns the number of an instance's column. It adds a column for a new instance.
func (m *memberColumns) column(instance string) int {
	if n, ok := m.byInstance[instance]; ok {
		return n
	}
	n := len(m.columns)
	m.byInstance[instance] = n
	col := Column{Metric: m.metric, Instance: instance}
	if m.reader.count++; m.reader.count <= presizedValues/max(m.reader.rows, 1) {
		col.Values = make([]float64, 0, m.reader.rows)
	}
	m.columns = append(m.columns, col)
	return n
}

// add adds a value to a column in the row that is being read.
func (m *memberColumns) add(column int, v float64) {
	col, row := &m.columns[column], len(m.reader.times)
	if len(col.Values) < row {
		col.Values = padColumn(col.Values, row)
	}
	if len(col.Values) == row { // otherwise the instance already has a value in this row
		col.Values = append(col.Values, v)
	}
}

// addInstance adds the value of the instance at an index of a Set.
func (m *memberColumns) addInstance(i int, inst pdu.Instance, v float64) {
	if i >= len(m.slots) {
		m.slots = append(m.slots, make([]columnSlot, i+1-len(m.slots))...)
	}
	s := &m.slots[i]
	if !s.known || s.inst != inst {
		name := inst.Name
		if name == "" && inst.ID != pdu.NoInst {
			name = strconv.Itoa(int(inst.ID))
		}
		*s = columnSlot{inst: inst, column: m.column(name), known: true}
	}
	m.add(s.column, v)
}

func (i *Item[T]) initColumns(m *memberColumns) { m.column(i.opts.instance) }

func (i *Item[T]) addToColumns(m *memberColumns) {
	if i.why != nil || i.code != 0 {
		return
	}
	if v, ok := columnValue(&i.value); ok {
		m.add(0, v)
	}
}

func (s *Set[T]) initColumns(*memberColumns) {}

func (s *Set[T]) addToColumns(m *memberColumns) {
	for i := range s.Len() {
		r := s.row(i)
		if r.code != 0 {
			continue
		}
		if v, ok := columnValue(&r.value); ok {
			m.addInstance(i, r.inst, v)
		}
	}
}

func (e *Events[T]) initColumns(*memberColumns) {}

func (e *Events[T]) addToColumns(*memberColumns) {}

// columnValue returns the number in *p; ok is false if it is no number. The argument is a pointer,
// because an interface holds a pointer without an allocation.
func columnValue[T any](p *T) (v float64, ok bool) {
	switch p := any(p).(type) {
	case *float64:
		return *p, true
	case *time.Duration:
		return p.Seconds(), true
	}
	switch v := reflect.ValueOf(p).Elem(); {
	case v.CanFloat():
		return v.Float(), true
	case v.CanInt():
		return float64(v.Int()), true
	case v.CanUint():
		return float64(v.Uint()), true
	}
	return 0, false
}
