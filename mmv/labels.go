package mmv

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/internal/scan"
	"github.com/pcp-go/pcp/pdu"
)

// Labels are labels of a registry, a metric, an instance domain or an instance. A name is a letter,
// then letters, digits and "_". A value is anything that encoding/json encodes: a string, a number,
// a bool, nil, a slice or a map of those. Name and value take up to 243 bytes as JSON.
// Optional marks a label as optional.
type Labels map[string]any

type optional struct{ value any }

// Optional is the value of an optional label: one that describes but does not identify, and so is
// no part of the identity of a time series.
func Optional(value any) any { return optional{value} }

// A label is a record of the section of labels.
type label struct {
	name     string
	flags    uint32
	identity uint32
	id       pdu.InstID // for a label of an instance, else pdu.NoInst
	json     string
	instance *instance // whose label it is, or nil
}

// same reports whether two labels are of the same thing and have the same name.
func (l label) same(m label) bool {
	class := func(l label) pdu.LabelClass { return pdu.LabelFlags(l.flags).Class() }
	return l.name == m.name && class(l) == class(m) && l.identity == m.identity && l.id == m.id
}

// encode returns the labels as records of a class, sorted by name.
func (l Labels) encode(class pdu.LabelClass, identity uint32, inst *instance) ([]label, error) {
	var records []label
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(l)) {
		r := label{name: name, flags: uint32(class), identity: identity, id: pdu.NoInst, instance: inst}
		if inst != nil {
			r.id = inst.id
		}
		value := l[name]
		if o, ok := value.(optional); ok {
			value = o.value
			r.flags |= uint32(pdu.LabelOptional)
		}
		var err error
		if r.json, err = labelText(name, value); err != nil {
			errs = append(errs, err)
			continue
		}
		records = append(records, r)
	}
	return records, errors.Join(errs...)
}

// labelText is a label as JSON.
func labelText(name string, value any) (string, error) {
	if !isName(name) || strings.Contains(name, ".") {
		return "", fmt.Errorf("label %q: a name is a letter, then letters, digits and \"_\"", name)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return "", fmt.Errorf("label %q: %w", name, err)
	}
	text := fmt.Sprintf("{%q:%s}", name, bytes.TrimSuffix(b.Bytes(), []byte("\n")))
	if len(text) > maxLabelJSON {
		return "", fmt.Errorf("label %q takes %d bytes as JSON, limit %d", name, len(text), maxLabelJSON)
	}
	_, err := pdu.ParseLabels(pdu.LabelContext, text, false)
	if err = cmp.Or(err, pdu.CheckLabelNames(text)); err != nil {
		return "", fmt.Errorf("label %q: %w", name, err)
	}
	return text, nil
}

// nameRule is the text of errors for invalid names.
const nameRule = `a name is components of letters, digits and "_" with dots between them, each beginning with a letter`

// isName reports whether s is a name of metrics: components with dots between them, each a letter,
// then letters, digits and "_".
func isName(s string) bool {
	start := true
	for i := range len(s) {
		c := s[i]
		switch {
		case scan.IsLetter(c):
			start = false
		case start:
			return false
		case c == '.':
			start = true
		case c != '_' && !scan.IsDigit(c):
			return false
		}
	}
	return !start
}
