package webapi

import (
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/pcp-go/pcp/pdu"
)

// appendString appends a JSON string. It replaces each byte that is not UTF-8 with U+FFFD.
func appendString[T string | []byte](b []byte, s T) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			if _, n := decodeRune(s[i:]); n > 1 {
				i += n
				continue
			}
			b = append(append(b, s[start:i]...), `\uFFFD`...)
			i++
			start = i
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' && c != 0x7f {
			i++
			continue
		}
		const hex = "0123456789ABCDEF"
		b = append(append(b, s[start:i]...), '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		i++
		start = i
	}
	return append(append(b, s[start:]...), '"')
}

// decodeRune decodes the first character of s, whose first byte is not ASCII. n is 1 if it is not
// UTF-8.
func decodeRune[T string | []byte](s T) (r rune, n int) {
	var buf [utf8.UTFMax]byte
	return utf8.DecodeRune(buf[:copy(buf[:], s)])
}

// appendFloat appends v in the shortest form that reads back as the same number. Bits is 32 or 64.
func appendFloat(b []byte, v float64, bits int) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return append(b, "null"...)
	}
	format := byte('f')
	if size := math.Abs(v); size != 0 && (size < 1e-4 || size >= 1e16) {
		format = 'e'
	}
	return strconv.AppendFloat(b, v, format, -1, bits)
}

// appendAtom appends a value, or null if JSON cannot express it.
func appendAtom(b []byte, a pdu.Atom) []byte {
	switch a.Type {
	case pdu.Type32, pdu.Type64:
		v, _ := pdu.As[int64](a)
		return strconv.AppendInt(b, v, 10)
	case pdu.TypeU32, pdu.TypeU64:
		v, _ := pdu.As[uint64](a)
		return strconv.AppendUint(b, v, 10)
	case pdu.TypeFloat:
		v, _ := pdu.As[float32](a)
		return appendFloat(b, float64(v), 32)
	case pdu.TypeDouble:
		v, _ := pdu.As[float64](a)
		return appendFloat(b, v, 64)
	case pdu.TypeString, pdu.TypeAggregate, pdu.TypeAggregateStatic:
		return appendString(b, a.Bytes())
	}
	return append(b, "null"...)
}

// appendPMID and appendInDom append an identifier: dotted, or a number in the older interface.
func (q *query) appendPMID(b []byte, id pdu.PMID) []byte {
	if q.compat {
		return strconv.AppendUint(b, uint64(id), 10)
	}
	return append(append(append(b, '"'), id.String()...), '"')
}

func (q *query) appendInDom(b []byte, d pdu.InDom) []byte {
	if q.compat {
		return strconv.AppendUint(b, uint64(d), 10)
	}
	return append(append(append(b, '"'), d.String()...), '"')
}

// appendInst appends an instance number. Without instances it is null, or -1 in the older
// interface.
func (q *query) appendInst(b []byte, i pdu.InstID) []byte {
	switch {
	case i != pdu.NoInst:
		return strconv.AppendUint(b, uint64(uint32(i)), 10)
	case q.compat:
		return append(b, "-1"...)
	}
	return append(b, "null"...)
}
