package pdu

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/internal/jsonscan"
	"github.com/pcp-go/pcp/internal/scan"
)

// A LabelClass is what a label set belongs to: a context, a domain, and so on. It is a
// PM_LABEL_* bit of the C library.
type LabelClass int32

// The classes, in increasing precedence. The comment names the identifier that
// goes with each.
const (
	LabelContext   LabelClass = 0x01 // none: 0xffffffff
	LabelDomain    LabelClass = 0x02 // Domain
	LabelInDom     LabelClass = 0x04 // InDom
	LabelCluster   LabelClass = 0x08 // PMID
	LabelItem      LabelClass = 0x10 // PMID
	LabelInstances LabelClass = 0x20 // InDom, with one set for each instance
)

// String is the name of the class in messages and dumps of PCP:
// "context", "domain", "indom", "cluster", "pmid" (LabelItem) or "instances".
func (c LabelClass) String() string {
	switch c {
	case LabelContext:
		return "context"
	case LabelDomain:
		return "domain"
	case LabelInDom:
		return "indom"
	case LabelCluster:
		return "cluster"
	case LabelItem:
		return "pmid"
	case LabelInstances:
		return "instances"
	}
	return "?"
}

// LabelFlags are a label's class bits with LabelCompound and LabelOptional.
type LabelFlags uint8

// The flags of a label beside its class.
const (
	LabelCompound LabelFlags = 0x40 // the name has dotted components
	LabelOptional LabelFlags = 0x80 // extrinsic: not a part of the identity of what it labels
)

// Class is the class bit.
func (f LabelFlags) Class() LabelClass { return LabelClass(f &^ (LabelCompound | LabelOptional)) }

// Limits of a label set, those of PCP's decoders. Nesting is limited too, to 64
// objects and arrays.
const (
	maxLabels    = 254   // labels in a set
	MaxLabelJSON = 65534 // bytes of JSON text
	maxLabelName = 254   // bytes of a name
)

// A Label locates one label in the JSON text of its set. It is pmLabel of the C
// library.
//
//	0  uint16  NameOff, past the opening quote
//	2  uint8   NameLen, without quotes; the last component of a compound name
//	3  uint8   Flags
//	4  uint16  ValueOff
//	6  uint16  ValueLen, with the quotes of a string
type Label struct {
	NameOff  uint16
	NameLen  uint8
	Flags    LabelFlags
	ValueOff uint16
	ValueLen uint16
}

// A LabelSet has labels of one class and identifier: JSON text and an index of the labels
// in it, sorted by full name. The text may alias the buffer that it was decoded
// from and is read-only. The zero LabelSet is that of instance 0; sets of all
// classes but LabelInstances have Inst NoInst. It is pmLabelSet of the C
// library.
//
// A label whose value is an object stands for the labels in it: the full name of b in
// {"a":{"b":1}} is "a.b".
type LabelSet struct {
	Inst   InstID // NoInst but in sets of LabelInstances
	Err    Error  // why there are no labels; 0 if none
	JSON   []byte // an object; empty if there are no labels
	Labels []Label
}

// A NamedLabel is a label with its name and value.
type NamedLabel struct {
	Name  string // in full, with dots
	Value string // as JSON: a string has its quotes, a number its digits as they were written
	Flags LabelFlags
}

// Text is the value for people: a string without quotes and escapes, all else as
// in Value.
func (l NamedLabel) Text() string {
	var s string
	if strings.HasPrefix(l.Value, `"`) && json.Unmarshal([]byte(l.Value), &s) == nil {
		return s
	}
	return l.Value
}

// validLabelName reports whether a name obeys the rules for names, which differ
// between versions of PCP.
//
//	                   6.0.3                 7.x
//	first characters   letters               any of the others
//	others             letters, digits, "_", and "." in compound names
//	a bad name         fails the set         drops the label, unless none is left
//
// Sets that we make follow those of 7.x, but no name begins with a digit, which is also
// the rule of Prometheus. Sets of peers may have any name.
func validLabelName(name []byte) bool {
	first := true // of a component
	for _, c := range name {
		if !scan.IsLetter(c) && c != '_' && (first || !scan.IsDigit(c) && c != '.') {
			return false
		}
		first = c == '.'
	}
	return !first
}

// ParseLabels makes a label set of a class from the text of a JSON object, or
// from an empty text. Numbers and strings stay as they are written. Inst is
// NoInst. All labels are optional or none.
//
// Full names are components with dots between them, each a letter or "_", then letters,
// digits and "_". ParseLabels leaves out labels with other names, which CheckLabelNames
// reports. Errors wrap EINVAL for bad JSON, a set that has bad names alone and a name
// that stands twice, and E2BIG for what exceeds the limits.
func ParseLabels(class LabelClass, text string, optional bool) (LabelSet, error) {
	s := LabelSet{Inst: NoInst}
	if text == "" {
		return s, nil
	}
	out, err := jsonscan.Compact(nil, []byte(text))
	if err != nil {
		return LabelSet{}, labelError(err, ErrInvalid)
	}
	if err := checkLabelNames(out); err != nil {
		if out, _ = jsonscan.CompactMembers(nil, out, validLabelName); string(out) == "{}" {
			return LabelSet{}, err
		}
	}
	flags := LabelFlags(class)
	if optional {
		flags |= LabelOptional
	}
	s.JSON = out
	named, err := s.build(flags)
	if err != nil {
		return LabelSet{}, err
	}
	for i, l := range named {
		if i > 0 && named[i-1].clashes(l) {
			return LabelSet{}, labelError(fmt.Errorf("name %q stands twice", named[i-1].full), ErrInvalid)
		}
		s.Labels = append(s.Labels, l.Label)
	}
	if len(named) == 0 {
		s.JSON = nil
	}
	return s, nil
}

// CheckLabelNames reports the labels of a JSON object that ParseLabels leaves out because of
// their names. The error wraps EINVAL. It is nil for a text that is empty or no JSON object.
func CheckLabelNames(text string) error { return checkLabelNames([]byte(text)) }

func checkLabelNames(text []byte) error {
	var first string
	bad := 0
	_ = jsonscan.Walk(text, func(m jsonscan.Member) error {
		if !validLabelName(m.Path) {
			if bad == 0 {
				first = string(m.Path[:min(len(m.Path), maxLabelName)])
			}
			bad++
		}
		return nil
	})
	switch bad {
	case 0:
		return nil
	case 1:
		return labelError(fmt.Errorf("bad name %q", first), ErrInvalid)
	}
	return labelError(fmt.Errorf("bad name %q, and %d more", first, bad-1), ErrInvalid)
}

func labelError(err error, code Error) error { return fmt.Errorf("labels: %w: %w", err, code) }

// A namedIndex is a label with its full name.
type namedIndex struct {
	Label
	full string
}

// clashes reports whether l, which follows n in the order of full names, cannot
// stand beside it: the same name, or an object of n's name.
func (n namedIndex) clashes(l namedIndex) bool {
	if n.full == l.full {
		return true
	}
	return int(l.NameLen) < len(l.full) && int(n.NameLen) == len(n.full) && strings.HasPrefix(l.full, n.full+".")
}

// build indexes the text, with the flags given and LabelCompound where due.
func (s *LabelSet) build(flags LabelFlags) ([]namedIndex, error) {
	if len(s.JSON) > MaxLabelJSON {
		return nil, labelError(fmt.Errorf("%d bytes of JSON, limit %d", len(s.JSON), MaxLabelJSON), err2Big)
	}
	var named []namedIndex
	var tooBig error
	err := jsonscan.Walk(s.JSON, func(m jsonscan.Member) error {
		switch {
		case len(m.Path) > maxLabelName:
			tooBig = fmt.Errorf("name %.20q… of %d bytes, limit %d", m.Path, len(m.Path), maxLabelName)
		case len(named) == maxLabels:
			tooBig = fmt.Errorf("more than %d labels", maxLabels)
		}
		if tooBig != nil {
			return tooBig
		}
		l := Label{
			NameOff: uint16(m.NameOff), NameLen: uint8(m.NameLen), Flags: flags,
			ValueOff: uint16(m.ValueOff), ValueLen: uint16(m.ValueLen),
		}
		if bytes.IndexByte(m.Path, '.') >= 0 {
			l.Flags |= LabelCompound
		}
		named = append(named, namedIndex{l, string(m.Path)})
		return nil
	})
	switch {
	case tooBig != nil:
		return nil, labelError(tooBig, err2Big)
	case err != nil:
		return nil, labelError(err, ErrInvalid)
	}
	slices.SortStableFunc(named, func(a, b namedIndex) int { return cmp.Compare(a.full, b.full) })
	return named, nil
}

// MakeLabels makes a label set of a class from a Go value that encoding/json
// makes an object of: a map[string]any, say, or a struct. For errors see
// ParseLabels; a bad name is an error too, because it is a mistake of the program.
func MakeLabels(class LabelClass, labels any, optional bool) (LabelSet, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(labels); err != nil {
		return LabelSet{}, labelError(err, ErrInvalid)
	}
	s, err := ParseLabels(class, b.String(), optional)
	if err == nil {
		err = CheckLabelNames(b.String())
	}
	if err != nil {
		return LabelSet{}, err
	}
	return s, nil
}

// All yields the labels in the order of the index. Full names and the extent of
// values come from the text, since the index of PCP's C library is wrong for an
// array that was written with white space. Where the text does not have a name
// at the offset in the index, name and value are those of the index.
func (s LabelSet) All() iter.Seq[NamedLabel] {
	return func(yield func(NamedLabel) bool) {
		members := s.members()
		for i := range s.Labels {
			l := &s.Labels[i]
			m, ok := members[int(l.NameOff)]
			if !ok {
				if !l.within(len(s.JSON)) {
					continue // made by hand: Decode refuses it
				}
				m.path = string(s.JSON[l.NameOff:][:l.NameLen])
				m.off, m.len = int(l.ValueOff), int(l.ValueLen)
			}
			if !yield(NamedLabel{m.path, string(s.JSON[m.off:][:m.len]), l.Flags}) {
				return
			}
		}
	}
}

// within reports whether a label lies in a text of n bytes.
func (l *Label) within(n int) bool {
	return int(l.NameOff)+int(l.NameLen) <= n && int(l.ValueOff)+int(l.ValueLen) <= n
}

// A labelMember is a label as the text has it: full name, and where the value is.
type labelMember struct {
	path     string
	off, len int
}

// members are the labels in the text by the offset of their name, up to the
// flaw in a text that is no JSON.
func (s LabelSet) members() map[int]labelMember {
	m := make(map[int]labelMember, len(s.Labels))
	_ = jsonscan.Walk(s.JSON, func(j jsonscan.Member) error {
		if len(j.Path) <= maxLabelName { // a hostile text could hold names whose lengths add up to its size squared
			m[j.NameOff] = labelMember{string(j.Path), j.ValueOff, j.ValueLen}
		}
		return nil
	})
	return m
}

// Lookup is the value of the label with a full name, as NamedLabel.Text gives it: a string has no
// quotes. Get returns the flags, too.
func (s LabelSet) Lookup(name string) (text string, ok bool) {
	l, ok := s.Get(name)
	return l.Text(), ok
}

// MergeLabels merges sets in increasing precedence: the last of several labels with the same full
// name counts. The text of the result has the full names, sorted, and the labels keep their flags.
// If keep is not nil, the result has only the labels that it accepts. The other labels still hide
// those of earlier sets. Inst is that of the last set.
//
// Errors wrap E2BIG for a result that exceeds a limit, and ErrInvalid for a malformed label of a
// peer. The counterpart of pmMergeLabelSets(3), which confuses nested names and names that are a
// prefix of another name: of {"a":1} and {"a":{"b":2}} it loses "a", but not "abc" of {"abc":1} and
// {"abc":{"b":2}}.
func MergeLabels(keep func(NamedLabel) bool, sets ...LabelSet) (LabelSet, error) {
	var all []NamedLabel
	merged := LabelSet{Inst: NoInst}
	for _, s := range sets {
		merged.Inst = s.Inst
		for l := range s.All() {
			all = append(all, l)
		}
	}
	slices.SortStableFunc(all, func(a, b NamedLabel) int { return cmp.Compare(a.Name, b.Name) })
	for i, l := range all {
		if i+1 < len(all) && all[i+1].Name == l.Name || keep != nil && !keep(l) {
			continue
		}
		if err := merged.add(l); err != nil {
			return LabelSet{}, err
		}
	}
	if len(merged.Labels) > 0 {
		merged.JSON = append(merged.JSON, '}')
	}
	return merged, nil
}

// add adds a label to a set whose text still lacks its last brace.
func (s *LabelSet) add(l NamedLabel) error {
	if len(l.Name) > maxLabelName {
		return labelError(fmt.Errorf("name %.20q… of %d bytes, limit %d", l.Name, len(l.Name), maxLabelName), err2Big)
	}
	if l.Value == "" {
		l.Value = "null"
	}
	if _, err := jsonscan.Compact(nil, []byte(`"`+l.Name+`"`)); err != nil {
		return labelError(fmt.Errorf("name %q: %w", l.Name, err), ErrInvalid)
	}
	value, err := jsonscan.Compact(nil, []byte(l.Value))
	if err != nil {
		return labelError(fmt.Errorf("value of %q: %w", l.Name, err), ErrInvalid)
	}
	size := len(s.JSON) + len(l.Name) + len(value) + len(`{"":}`)
	if len(s.Labels) == maxLabels || size > MaxLabelJSON {
		return labelError(fmt.Errorf("more than %d labels or %d bytes of JSON", maxLabels, MaxLabelJSON), err2Big)
	}
	open := byte(',')
	if len(s.JSON) == 0 {
		open = '{'
	}
	s.JSON = append(s.JSON, open, '"')
	n := Label{NameOff: uint16(len(s.JSON)), NameLen: uint8(len(l.Name)), Flags: l.Flags}
	if strings.Contains(l.Name, ".") {
		n.Flags |= LabelCompound
	}
	s.JSON = append(append(s.JSON, l.Name...), '"', ':')
	n.ValueOff, n.ValueLen = uint16(len(s.JSON)), uint16(len(value))
	s.JSON = append(s.JSON, value...)
	s.Labels = append(s.Labels, n)
	return nil
}

// String returns the JSON text, "{}" if the set has no labels, or the text of Err.
func (s LabelSet) String() string {
	switch {
	case s.Err != 0:
		return s.Err.Error()
	case len(s.JSON) == 0:
		return "{}"
	}
	return string(s.JSON)
}

// validate checks that every label lies inside the text.
func (s *LabelSet) validate() error {
	if len(s.JSON) > MaxLabelJSON {
		return fmt.Errorf("label set of instance %d: %d bytes of JSON, limit %d: %w", s.Inst, len(s.JSON), MaxLabelJSON, ErrIPC)
	}
	if len(s.Labels) > maxLabels {
		return fmt.Errorf("label set of instance %d: %d labels, limit %d: %w", s.Inst, len(s.Labels), maxLabels, ErrIPC)
	}
	for i, l := range s.Labels {
		if !l.within(len(s.JSON)) {
			return fmt.Errorf("label set of instance %d: label %d outside its %d bytes of JSON: %w", s.Inst, i, len(s.JSON), ErrIPC)
		}
	}
	return nil
}
