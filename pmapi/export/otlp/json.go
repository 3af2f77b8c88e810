package otlp

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pcp-go/pcp/pdu"
)

const hexDigits = "0123456789abcdef"

// appendString appends a JSON string. Bytes that are no UTF-8 become U+FFFD.
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

// appendDouble appends a double: those that JSON has no number for are strings. One that was a float of 32
// bits has the shortest text of such: 0.1 is what was meant, and not its neighbour among all doubles.
func appendDouble(b []byte, f float64, bits int) []byte {
	switch {
	case math.IsNaN(f):
		return append(b, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(b, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(b, `"-Infinity"`...)
	}
	return strconv.AppendFloat(b, f, 'g', -1, bits)
}

// appendKey begins an attribute; its value and a closing brace follow.
func appendKey(b []byte, key string) []byte {
	if n := len(b); n > 0 && b[n-1] == '}' {
		b = append(b, ',')
	}
	return append(appendString(append(b, `{"key":`...), key), `,"value":`...)
}

func appendStringAttribute(b []byte, key, value string) []byte {
	b = append(appendKey(b, key), `{"stringValue":`...)
	return append(appendString(b, value), "}}"...)
}

// appendLabel appends an attribute for a label. One that is null, or has no name, is left out.
func appendLabel(b []byte, key string, l pdu.NamedLabel) []byte {
	if key == "" {
		return b
	}
	switch l.Kind() {
	case pdu.LabelNull:
		return b
	case pdu.LabelString:
		return appendStringAttribute(b, key, l.Text())
	}
	d := json.NewDecoder(strings.NewReader(l.Value))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil || v == nil {
		return appendStringAttribute(b, key, l.Value)
	}
	return append(appendAny(appendKey(b, key), v), '}')
}

// appendAny appends an AnyValue. null, of which there is none, is an empty string.
func appendAny(b []byte, v any) []byte {
	switch v := v.(type) {
	case bool:
		b = strconv.AppendBool(append(b, `{"boolValue":`...), v)
	case json.Number:
		b = appendNumber(b, v.String())
	case string:
		b = appendString(append(b, `{"stringValue":`...), v)
	case []any:
		b = append(b, `{"arrayValue":{"values":[`...)
		for i, item := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendAny(b, item)
		}
		b = append(b, "]}"...)
	case map[string]any:
		keys := make([]string, 0, len(v))
		for key := range v {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		b = append(b, `{"kvlistValue":{"values":[`...)
		for _, key := range keys {
			b = append(appendAny(appendKey(b, key), v[key]), '}')
		}
		b = append(b, "]}"...)
	default:
		b = append(b, `{"stringValue":""`...)
	}
	return append(b, '}')
}

// appendNumber appends the members of an AnyValue for a number: an int64 if it is one, else a double.
func appendNumber(b []byte, text string) []byte {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		b = strconv.AppendInt(append(b, `{"intValue":"`...), n, 10)
		return append(b, '"')
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return appendString(append(b, `{"stringValue":`...), text)
	}
	return appendDouble(append(b, `{"doubleValue":`...), f, 64)
}
