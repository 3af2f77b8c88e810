package otlp

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pcp-go/pcp/pdu"
)

// A field identifies a field of a message in protobuf and in JSON.
type field struct {
	number byte // less than 16
	name   string
}

// A builder encodes a message as protobuf or as JSON. The method open begins a message that is a
// field of the current one, item begins an element of a repeated field, and close ends either. In
// protobuf, list and endList write nothing.
type builder struct {
	b      []byte
	json   bool
	opened []int // protobuf: start of each open message, after a byte for its length
}

// Wire types of protobuf.
const (
	wireVarint = iota
	wireFixed64
	wireBytes
	wireFixed32 = 5
)

// key writes the key of a field.
func (w *builder) key(f field, wire byte) {
	if !w.json {
		w.b = append(w.b, f.number<<3|wire)
		return
	}
	w.comma()
	w.b = append(append(append(w.b, '"'), f.name...), '"', ':')
}

// comma separates JSON values.
func (w *builder) comma() {
	if n := len(w.b); w.json && n > 0 && w.b[n-1] != '{' && w.b[n-1] != '[' {
		w.b = append(w.b, ',')
	}
}

func (w *builder) open(f field) {
	w.key(f, wireBytes)
	w.begin()
}

func (w *builder) item(f field) {
	if w.json {
		w.comma()
	} else {
		w.key(f, wireBytes)
	}
	w.begin()
}

func (w *builder) begin() {
	if w.json {
		w.b = append(w.b, '{')
		return
	}
	w.b = append(w.b, 0)
	w.opened = append(w.opened, len(w.b))
}

func (w *builder) close() {
	if w.json {
		w.b = append(w.b, '}')
		return
	}
	last := len(w.opened) - 1
	start := w.opened[last]
	w.opened = w.opened[:last]
	var length [binary.MaxVarintLen64]byte
	size := len(w.b) - start
	n := binary.PutUvarint(length[:], uint64(size))
	w.b = append(w.b, length[1:n]...) // makes room
	copy(w.b[start+n-1:], w.b[start:start+size])
	copy(w.b[start-1:], length[:n])
}

func (w *builder) list(f field) {
	if w.json {
		w.key(f, wireBytes)
		w.b = append(w.b, '[')
	}
}

func (w *builder) endList() {
	if w.json {
		w.b = append(w.b, ']')
	}
}

// fields appends fields that another builder encoded.
func (w *builder) fields(b []byte) {
	if len(b) > 0 {
		w.comma()
		w.b = append(w.b, b...)
	}
}

// text appends a string. Bytes that are not UTF-8 become U+FFFD.
func (w *builder) text(f field, s string) {
	w.key(f, wireBytes)
	if w.json {
		w.b = appendString(w.b, s)
		return
	}
	if !utf8.ValidString(s) {
		s = string([]rune(s))
	}
	w.b = append(binary.AppendUvarint(w.b, uint64(len(s))), s...)
}

// number appends a bool, an enumeration or a uint32.
func (w *builder) number(f field, v uint64) {
	w.key(f, wireVarint)
	if w.json {
		w.b = strconv.AppendUint(w.b, v, 10)
		return
	}
	w.b = binary.AppendUvarint(w.b, v)
}

func (w *builder) bool(f field, v bool) {
	switch {
	case w.json:
		w.key(f, wireVarint)
		w.b = strconv.AppendBool(w.b, v)
	case v:
		w.number(f, 1)
	default:
		w.number(f, 0)
	}
}

// int64 appends an int64 as a varint.
func (w *builder) int64(f field, v int64) {
	w.key(f, wireVarint)
	if w.json {
		w.b = append(strconv.AppendInt(append(w.b, '"'), v, 10), '"')
		return
	}
	w.b = binary.AppendUvarint(w.b, uint64(v))
}

// fixed64 appends a fixed64 or sfixed64. Only an sfixed64 may be negative.
func (w *builder) fixed64(f field, v int64) {
	w.key(f, wireFixed64)
	if w.json {
		w.b = append(strconv.AppendInt(append(w.b, '"'), v, 10), '"')
		return
	}
	w.b = binary.LittleEndian.AppendUint64(w.b, uint64(v))
}

func (w *builder) double(f field, v float64) {
	w.key(f, wireFixed64)
	w.appendDouble(v)
}

// doubles appends a repeated field of double.
func (w *builder) doubles(f field, all []float64) {
	if w.beginPacked(f, len(all)) {
		for _, v := range all {
			w.comma()
			w.appendDouble(v)
		}
	}
	w.endList()
}

// counts appends a repeated field of fixed64.
func (w *builder) counts(f field, all []uint64) {
	if w.beginPacked(f, len(all)) {
		for _, v := range all {
			if !w.json {
				w.b = binary.LittleEndian.AppendUint64(w.b, v)
				continue
			}
			w.comma()
			w.b = append(strconv.AppendUint(append(w.b, '"'), v, 10), '"')
		}
	}
	w.endList()
}

// beginPacked begins a repeated field of n values of 8 bytes. It returns false if n is 0.
func (w *builder) beginPacked(f field, n int) (ok bool) {
	w.list(f)
	if n > 0 && !w.json {
		w.key(f, wireBytes)
		w.b = binary.AppendUvarint(w.b, uint64(8*n))
	}
	return n > 0
}

// appendDouble appends a double. JSON has strings for infinities and NaN.
func (w *builder) appendDouble(v float64) {
	switch {
	case !w.json:
		w.b = binary.LittleEndian.AppendUint64(w.b, math.Float64bits(v))
	case math.IsNaN(v):
		w.b = append(w.b, `"NaN"`...)
	case math.IsInf(v, 1):
		w.b = append(w.b, `"Infinity"`...)
	case math.IsInf(v, -1):
		w.b = append(w.b, `"-Infinity"`...)
	default:
		w.b = strconv.AppendFloat(w.b, v, 'g', -1, 64)
	}
}

const hexDigits = "0123456789abcdef"

// appendString appends a JSON string. Bytes that are not UTF-8 become U+FFFD.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			b = utf8.AppendRune(b, r)
			i += n
			continue
		}
		i++
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ' || c == 0x7f:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

// Fields of attributes. The enclosing messages number them differently.
var (
	keyField      = field{1, "key"}
	valueField    = field{2, "value"}
	stringField   = field{1, "stringValue"}
	boolField     = field{2, "boolValue"}
	intField      = field{3, "intValue"}
	doubleField   = field{4, "doubleValue"}
	arrayField    = field{5, "arrayValue"}
	pairsField    = field{6, "kvlistValue"}
	elementsField = field{1, "values"} // of an array and of pairs
)

// stringAttribute appends an attribute with a string value.
func (w *builder) stringAttribute(f field, key, value string) {
	w.item(f)
	w.text(keyField, key)
	w.open(valueField)
	w.text(stringField, value)
	w.close()
	w.close()
}

// intAttribute appends an attribute with an integer value.
func (w *builder) intAttribute(f field, key string, value int64) {
	w.item(f)
	w.text(keyField, key)
	w.open(valueField)
	w.int64(intField, value)
	w.close()
	w.close()
}

// label appends a label as an attribute. It omits labels that are null or have no name.
func (w *builder) label(f field, key string, l pdu.NamedLabel) {
	if key == "" {
		return
	}
	switch {
	case l.Value == "" || l.Value[0] == 'n': // null
		return
	case l.Value[0] == '"':
		w.stringAttribute(f, key, l.Text())
		return
	}
	d := json.NewDecoder(strings.NewReader(l.Value))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil || v == nil {
		w.stringAttribute(f, key, l.Value)
		return
	}
	w.pair(f, key, v)
}

func (w *builder) pair(f field, key string, v any) {
	w.item(f)
	w.text(keyField, key)
	w.open(valueField)
	w.any(v)
	w.close()
	w.close()
}

// any appends the field of an AnyValue. null becomes an empty string, because AnyValue lacks null.
func (w *builder) any(v any) {
	switch v := v.(type) {
	case bool:
		w.bool(boolField, v)
	case json.Number:
		w.anyNumber(v.String())
	case string:
		w.text(stringField, v)
	case []any:
		w.open(arrayField)
		w.list(elementsField)
		for _, element := range v {
			w.item(elementsField)
			w.any(element)
			w.close()
		}
		w.endList()
		w.close()
	case map[string]any:
		keys := make([]string, 0, len(v))
		for key := range v {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		w.open(pairsField)
		w.list(elementsField)
		for _, key := range keys {
			w.pair(elementsField, key, v[key])
		}
		w.endList()
		w.close()
	default:
		w.text(stringField, "")
	}
}

// anyNumber appends a number as the field of an AnyValue: an int64 if possible, else a double.
func (w *builder) anyNumber(text string) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		w.int64(intField, n)
		return
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		w.text(stringField, text)
		return
	}
	w.double(doubleField, v)
}
