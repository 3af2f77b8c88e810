package lognum

import (
	"encoding/binary"
	"math"

	"github.com/pcp-go/pcp/pdu"
)

// A layout is the structure of a record. Usually the next record of the same metrics differs only
// in its values. Then only the values are decoded, and nothing else has to be checked.
type layout[M any] struct {
	start   int  // of the sets
	length  int  // of the record
	same    bool // another record may be like this one
	sets    []Set[M]
	values  []value // of all sets
	numbers []Number
}

// A layoutKey distinguishes layouts by the offset and number of the sets, and by the metric and
// number of values of the first set. The offset differs between archives of version 2 and 3, which
// one archive set may mix.
type layoutKey struct {
	start int
	count uint32
	first uint64
}

// maxLayouts is the maximum number of layouts that are kept.
const maxLayouts = 256

// A value is the position of a value in a record.
type value struct {
	pair  uint64 // instance and, for a block, its index
	block int32  // where that is
	head  uint32 // with which it begins: type and length
}

const (
	pairLen  = 8  // bytes of an instance and a value, or an index of its block
	blockLen = 12 // bytes of a block with 64 bits
)

// fill makes the layout of a valid record.
func (r *Reader[M]) fill(l *layout[M], result *pdu.Result, raw []byte) {
	l.length, l.same = len(raw), true
	l.sets, l.values, l.numbers = l.sets[:0], l.values[:0], l.numbers[:0]
	at := l.start
	for _, values := range result.All() {
		set := Set[M]{Metric: r.add(values.PMID), Err: values.Err(), Len: values.Len(), head: binary.BigEndian.Uint64(raw[at:])}
		at += 8
		if set.Len > 0 {
			set.Form = int32(binary.BigEndian.Uint32(raw[at:]))
			at += 4
			l.addValues(&set, values, raw, at)
			at += pairLen * set.Len
		}
		l.sets = append(l.sets, set)
	}
	used := 0
	for i := range l.sets { // now that numbers does not move
		if set := &l.sets[i]; set.Numeric {
			set.Numbers = l.numbers[used:][:set.Len:set.Len]
			used += set.Len
		}
	}
}

// addValues adds the values of a set whose pairs begin at offset at of the record.
func (l *layout[M]) addValues(set *Set[M], values pdu.ValueSet, raw []byte, at int) {
	m := set.Metric
	index := -1
	for i := range set.Len {
		v := value{pair: binary.BigEndian.Uint64(raw[at+pairLen*i:])}
		word := uint32(v.pair)
		if set.Form != 0 {
			const before = 2 // words of a PDU's header before the record
			v.block = (int32(word) - before) * 4
			v.head = binary.BigEndian.Uint32(raw[v.block:])
		}
		l.values = append(l.values, v)
		if !m.Numeric {
			continue
		}
		n := Number{}
		switch {
		case set.Form == 0 && inPlace(m.Desc.Type):
			n.Value = number32(m.Desc.Type, word)
		case set.Form != 0 && !inPlace(m.Desc.Type) && v.head == uint32(m.Desc.Type)<<24|blockLen:
			n.Value = number64(m.Desc.Type, binary.BigEndian.Uint64(raw[v.block+4:]))
		default:
			l.same = false
			n.Value, n.Err = oddNumber(values, i, m.Desc.Type)
		}
		inst := pdu.InstID(v.pair >> 32)
		isOnly := set.Len == 1 && m.Desc.InDom == pdu.NoInDom && len(m.Insts) > 0
		if index++; !isOnly && (index >= len(m.Insts) || m.Insts[index] != inst) {
			index = m.find(inst, n.Err == 0)
		}
		n.Series = int32(index)
		l.numbers = append(l.numbers, n)
	}
}

// refill decodes the numbers of a record. It reports whether everything else is as in the layout.
func (l *layout[M]) refill(raw []byte) bool {
	if !l.same || len(raw) != l.length {
		return false
	}
	at := l.start
	values := l.values
	for i := range l.sets {
		set := &l.sets[i]
		if binary.BigEndian.Uint64(raw[at:]) != set.head {
			return false
		}
		at += 8
		if set.Len == 0 {
			continue
		}
		if int32(binary.BigEndian.Uint32(raw[at:])) != set.Form {
			return false
		}
		at += 4
		pairs := raw[at:][:pairLen*set.Len]
		at += len(pairs)
		same := false
		if set.Form == 0 {
			same = refillInPlace(set.Desc.Type, set.Numbers, values[:set.Len], pairs)
		} else {
			same = refillBlocks(set.Desc.Type, set.Numbers, values[:set.Len], pairs, raw)
		}
		if !same {
			return false
		}
		values = values[set.Len:]
	}
	return true
}

// refillInPlace is refill for values in place. numbers is empty if the values are not numeric. It
// returns false if the instances have changed.
func refillInPlace(t pdu.Type, numbers []Number, values []value, pairs []byte) bool {
	for i := range values {
		pair := binary.BigEndian.Uint64(pairs[pairLen*i:])
		if pair>>32 != values[i].pair>>32 {
			return false
		}
		if i < len(numbers) {
			numbers[i].Value = number32(t, uint32(pair))
		}
	}
	return true
}

// refillBlocks is refill for values in blocks.
func refillBlocks(t pdu.Type, numbers []Number, values []value, pairs, raw []byte) bool {
	for i := range values {
		v := &values[i]
		if binary.BigEndian.Uint64(pairs[pairLen*i:]) != v.pair {
			return false
		}
		if i >= len(numbers) {
			if binary.BigEndian.Uint32(raw[v.block:]) != v.head {
				return false
			}
			continue
		}
		block := raw[v.block:][:blockLen]
		if binary.BigEndian.Uint32(block) != v.head {
			return false
		}
		numbers[i].Value = number64(t, binary.BigEndian.Uint64(block[4:]))
	}
	return true
}

// inPlace reports whether values of a type are in place.
func inPlace(t pdu.Type) bool { return t == pdu.Type32 || t == pdu.TypeU32 || t == pdu.TypeFloat }

// number32 returns a number whose type is in place.
func number32(t pdu.Type, bits uint32) float64 {
	switch t {
	case pdu.Type32:
		return float64(int32(bits))
	case pdu.TypeU32:
		return float64(bits)
	}
	return float64(math.Float32frombits(bits))
}

// number64 returns a number whose type is in a block.
func number64(t pdu.Type, bits uint64) float64 {
	switch t {
	case pdu.Type64:
		return float64(int64(bits))
	case pdu.TypeU64:
		return float64(bits)
	}
	return math.Float64frombits(bits)
}

// oddNumber returns the number of a value with an unusual encoding. It must have the metric's type.
func oddNumber(s pdu.ValueSet, i int, t pdu.Type) (float64, pdu.Error) {
	a := s.Atom(i, t)
	if a.Type != t {
		return 0, pdu.ErrConv
	}
	if untyped, ok := Untyped(s, i, t); ok {
		a = untyped
	}
	v, err := pdu.As[float64](a)
	return v, pdu.FromError(err)
}
