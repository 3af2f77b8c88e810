// Package lognum reads the numbers in the records of an archive, each with its series: that of a
// metric without instances, or of one instance. It is for commands that read all numbers of an
// archive.
package lognum

import (
	"encoding/binary"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// A Reader reads the numbers of records for a command that keeps an M for each metric. It may be
// used by one goroutine at a time.
type Reader[M any] struct {
	meta    *archive.Metadata
	metrics map[pdu.PMID]*Metric[M]
	order   []*Metric[M]
	layouts map[layoutKey]*layout[M]
}

// A Metric is a metric that was in a record.
type Metric[M any] struct {
	ID      pdu.PMID
	Desc    pdu.Desc
	Known   bool         // whether there is a descriptor
	Numeric bool         // whether its values are numbers
	Insts   []pdu.InstID // of its series, in the order in which they came
	State   M            // the command's own

	index map[pdu.InstID]int // in Insts
}

// A Number is a number in a record.
type Number struct {
	Series int32     // index in Insts; -1 for one that is new, but has no number
	Err    pdu.Error // 0, or why there is no number
	Value  float64
}

// A Set is the values of a metric in a record.
type Set[M any] struct {
	*Metric[M]
	Err     error    // in place of values
	Form    int32    // how they are encoded: 0 in place, else in blocks
	Len     int      // how many there are
	Numbers []Number // them, if they are numbers

	head uint64 // PMID and number of values
}

// NewReader returns a Reader for records of an archive with metadata meta.
func NewReader[M any](meta *archive.Metadata) *Reader[M] {
	return &Reader[M]{meta: meta, metrics: map[pdu.PMID]*Metric[M]{}, layouts: map[layoutKey]*layout[M]{}}
}

// Metric returns a metric that was in a record, nil if it was in none so far.
func (r *Reader[M]) Metric(id pdu.PMID) *Metric[M] { return r.metrics[id] }

// Metrics returns the metrics of the records so far, in the order of their first record.
func (r *Reader[M]) Metrics() []*Metric[M] { return r.order }

// add returns the metric of an identifier.
func (r *Reader[M]) add(id pdu.PMID) *Metric[M] {
	if m := r.metrics[id]; m != nil {
		return m
	}
	m := &Metric[M]{ID: id, index: map[pdu.InstID]int{}}
	m.Desc, m.Known = r.meta.Desc(id)
	m.Numeric = m.Known && m.Desc.Type >= pdu.Type32 && m.Desc.Type <= pdu.TypeDouble
	r.metrics[id] = m
	r.order = append(r.order, m)
	return m
}

// Read returns the sets of the record that a cursor has read last. A mark has no sets. They are
// valid until the next call. A malformed record is an error of Cursor.Result.
func (r *Reader[M]) Read(c *archive.Cursor) ([]Set[M], error) {
	if c.Mark() {
		_, err := c.Result()
		return nil, err
	}
	raw, at := c.Record().Raw, 12 // length, time of version 2
	if c.Archive().Label().Version > 2 {
		at = 16
	}
	key := layoutKey{start: at + 4, count: binary.BigEndian.Uint32(raw[at:])}
	if len(raw) >= at+12 {
		key.first = binary.BigEndian.Uint64(raw[at+4:])
	}
	l := r.layout(key)
	if !l.refill(raw) {
		result, err := c.Result()
		if err != nil {
			return nil, err
		}
		r.fill(l, result, raw)
	}
	return l.sets, nil
}

// layout returns the layout of a key.
func (r *Reader[M]) layout(key layoutKey) *layout[M] {
	l := r.layouts[key]
	if l == nil {
		if len(r.layouts) == maxLayouts {
			clear(r.layouts)
		}
		l = &layout[M]{start: key.start}
		r.layouts[key] = l
	}
	return l
}

// find returns the series of an instance. With add it makes a missing one, without it returns -1.
func (m *Metric[M]) find(inst pdu.InstID, add bool) int {
	if i, ok := m.index[inst]; ok {
		return i
	}
	if !add {
		return -1
	}
	i := len(m.Insts)
	m.Insts = append(m.Insts, inst)
	m.index[inst] = i
	return i
}
