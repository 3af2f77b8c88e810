package pdu

import (
	"encoding/json"
	"fmt"
)

// Decode stores the value in what v points to, as json.Unmarshal does: a number in a float64 or an
// int, true and false in a bool, an array in a slice. Errors wrap ErrType for a value of another
// kind and for malformed JSON of a peer.
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

// Get returns the label with a full name. Its Flags have the class, also in a set from
// MergeLabels, and say whether the label is optional.
func (s LabelSet) Get(name string) (label NamedLabel, ok bool) {
	for l := range s.All() {
		if l.Name == name {
			return l, true
		}
	}
	return NamedLabel{}, false
}
