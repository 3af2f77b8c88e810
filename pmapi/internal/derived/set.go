package derived

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/pcp-go/pcp/internal/scan"
)

// A Definition is a derived metric.
type Definition struct {
	Name    string
	Expr    *Expr
	OneLine HelpText
	Help    HelpText
}

// A HelpText is a help text of a metric, if it is Given: it may be empty.
type HelpText struct {
	Text  string
	Given bool
}

// A Set holds definitions of derived metrics in the order of their creation. It is safe for
// concurrent use.
type Set struct {
	mu       sync.Mutex
	list     []*Definition
	shared   int // so many of them All has returned: they do not change
	byName   map[string]int
	parser   parser
	controls Controls
	won      uint8 // of these, by their index in the list of controls, files do not change the values
}

// maxDefinitions limits the metrics of a Set to the number of PMIDs for derived metrics.
const maxDefinitions = 1 << 20

// An AddError says why a metric cannot be defined.
type AddError struct {
	Name, Expr string
	SyntaxError
}

func (e *AddError) Error() string {
	if e.Offset < 0 {
		return fmt.Sprintf("derived metric %s: the expression is empty", e.Name)
	}
	return fmt.Sprintf("derived metric %s: %q at byte %d: %s", e.Name, e.Expr, e.Offset, e.SyntaxError.Error())
}

// Add defines a metric. The error is an *AddError.
func (s *Set) Add(name, text string) error {
	fail := func(err SyntaxError) error { return &AddError{name, text, err} }
	if !isName(name) {
		return fail(SyntaxError{Message: "illegal derived metric name (" + name + ")"})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	expr, err := s.parser.check(text)
	if e, failed := errors.AsType[*SyntaxError](err); failed {
		return fail(*e)
	}
	refused := ""
	if _, ok := s.byName[name]; ok {
		refused = "Duplicate global derived metric name"
	} else if limit := s.controls.GlobalLimit; len(s.list) == maxDefinitions || limit > 0 && len(s.list) >= limit {
		refused = "Too many global derived metrics"
	}
	if refused != "" {
		return fail(SyntaxError{Offset: len(text) - len(strings.TrimLeft(text, " \t")), Message: refused})
	}
	if s.byName == nil {
		s.byName = map[string]int{}
	}
	s.byName[name] = len(s.list)
	s.list = append(s.list, &Definition{Name: name, Expr: expr})
	return nil
}

// All returns the present definitions. Neither they nor the slice change later.
func (s *Set) All() []*Definition {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shared = len(s.list)
	return slices.Clone(s.list)
}

// What is wrong with a text of a metric.
var (
	errNotDefined = errors.New("no such derived metric")
	errAttribute  = errors.New("no such attribute")
	errDuplicate  = errors.New("the metric has such a text")
)

// setText gives a metric a help text, oneline or helptext. A definition that All has returned
// stays, and another takes its place.
func (s *Set) setText(name, attribute, text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := len(s.list) - 1 // most likely
	if i < 0 || s.list[i].Name != name {
		var ok bool
		if i, ok = s.byName[name]; !ok {
			return errNotDefined
		}
	}
	d := s.list[i]
	if i < s.shared {
		d = new(*d)
	}
	var to *HelpText
	switch attribute {
	case "oneline":
		to = &d.OneLine
	case "helptext":
		to = &d.Help
	default:
		return errAttribute
	}
	if to.Given {
		return errDuplicate
	}
	*to = HelpText{text, true}
	s.list[i] = d
	return nil
}

// isName reports whether a text is the name of a metric: words of letters, digits and underscores
// that begin with a letter, with dots between; as in the C library a dot may be last.
func isName(name string) bool {
	start := true
	for i := range len(name) {
		c := name[i]
		if !inName[c] || start && !scan.IsLetter(c) {
			return false
		}
		start = c == '.'
	}
	return name != ""
}
