package logrewrite

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// A value is the value of one instance.
type value struct {
	inst pdu.InstID
	atom pdu.Atom
}

// A ConvertError reports a value that does not fit the new type or scale. Its text is that of
// pmlogrewrite.
type ConvertError struct {
	name     string
	old, new pdu.Desc
	rescale  bool // the scale conversion failed, not that of the type
	err      error

	// Record is the partly changed data record, or nil if it is too long. Metrics before the
	// failing one are changed, those after it are as read, and the failing one has only its
	// converted values.
	Record *pdu.Result
}

// Error returns one line.
func (e *ConvertError) Error() string {
	noScalar := e.old.Type == pdu.TypeAggregateStatic || e.old.Type == pdu.TypeEvent || e.old.Type == pdu.TypeHighResEvent
	switch {
	case !e.rescale:
		return fmt.Sprintf("Error: %s (%v): extracting value from type %s to %s: %v", e.name, e.old.PMID, e.old.Type, e.new.Type, e.err)
	case noScalar:
		return fmt.Sprintf("Botch: %s (%v): extracting value: %v", e.name, e.old.PMID, e.err)
	}
	return fmt.Sprintf("Botch: %s (%v): scale conversion from %s to %s failed: %v", e.name, e.old.PMID, e.old.Units, e.new.Units, e.err)
}

// Unwrap returns the error of the conversion.
func (e *ConvertError) Unwrap() error { return e.err }

// changesValues reports whether the metric's values in data records change.
func (s *metricSpec) changesValues() bool {
	return s.deleted || s.pmid || s.typ || s.rescale || len(s.values) > 0 || s.indom && s.output.pick != pickAll || s.insts != nil
}

// copyValues copies a data record, unless no metric remains in it.
func (c *copier) copyValues(r *archive.Record) error {
	changed := false
	for _, set := range c.in.All() {
		if s := c.byMetric[set.PMID]; s != nil && s.changesValues() {
			changed = true
			break
		}
	}
	if c.patch(r) || !changed && c.shift == 0 {
		return c.w.WriteRecord(r)
	}
	c.out.Reset()
	c.out.Time = c.at(r.Time)
	for i, set := range c.in.All() {
		s := c.byMetric[set.PMID]
		switch {
		case s == nil || !s.changesValues():
			c.out.Copy(set)
		case s.deleted:
		default:
			if err := c.rewriteSet(s, set); err != nil {
				return c.withRecord(err, i+1)
			}
		}
	}
	if c.out.Len() == 0 {
		return nil
	}
	return c.writeSets()
}

// writeSets writes the changed data record. The descriptors of its metrics may come later in the
// metadata, as in the input.
func (c *copier) writeSets() error {
	const (
		start = pdu.HeaderLen - 4 // the length word overwrites the last word of the PDU header
		end   = 4                 // trailing length
	)
	format := pdu.FormatArchive
	if c.version == 2 {
		format = pdu.FormatLowRes
	}
	b, err := c.out.Append(append(c.buf[:0], make([]byte, pdu.HeaderLen)...), format)
	if err != nil {
		return err
	}
	n := len(b) - start + end
	if n > archive.MaxRecord {
		return fmt.Errorf("data record of %d bytes, limit %d: %w", n, archive.MaxRecord, pdu.ErrTooBig)
	}
	binary.BigEndian.PutUint32(b[start:], uint32(n))
	c.buf = binary.BigEndian.AppendUint32(b, uint32(n))
	return c.w.WriteRaw(c.buf[start:], c.out.Time)
}

// withRecord adds the data record to an error. The sets from next on have not been copied yet.
func (c *copier) withRecord(err error, next int) error {
	e, ok := errors.AsType[*ConvertError](err)
	if !ok {
		return err
	}
	for i := next; i < c.in.Len(); i++ {
		c.out.Copy(c.in.At(i))
	}
	var failed error
	if e.Record, failed = c.out.Result(); failed != nil {
		e.Record = nil // the record would be too long
	}
	return err
}

// patch changes identifiers in a data record in place, if nothing else changes, so that values keep
// their encoding, such as floats in situ of old archives. It pads blocks with ~, as PCP does. It
// returns false if more must change.
func (c *copier) patch(r *archive.Record) bool {
	l := c.archive.Label()
	if c.shift != 0 || l.Version != c.version {
		return false
	}
	for _, set := range c.in.All() {
		if s := c.byMetric[set.PMID]; s != nil && s.changesValues() && (s.deleted || set.Err() == nil && s.changesForm()) {
			return false
		}
	}
	at := 4 + 8 // after the length and the time
	if l.Version > 2 {
		at += 4
	}
	c.buf = append(c.buf[:0], r.Raw...)
	n, sets := binary.BigEndian.Uint32(c.buf[at:]), c.buf[at+4:]
	for range n {
		s := c.byMetric[pdu.PMID(binary.BigEndian.Uint32(sets))]
		values := int(int32(binary.BigEndian.Uint32(sets[4:])))
		if s != nil {
			binary.BigEndian.PutUint32(sets, uint32(s.new.PMID))
		}
		sets = sets[8:]
		if values <= 0 {
			continue
		}
		sets = sets[4:]
		for range values {
			if s != nil && s.insts != nil {
				if i := s.insts.inst(pdu.InstID(binary.BigEndian.Uint32(sets))); i != nil {
					binary.BigEndian.PutUint32(sets, uint32(i.new.ID))
				}
			}
			sets = sets[8:]
		}
	}
	padBlocks(sets[:len(sets)-4])
	r.Raw = c.buf
	return true
}

// padBlocks overwrites the padding between the blocks of a data record.
func padBlocks(blocks []byte) {
	for len(blocks) >= 4 {
		n := int(binary.BigEndian.Uint32(blocks) & 0xffffff)
		padded := (n + 3) &^ 3
		if n < 4 || padded > len(blocks) {
			return
		}
		copy(blocks[n:padded], "~~~")
		blocks = blocks[padded:]
	}
}

// changesForm reports whether more than identifiers changes in a metric's values.
func (s *metricSpec) changesForm() bool {
	return s.typ || s.rescale || len(s.values) > 0 || s.indom && s.output.pick != pickAll || s.insts != nil && s.insts.deletes
}

// rewriteSet adds the changed values of a metric.
func (c *copier) rewriteSet(s *metricSpec, set pdu.ValueSet) error {
	if set.Err() != nil || set.Len() == 0 || !s.changesForm() && s.insts == nil {
		set.PMID = s.new.PMID
		c.out.Copy(set)
		return nil
	}
	c.values = c.values[:0]
	for inst, atom := range set.All(s.old.Type) {
		c.values = append(c.values, value{inst, atom})
	}
	if s.indom {
		c.values = s.pick(c.values)
	}
	if s.insts != nil && !s.picksInstance() {
		c.values = s.renumber(c.values)
	}
	c.out.Begin(s.new.PMID)
	for _, v := range c.values {
		atom, err := s.convert(v.atom)
		if err != nil {
			return err
		}
		c.out.Atom(v.inst, atom)
	}
	return nil
}

// picksInstance reports whether the metric gets another instance domain and a rule names the
// instance for its value.
func (s *metricSpec) picksInstance() bool { return s.indom && s.output.pick == pickInstance }

// renumber renumbers and deletes instances.
func (s *metricSpec) renumber(values []value) []value {
	kept := values[:0]
	for _, v := range values {
		if i := s.insts.inst(v.inst); i != nil {
			if i.deleted {
				continue
			}
			v.inst = i.new.ID
		}
		kept = append(kept, v)
	}
	return kept
}

// convert applies replacements to a value and converts it to the new scale and type.
func (s *metricSpec) convert(a pdu.Atom) (pdu.Atom, error) {
	if len(s.values) > 0 && a.Type == pdu.TypeString {
		text := string(bytes.TrimRight(a.Bytes(), "\x00"))
		for _, v := range s.values {
			var err error
			if text, _, err = v.replace(text); err != nil {
				return a, &ConvertError{name: s.oldName, old: s.old, new: s.new, err: err}
			}
		}
		a = pdu.String(text)
	}
	if s.rescale {
		b, err := a.ConvertUnits(s.old.Units, s.new.Units)
		if err != nil {
			return a, &ConvertError{name: s.oldName, old: s.old, new: s.new, rescale: true, err: err}
		}
		a = b
	}
	if !s.typ || s.new.Type == s.old.Type {
		return a, nil
	}
	b, err := retype(a, s.new.Type)
	if err != nil {
		return a, &ConvertError{name: s.oldName, old: s.old, new: s.new, err: err}
	}
	return b, nil
}

// retype converts a value like pmExtractValue(3).
func retype(a pdu.Atom, to pdu.Type) (pdu.Atom, error) {
	switch to {
	case pdu.Type32:
		v, err := pdu.As[int32](a)
		return pdu.Int32(v), err
	case pdu.TypeU32:
		v, err := pdu.As[uint32](a)
		return pdu.Uint32(v), err
	case pdu.Type64:
		v, err := pdu.As[int64](a)
		return pdu.Int64(v), err
	case pdu.TypeU64:
		v, err := pdu.As[uint64](a)
		return pdu.Uint64(v), err
	case pdu.TypeFloat:
		v, err := pdu.As[float32](a)
		return pdu.Float32(v), err
	case pdu.TypeDouble:
		v, err := pdu.As[float64](a)
		return pdu.Float64(v), err
	case pdu.TypeString:
		return pdu.String(a.String()), nil
	}
	return a, pdu.ErrType
}

// pick returns the values that OUTPUT selects.
func (s *metricSpec) pick(values []value) []value {
	if s.output.pick == pickAll || len(values) == 0 {
		return values
	}
	single := s.old.InDom == pdu.NoInDom
	best := 0
	switch s.output.pick {
	case pickLast:
		best = len(values) - 1
	case pickInstance:
		if single {
			break
		}
		if s.output.instance.by == byName {
			return values[:0]
		}
		for best < len(values) && values[best].inst != s.output.instance.id {
			best++
		}
		if best == len(values) {
			return values[:0]
		}
	case pickMin, pickMax:
		for i := range values {
			if less(values[i].atom, values[best].atom) == (s.output.pick == pickMin) && !values[i].atom.Equal(values[best].atom) {
				best = i
			}
		}
	case pickSum, pickAvg:
		values[0].atom = total(values, s.output.pick == pickAvg)
	}
	v := values[best]
	switch {
	case s.new.InDom == pdu.NoInDom:
		v.inst = pdu.NoInst
	case s.output.pick == pickInstance:
		v.inst = s.outputInst
	case single:
		v.inst = 0
	}
	values[0] = v
	return values[:1]
}

// less compares numbers of one type.
func less(a, b pdu.Atom) bool {
	switch a.Type {
	case pdu.Type32, pdu.Type64:
		x, _ := pdu.As[int64](a)
		y, _ := pdu.As[int64](b)
		return x < y
	case pdu.TypeU32, pdu.TypeU64:
		x, _ := pdu.As[uint64](a)
		y, _ := pdu.As[uint64](b)
		return x < y
	}
	x, _ := pdu.As[float64](a)
	y, _ := pdu.As[float64](b)
	return x < y
}

// total returns the sum or average of numbers of one type, in that type.
func total(values []value, average bool) pdu.Atom {
	n := len(values)
	switch t := values[0].atom.Type; t {
	case pdu.TypeFloat:
		var sum float32
		for _, v := range values {
			x, _ := pdu.As[float32](v.atom)
			sum += x
		}
		if average {
			sum /= float32(n)
		}
		return pdu.Float32(sum)
	case pdu.TypeDouble:
		var sum float64
		for _, v := range values {
			x, _ := pdu.As[float64](v.atom)
			sum += x
		}
		if average {
			sum /= float64(n)
		}
		return pdu.Float64(sum)
	case pdu.TypeU32, pdu.TypeU64:
		var sum uint64
		for _, v := range values {
			x, _ := pdu.As[uint64](v.atom)
			sum += x
		}
		if t == pdu.TypeU32 {
			return pdu.Uint32(uint32(round(float64(uint32(sum)), uint64(uint32(sum)), n, average)))
		}
		return pdu.Uint64(round(float64(sum), sum, n, average))
	default:
		var sum int64
		for _, v := range values {
			x, _ := pdu.As[int64](v.atom)
			sum += x
		}
		if t == pdu.Type32 {
			return pdu.Int32(int32(round(float64(int32(sum)), int64(int32(sum)), n, average)))
		}
		return pdu.Int64(round(float64(sum), sum, n, average))
	}
}

// round returns exact, or the average sum/n rounded to the nearest integer as in C.
func round[T int64 | uint64](sum float64, exact T, n int, average bool) T {
	if !average {
		return exact
	}
	return T(math.Trunc(sum/float64(n) + 0.5))
}
