package pdu

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// A LabelKind is the kind of a label's value, one of those of JSON.
type LabelKind int

// The kinds.
const (
	LabelNull LabelKind = iota // also a label without a value
	LabelBool
	LabelNumber
	LabelString
	LabelArray
	LabelObject // "{}" alone: the members of others are labels with compound names
)

var labelKindNames = [...]string{"null", "bool", "number", "string", "array", "object"}

// String is the name of the kind: "null", "bool", "number", "string", "array", "object".
func (k LabelKind) String() string {
	if k < 0 || int(k) >= len(labelKindNames) {
		return "kind " + strconv.Itoa(int(k))
	}
	return labelKindNames[k]
}

// Kind is the kind of the value.
func (l NamedLabel) Kind() LabelKind {
	if l.Value == "" {
		return LabelNull
	}
	switch c := l.Value[0]; {
	case c == '"':
		return LabelString
	case c == 't' || c == 'f':
		return LabelBool
	case c == '-' || isDigit(c):
		return LabelNumber
	case c == '[':
		return LabelArray
	case c == '{':
		return LabelObject
	}
	return LabelNull
}

// Number is the value of a label that is a number; ok is false for others, and for a number that is
// out of the range of a float64. A string with digits is no number.
func (l NamedLabel) Number() (v float64, ok bool) {
	if l.Kind() != LabelNumber {
		return 0, false
	}
	v, err := strconv.ParseFloat(l.Value, 64)
	return v, err == nil
}

// Bool is the value of a label that is true or false; ok is false for others.
func (l NamedLabel) Bool() (v, ok bool) {
	return l.Value == "true", l.Value == "true" || l.Value == "false"
}

// Decode stores the value in what v points to, as json.Unmarshal does: an array in a slice, a whole
// number in an int. Errors wrap ErrType for a value of another kind, and for a text of a peer's
// that is no JSON.
func (l NamedLabel) Decode(v any) error {
	value := l.Value
	if value == "" {
		value = "null"
	}
	if err := json.Unmarshal([]byte(value), v); err != nil {
		return fmt.Errorf("label %q: %w: %w", l.Name, err, ErrType)
	}
	return nil
}

// Get is the label with a full name. Its Flags say of which class it is, also in a set that
// MergeLabels has made, and whether it is optional.
func (s LabelSet) Get(name string) (label NamedLabel, ok bool) {
	for l := range s.All() {
		if l.Name == name {
			return l, true
		}
	}
	return NamedLabel{}, false
}
