package otlp_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"
)

// A fieldKind describes a protobuf field and its form in JSON.
type fieldKind struct {
	name     string
	kind     string // message, text, bool, number, int64, fixed64, double
	repeated bool
	message  map[uint64]fieldKind
}

// messages describes ExportMetricsServiceRequest, after the protocol's definition.
var messages = func() map[uint64]fieldKind {
	message := func(name string, fields map[uint64]fieldKind) fieldKind {
		return fieldKind{name: name, kind: "message", message: fields}
	}
	list := func(name string, fields map[uint64]fieldKind) fieldKind {
		f := message(name, fields)
		f.repeated = true
		return f
	}
	plain := func(name, kind string) fieldKind { return fieldKind{name: name, kind: kind} }
	value := map[uint64]fieldKind{1: plain("stringValue", "text"), 2: plain("boolValue", "bool"), 3: plain("intValue", "int64"), 4: plain("doubleValue", "double")}
	pair := map[uint64]fieldKind{1: plain("key", "text"), 2: message("value", value)}
	value[5] = message("arrayValue", map[uint64]fieldKind{1: list("values", value)})
	value[6] = message("kvlistValue", map[uint64]fieldKind{1: list("values", pair)})
	number := map[uint64]fieldKind{
		2: plain("startTimeUnixNano", "fixed64"), 3: plain("timeUnixNano", "fixed64"), 4: plain("asDouble", "double"),
		6: plain("asInt", "fixed64"), 7: list("attributes", pair), 8: plain("flags", "number"),
	}
	histogram := map[uint64]fieldKind{
		2: plain("startTimeUnixNano", "fixed64"), 3: plain("timeUnixNano", "fixed64"), 4: plain("count", "fixed64"),
		5: plain("sum", "double"), 6: {name: "bucketCounts", kind: "fixed64", repeated: true},
		7: {name: "explicitBounds", kind: "double", repeated: true}, 9: list("attributes", pair), 10: plain("flags", "number"),
	}
	metric := map[uint64]fieldKind{
		1: plain("name", "text"), 2: plain("description", "text"), 3: plain("unit", "text"),
		5: message("gauge", map[uint64]fieldKind{1: list("dataPoints", number)}),
		7: message("sum", map[uint64]fieldKind{1: list("dataPoints", number), 2: plain("aggregationTemporality", "number"), 3: plain("isMonotonic", "bool")}),
		9: message("histogram", map[uint64]fieldKind{1: list("dataPoints", histogram), 2: plain("aggregationTemporality", "number")}),
	}
	scope := map[uint64]fieldKind{
		1: message("scope", map[uint64]fieldKind{1: plain("name", "text"), 2: plain("version", "text")}),
		2: list("metrics", metric),
	}
	resource := map[uint64]fieldKind{
		1: message("resource", map[uint64]fieldKind{1: list("attributes", pair)}),
		2: list("scopeMetrics", scope),
	}
	return map[uint64]fieldKind{1: list("resourceMetrics", resource)}
}()

// toJSON converts a message from protobuf to JSON. It requires that each field has its defined
// type, and that only repeated fields occur twice.
func toJSON(body []byte) ([]byte, error) {
	m, err := objectOf(body, messages)
	if err != nil {
		return nil, err
	}
	return json.Marshal(m)
}

func objectOf(body []byte, fields map[uint64]fieldKind) (map[string]any, error) {
	m := map[string]any{}
	for len(body) > 0 {
		tag, n := binary.Uvarint(body)
		f, known := fields[tag>>3]
		if n <= 0 || !known {
			return nil, fmt.Errorf("field %d is not known", tag>>3)
		}
		body = body[n:]
		v, rest, err := valueOf(body, f, tag&7)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		old, twice := m[f.name]
		switch body = rest; {
		case !f.repeated && twice:
			return nil, fmt.Errorf("%s is there twice", f.name)
		case f.repeated && f.kind == "message":
			all, _ := old.([]any)
			m[f.name] = append(all, v)
		case twice:
			return nil, fmt.Errorf("%s is not packed", f.name)
		default:
			m[f.name] = v
		}
	}
	for number, f := range fields {
		if number == 7 && f.name == "explicitBounds" && m[f.name] == nil {
			m[f.name] = []any{} // a histogram with a single bucket
		}
	}
	return m, nil
}

// valueOf decodes the value of a field.
func valueOf(b []byte, f fieldKind, wire uint64) (v any, rest []byte, err error) {
	want := map[string]uint64{"message": 2, "text": 2, "fixed64": 1, "double": 1}[f.kind]
	if f.repeated {
		want = 2
	}
	if wire != want {
		return nil, nil, fmt.Errorf("wire type %d, want %d", wire, want)
	}
	if wire == 1 {
		if len(b) < 8 {
			return nil, nil, fmt.Errorf("%d bytes of a fixed64", len(b))
		}
		return fixed(b, f.kind), b[8:], nil
	}
	number, n := binary.Uvarint(b)
	if n <= 0 {
		return nil, nil, fmt.Errorf("malformed varint")
	}
	switch b = b[n:]; f.kind {
	case "bool":
		return number == 1, b, nil
	case "number":
		return number, b, nil
	case "int64":
		return strconv.FormatInt(int64(number), 10), b, nil
	}
	if number > uint64(len(b)) {
		return nil, nil, fmt.Errorf("%d of %d bytes", number, len(b))
	}
	inner, rest := b[:number], b[number:]
	switch f.kind {
	case "message":
		v, err = objectOf(inner, f.message)
		return v, rest, err
	case "text":
		if !utf8.Valid(inner) {
			return nil, nil, fmt.Errorf("%q is not UTF-8", inner)
		}
		return string(inner), rest, nil
	}
	all := []any{}
	for ; len(inner) >= 8; inner = inner[8:] {
		all = append(all, fixed(inner, f.kind))
	}
	if len(inner) > 0 {
		return nil, nil, fmt.Errorf("%d bytes after the last value", len(inner))
	}
	return all, rest, nil
}

// fixed returns an 8-byte value in its JSON form.
func fixed(b []byte, kind string) any {
	n := binary.LittleEndian.Uint64(b)
	if kind == "fixed64" {
		return strconv.FormatInt(int64(n), 10)
	}
	switch v := math.Float64frombits(n); {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 0):
		return map[bool]string{true: "Infinity", false: "-Infinity"}[v > 0]
	default:
		return v
	}
}
