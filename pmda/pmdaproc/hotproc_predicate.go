package pmdaproc

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
)

// A condition decides which processes are hot. Its String is the normal form of its text, with all
// parentheses.
type condition interface {
	holds(v *variables) bool
	String() string
}

// variables are the properties of a process that a condition can use.
type variables struct {
	numbers [numberVariables]float64
	texts   [len(textNames)]string
}

// The numeric variables, by their indices in variables and in numberNames.
const (
	varGID = iota
	varUID
	varCPUBurn
	varCtxSwitch
	varVirtualSize
	varResidentSize
	varIODemand
	varIOWait
	varSchedWait
	numberVariables
)

var numberNames = [numberVariables]string{"gid", "uid", "cpuburn", "ctxswitch", "virtualsize", "residentsize", "iodemand", "iowait", "schedwait"}

// The text variables.
const (
	varGName = iota
	varUName
	varFName
	varPSArgs
)

var textNames = [...]string{"gname", "uname", "fname", "psargs"}

type (
	always     bool
	negation   struct{ of condition }
	connective struct {
		a, b condition
		and  bool
	}
	numberComparison struct {
		a, b numberOperand
		op   string
	}
	textComparison struct {
		a, b textOperand
		op   string
	}
	patternMatch struct {
		of      textOperand
		source  string
		pattern *regexp.Regexp
		not     bool
	}
)

// A numberOperand is a side of a comparison of numbers: a variable or a literal.
type numberOperand struct {
	variable int // -1 for the literal
	literal  float64
}

// A textOperand is a side of a comparison of texts: a variable or a literal.
type textOperand struct {
	variable int // -1 for the literal
	literal  string
}

func (c always) holds(*variables) bool     { return bool(c) }
func (c negation) holds(v *variables) bool { return !c.of.holds(v) }
func (c connective) holds(v *variables) bool {
	if c.and {
		return c.a.holds(v) && c.b.holds(v)
	}
	return c.a.holds(v) || c.b.holds(v)
}

func (c numberComparison) holds(v *variables) bool {
	a, b := c.a.value(v), c.b.value(v)
	switch c.op {
	case "<":
		return a < b
	case "<=":
		return a <= b
	case ">":
		return a > b
	case ">=":
		return a >= b
	case "==":
		return a == b
	}
	return a != b
}

func (c textComparison) holds(v *variables) bool {
	return (c.a.value(v) == c.b.value(v)) == (c.op == "==")
}
func (c patternMatch) holds(v *variables) bool { return c.pattern.MatchString(c.of.value(v)) != c.not }

func (n numberOperand) value(v *variables) float64 {
	if n.variable >= 0 {
		return v.numbers[n.variable]
	}
	return n.literal
}

func (s textOperand) value(v *variables) string {
	if s.variable >= 0 {
		return v.texts[s.variable]
	}
	return s.literal
}

func (c always) String() string   { return fmt.Sprintf("(%t)", bool(c)) }
func (c negation) String() string { return "(! " + c.of.String() + ")" }
func (c connective) String() string {
	op := "||"
	if c.and {
		op = "&&"
	}
	return "(" + c.a.String() + " " + op + " " + c.b.String() + ")"
}
func (c numberComparison) String() string {
	return "(" + c.a.String() + " " + c.op + " " + c.b.String() + ")"
}
func (c textComparison) String() string {
	return "(" + c.a.String() + " " + c.op + " " + c.b.String() + ")"
}
func (c patternMatch) String() string {
	op := "~"
	if c.not {
		op = "!~"
	}
	return "(" + c.of.String() + " " + op + ` "` + c.source + `")`
}

func (n numberOperand) String() string {
	switch {
	case n.variable >= 0:
		return numberNames[n.variable]
	case n.literal == math.Trunc(n.literal):
		return strconv.FormatFloat(n.literal, 'f', 0, 64)
	}
	return strconv.FormatFloat(n.literal, 'f', 6, 64)
}

func (s textOperand) String() string {
	if s.variable >= 0 {
		return textNames[s.variable]
	}
	return `"` + s.literal + `"`
}
