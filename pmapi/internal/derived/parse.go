package derived

import (
	"fmt"
	"iter"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/pcp-go/pcp/pdu"
)

// An Expr is the expression of a derived metric. It does not change, and several goroutines may use
// it. Many are defined and few are used: its nodes are made when it is used first.
type Expr struct {
	text  string
	once  sync.Once
	nodes *node
}

// root is the node that is the whole expression.
func (e *Expr) root() *node {
	e.once.Do(func() { e.nodes, _ = new(parser).parse(e.text) }) // checked before
	return e.nodes
}

// String is the text.
func (e *Expr) String() string { return e.text }

// Mentions yields the names of all metrics in the expression, each as often as it is there.
func (e *Expr) Mentions() iter.Seq[string] {
	return func(yield func(string) bool) { e.root().names(yield) }
}

func (n *node) names(yield func(string) bool) bool {
	switch {
	case n == nil:
		return true
	case n.op == tokName:
		return yield(n.word)
	}
	return n.left.names(yield) && n.right.names(yield) && n.other.names(yield)
}

// Bytes of memory, about, that parts of a bound expression take.
const (
	exprBytes = 1 << 10 // the definition with its place in a context
	nodeBytes = 1 << 9  // a node and the bound one
	instBytes = 1 << 7  // an instruction of a pattern, with the state of a match
)

// Size is how many bytes of memory a bound expression takes, about. The values are not counted.
func (e *Expr) Size() int {
	return exprBytes + len(e.text) + e.root().size()
}

func (n *node) size() int {
	if n == nil {
		return 0
	}
	return nodeBytes + n.insts*instBytes + n.left.size() + n.right.size() + n.other.size()
}

// A node is a part of an expression.
type node struct {
	op          token      // tokFunction for fn; tokName, tokInteger and tokDouble for a leaf; tokInstance for one instance
	fn          function   // of tokFunction
	inverted    bool       // of pattern
	negative    bool       // tokMinus with left alone
	given       attributes // of mkconst and novalue: what desc has of the expression
	desc        *pdu.Desc  // of mkconst, novalue and anon: all but the PMID; of rescale the units; nil for others
	left, right *node      // left of mkconst and novalue: the metric of meta, or nil
	other       *node      // of tokQuest: left ? right : other
	word        string     // the name of a metric or of an instance, or a number as it is written
	value       float64    // of a number
	pattern     *regexp.Regexp
	insts       int // of pattern
}

// attributes are those of a metric that mkconst and novalue are given.
type attributes uint8

const (
	givenType attributes = 1 << iota
	givenSemantics
	givenUnits
	givenInDom
)

// operand is how messages write an operand.
func (n *node) operand() string {
	switch n.op {
	case tokName, tokInteger, tokDouble:
		return n.word
	case tokFunction:
		switch n.fn {
		case fnMkconst:
			return n.word
		case fnNovalue:
			return "novalue()"
		}
	}
	return "<expr>"
}

// part is how messages write a node with operands.
func (n *node) part() string {
	switch {
	case n.op == tokQuest:
		return n.left.operand() + " ? " + n.right.operand() + " : " + n.other.operand()
	case n.op == tokFunction && n.fn == fnRescale:
		return n.left.operand() + " RESCALE " + n.desc.Units.String()
	case n.op == tokFunction:
		return strings.ToUpper(functionCalls[n.fn]) + n.left.operand() + ")"
	case n.op == tokNot, n.negative:
		return opNames[n.op].text + " " + n.left.operand()
	}
	return n.left.operand() + " " + opNames[n.op].text + " " + n.right.operand()
}

// maxExpr is the greatest length of an expression in bytes, and maxDepth how deeply its parts may
// be nested: expressions also come from files.
const (
	maxExpr  = 1 << 16
	maxDepth = 500
)

// Parse parses an expression. The error is a *SyntaxError.
func Parse(text string) (*Expr, error) {
	return new(parser).check(text)
}

// A parser parses expressions, one after the other, by the precedence of operators. What an error
// is called depends on where it is: on the innermost of the unfinished parts of the expression that
// say what should follow them.
type parser struct {
	lexer
	open     []expectation // what those parts say
	depth    int
	patterns int    // instructions of all patterns of the expression
	spare    []node // for nodes, which are allocated many at a time
	slab     []node // the latest of them
}

// The least and the greatest number of nodes that are allocated at a time.
const (
	minSlab = 4
	maxSlab = 64
)

// newNode returns a node for an expression.
func (p *parser) newNode(op token) *node {
	if len(p.spare) == 0 {
		p.slab = make([]node, min(max(2*len(p.slab), minSlab), maxSlab))
		p.spare = p.slab
	}
	n := &p.spare[0]
	p.spare = p.spare[1:]
	n.op = op
	return n
}

// An expectation is the message about a missing expression or token. It has two parts, which are
// joined only on an error.
type expectation struct{ text, end string }

// The precedence of operators. Those of one level go from left to right.
const (
	levelTernary = 1 + iota
	levelBoolean
	levelNot
	levelRelation
	levelSum
	levelNegative
	levelProduct
)

func levelOf(t token) int {
	switch t {
	case tokQuest:
		return levelTernary
	case tokAnd, tokOr:
		return levelBoolean
	case tokLess, tokLessEqual, tokEqual, tokGreaterEqual, tokGreater, tokNotEqual:
		return levelRelation
	case tokPlus, tokMinus:
		return levelSum
	case tokStar, tokSlash:
		return levelProduct
	}
	return 0
}

// check parses one expression, and leaves nothing of it but its text.
func (p *parser) check(text string) (*Expr, error) {
	_, err := p.parse(text)
	clear(p.slab[:len(p.slab)-len(p.spare)])
	p.spare = p.slab
	if err != nil {
		return nil, err
	}
	return &Expr{text: text}, nil
}

// parse parses one expression.
func (p *parser) parse(text string) (*node, error) {
	if len(text) > maxExpr {
		return nil, &SyntaxError{Offset: maxExpr, Message: fmt.Sprintf("expression of more than %d bytes", maxExpr)}
	}
	p.lexer, p.open, p.depth, p.patterns = lexer{text: text}, p.open[:0], 0, 0
	return p.all()
}

// all parses the whole text.
func (p *parser) all() (*node, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	switch p.tok {
	case tokLParen: // an expression, but what is wrong with that is told in these words
		p.open = append(p.open, expectation{"Unexpected initial '('", ""})
	case tokMinus, tokNot:
	default:
		if text := opNames[p.tok].text; text != "" {
			return nil, p.failAfter("Unexpected initial '" + text + "'")
		}
	}
	n, err := p.expression(0)
	if err != nil {
		return nil, err
	}
	p.open = p.open[:0]
	switch p.tok {
	case tokEnd:
		return n, nil
	case tokLParen, tokRParen:
		return nil, p.failAfter("Unexpected '" + opNames[p.tok].text + "'")
	}
	return nil, p.unexpected()
}

// failAfter fails at the token after the present one.
func (p *parser) failAfter(message string) error {
	if err := p.advance(); err != nil {
		return err
	}
	return p.fail(message)
}

// unexpected is the error about the present token.
func (p *parser) unexpected() error {
	if len(p.open) == 0 {
		return p.fail("")
	}
	e := p.open[len(p.open)-1]
	return p.fail(e.text + e.end)
}

// within parses an expression of a level after the present token, and checks that the token after
// it is after, unless that is tokEnd. message is the error if the expression or token is missing.
func (p *parser) within(message expectation, level int, after token) (*node, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	p.open = append(p.open, message)
	depth := len(p.open)
	n, err := p.expression(level)
	if err == nil && after != tokEnd && p.tok != after {
		err = p.unexpected()
	}
	if err == nil {
		p.open = p.open[:depth-1]
	}
	return n, err
}

// expression parses an expression whose operators have a level of at least min.
func (p *parser) expression(min int) (*node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.fail(fmt.Sprintf("more than %d parts are nested", maxDepth))
	}
	left, err := p.operand()
	for err == nil {
		op := p.tok
		level := levelOf(op)
		if level == 0 || level < min {
			p.depth--
			return left, nil
		}
		if op == tokQuest {
			left, err = p.ternary(left)
			continue
		}
		message := expectation{"Arithmetic expression expected to follow ", opNames[op].name}
		if level == levelBoolean {
			message.text = "Boolean expression expected to follow "
		}
		n := p.newNode(op)
		n.left = left
		n.right, err = p.within(message, level+1, tokEnd)
		left = n
	}
	return nil, err
}

// ternary parses what follows a guard.
func (p *parser) ternary(guard *node) (n *node, err error) {
	n = p.newNode(tokQuest)
	n.left = guard
	if n.right, err = p.alternative("QUEST", levelTernary, tokColon); err != nil {
		return nil, err
	}
	if n.other, err = p.alternative("COLON", levelTernary+1, tokEnd); err != nil {
		return nil, err
	}
	if n.right.fn == fnNovalue && n.other.fn == fnNovalue {
		return nil, p.fail("novalue() may appear at most once in a ternary expression")
	}
	return n, nil
}

// alternative parses an alternative of a ternary expression: an expression, like within, or a
// single call of novalue.
func (p *parser) alternative(name string, level int, after token) (*node, error) {
	message := expectation{"Arithmetic expression expected to follow ", name}
	if p.skipBlanks(); !strings.HasPrefix(p.text[p.next:], functionCalls[fnNovalue]) {
		return p.within(message, level, after)
	}
	p.next += len(functionCalls[fnNovalue])
	n := p.newNode(tokFunction)
	n.fn = fnNovalue
	n, err := p.function(n)
	if err == nil && (after == tokColon && p.tok != tokColon || levelOf(p.tok) > levelTernary || p.tok == tokInstance) {
		err = p.fail("")
	}
	return n, err
}

// operand parses what is between operators.
func (p *parser) operand() (*node, error) {
	n := p.newNode(p.tok)
	n.word, n.value = p.word, p.value
	switch p.tok {
	case tokInteger, tokDouble:
		return n, p.advance()
	case tokName:
		return p.metric(n)
	case tokMinus:
		n.negative = true
		return p.unary(n, expectation{"Arithmetic expression expected to follow ", "NEG"}, levelNegative)
	case tokNot:
		return p.unary(n, expectation{"Boolean expression expected to follow ", "NOT"}, levelNot)
	case tokLParen:
		return p.parenthesis()
	case tokFunction:
		n.fn = p.fn
		return p.function(n)
	}
	return nil, p.unexpected()
}

func (p *parser) unary(n *node, message expectation, level int) (_ *node, err error) {
	n.left, err = p.within(message, level, tokEnd)
	return n, err
}

// metric parses what follows the name of a metric.
func (p *parser) metric(n *node) (*node, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	switch p.tok {
	case tokInstance:
		return p.instance(n)
	case tokQuest, tokColon, tokComma, tokLParen, tokRParen, tokEnd:
		return n, nil
	}
	if levelOf(p.tok) == 0 {
		return nil, p.fail("Arithmetic or relational or boolean operator expected to follow NAME")
	}
	return n, nil
}

// instance parses the instance of an operand.
func (p *parser) instance(of *node) (*node, error) {
	n := p.newNode(tokInstance)
	n.left, n.word = of, p.word
	return n, p.advance()
}

func (p *parser) parenthesis() (*node, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	n, err := p.expression(0)
	if err == nil && p.tok != tokRParen {
		err = p.unexpected()
	}
	if err == nil {
		err = p.advance()
	}
	if err == nil && p.tok == tokInstance {
		return p.instance(n)
	}
	return n, err
}

// function parses the arguments of a function. The parenthesis belongs to its token.
func (p *parser) function(n *node) (*node, error) {
	message := expectation{}
	parse := (*parser).name
	switch n.fn {
	case fnScalar:
		message.text, parse = "<expr> expected to follow scalar(", (*parser).argument
	case fnRescale:
		message.text, parse = "Arithmetic or relational or boolean operator expected to follow rescale(", (*parser).rescale
	case fnMatchInst:
		p.pattern = true
		message.text, parse = "<filter>, <expr>) expected to follow matchinst(", (*parser).matchInst
	case fnDefined:
	case fnMkconst:
		parse = (*parser).mkconst
	case fnNovalue:
		parse = (*parser).novalue
	case fnAnon:
		message.text, parse = "Metric name expected to follow anon(", (*parser).anon
	case fnDelta, fnRate, fnInstant:
		message, parse = expectation{"Metric name expected to follow ", functionCalls[n.fn]}, (*parser).changing
	default:
		message = expectation{"Metric name expected to follow ", functionCalls[n.fn]}
	}
	depth := len(p.open)
	if err := p.advance(); err != nil {
		return nil, err
	}
	if message.text != "" {
		p.open = append(p.open, message)
	}
	if err := parse(p, n); err != nil {
		return nil, err
	}
	if p.tok != tokRParen {
		return nil, p.unexpected()
	}
	p.open = p.open[:depth]
	return n, p.advance()
}

// say replaces what the function that is being parsed says about an error.
func (p *parser) say(message string) { p.open[len(p.open)-1] = expectation{message, ""} }

// argument parses an expression as the argument of n.
func (p *parser) argument(n *node) (err error) {
	n.left, err = p.expression(0)
	return err
}

// changing parses the argument of delta, rate and instant, which is any expression since PCP 7 and
// was a name before. Its errors are those of the older grammar: the argument is not a name, or an
// unexpected token follows.
func (p *parser) changing(n *node) error {
	first := lexer{text: p.text, next: p.start}
	err := p.argument(n)
	if err == nil && p.tok == tokRParen {
		return nil
	}
	if err == nil {
		err = p.unexpected()
	}
	if failed := first.advance(); failed != nil {
		return failed
	}
	if first.tok == tokName {
		if failed := first.advance(); failed != nil {
			return failed
		}
	}
	if e, ok := err.(*SyntaxError); ok && e.Offset > first.start {
		e.Offset, e.Message = first.start, "Metric name expected to follow "+functionCalls[n.fn]
	}
	return err
}

// name parses the name of a metric as the argument of n.
func (p *parser) name(n *node) error {
	if p.tok != tokName {
		return p.unexpected()
	}
	n.left = p.newNode(tokName)
	n.left.word = p.word
	return p.advance()
}

func (p *parser) rescale(n *node) error {
	if err := p.argument(n); err != nil {
		return err
	}
	if p.tok != tokComma {
		return p.unexpected()
	}
	p.say("Units string expected to follow rescale(<expr>,")
	if err := p.advance(); err != nil {
		return err
	}
	text := p.word
	if p.tok != tokString {
		return p.unexpected()
	}
	if err := p.advance(); err != nil {
		return err
	}
	if p.tok != tokRParen {
		return p.unexpected()
	}
	return p.units(n, text)
}

// units sets the units of n.
func (p *parser) units(n *node, text string) error {
	u, _, err := pdu.ParseUnits(text)
	if err != nil {
		return p.fail("Illegal units: '" + unitsMessage(text, err) + "'")
	}
	if n.desc == nil { // of rescale
		n.desc = new(pdu.Desc)
	}
	n.desc.Units = u
	return nil
}

// unitsMessage returns only the reason from package pdu's error about the text of units.
func unitsMessage(text string, err error) string {
	message := strings.TrimPrefix(err.Error(), fmt.Sprintf("units %q: ", text))
	return strings.TrimSuffix(message, ": "+pdu.ErrConv.Error())
}

func (p *parser) matchInst(n *node) error {
	if p.tok == tokNot {
		n.inverted = true
		if err := p.advance(); err != nil {
			return err
		}
	}
	if p.tok != tokPattern {
		p.pattern = false
		return p.unexpected()
	}
	p.pattern = false
	var err error
	if n.pattern, n.insts, err = p.compilePattern(p.word); err != nil {
		return p.fail("bad regular expression: '" + err.Error() + "'")
	}
	p.say(", <expr>) expected to follow matchinst(<filter>")
	if err := p.advance(); err != nil {
		return err
	}
	if p.tok != tokComma {
		return p.unexpected()
	}
	p.say("<expr>) expected to follow matchinst(<filter>,")
	if err := p.advance(); err != nil {
		return err
	}
	return p.argument(n)
}

// mkconst parses a number and its attributes.
func (p *parser) mkconst(n *node) error {
	n.desc = &pdu.Desc{PMID: pdu.NoPMID, Type: pdu.TypeU32, InDom: pdu.NoInDom, Sem: pdu.SemDiscrete}
	switch p.tok {
	case tokInteger:
	case tokDouble:
		n.desc.Type = pdu.TypeDouble
	default:
		return p.unexpected()
	}
	double := p.tok == tokDouble
	n.value, n.word = p.value, p.word
	if err := p.advance(); err != nil {
		return err
	}
	for first := true; first || p.tok != tokRParen; first = false {
		if p.tok != tokComma {
			return p.unexpected()
		}
		if err := p.advance(); err != nil {
			return err
		}
		if err := p.attribute(n); err != nil {
			return err
		}
	}
	if t := n.desc.Type; double && t != pdu.TypeDouble && t != pdu.TypeFloat {
		return p.fail("Incompatible floating point constant and type '" + t.String() + "'")
	}
	return nil
}

// novalue parses the attributes of novalue. Each is optional.
func (p *parser) novalue(n *node) error {
	n.desc = &pdu.Desc{PMID: pdu.NoPMID, Type: pdu.TypeU32, InDom: pdu.NoInDom, Sem: pdu.SemDiscrete}
	for first := true; p.tok != tokRParen; first = false {
		if !first {
			if p.tok != tokComma {
				return p.unexpected()
			}
			if err := p.advance(); err != nil {
				return err
			}
		}
		if err := p.attribute(n); err != nil {
			return err
		}
	}
	return nil
}

// attribute parses a key and its value, and the token after them.
func (p *parser) attribute(n *node) error {
	key := p.word
	if p.tok != tokReserved && (p.tok != tokName || key != "indom" && key != "meta") {
		return p.unexpected()
	}
	if err := p.advance(); err != nil {
		return err
	}
	if p.tok != tokAssign {
		return p.unexpected()
	}
	if err := p.advance(); err != nil {
		return err
	}
	isInDom := p.tok == tokDouble && key == "indom" // 60.1
	if p.tok != tokName && p.tok != tokString && p.tok != tokInteger && !isInDom {
		return p.unexpected()
	}
	if err := p.setAttribute(n, key, p.word); err != nil {
		return err
	}
	return p.advance()
}

// setAttribute sets an attribute of n to the present token.
func (p *parser) setAttribute(n *node, key, value string) error {
	ok := true
	switch key {
	case "units":
		n.given |= givenUnits
		return p.units(n, value)
	case "type":
		n.given |= givenType
		n.desc.Type, ok = constType(value)
	case "semantics":
		n.given |= givenSemantics
		n.desc.Sem, ok = constSem(value)
	case "indom":
		n.given |= givenInDom
		if n.desc.InDom, ok = parseInDom(value); !ok {
			return p.fail("Illegal indom: '" + value + "'")
		}
	case "meta":
		if !isName(value) {
			return p.unexpected()
		}
		n.left = p.newNode(tokName)
		n.left.word = value
	}
	if !ok {
		return p.fail("Unrecognized value for " + key + " '" + value + "'")
	}
	return nil
}

// parseInDom is the instance domain that is written as null, or as its domain and serial number.
func parseInDom(text string) (pdu.InDom, bool) {
	if strings.EqualFold(text, "null") {
		return pdu.NoInDom, true
	}
	domain, serial, ok := strings.Cut(text, ".")
	d, err1 := strconv.ParseUint(domain, 10, 32)
	s, err2 := strconv.ParseUint(serial, 10, 32)
	if !ok || err1 != nil || err2 != nil || pdu.Domain(d) > pdu.MaxDomain || s > pdu.MaxInDomSerial {
		return 0, false
	}
	return pdu.MakeInDom(pdu.Domain(d), int(s)), true
}

func constType(text string) (t pdu.Type, ok bool) {
	switch strings.ToLower(text) {
	case "32":
		return pdu.Type32, true
	case "u32":
		return pdu.TypeU32, true
	case "64":
		return pdu.Type64, true
	case "u64":
		return pdu.TypeU64, true
	case "float":
		return pdu.TypeFloat, true
	case "double":
		return pdu.TypeDouble, true
	}
	return 0, false
}

func constSem(text string) (s pdu.Sem, ok bool) {
	switch strings.ToLower(text) {
	case "counter":
		return pdu.SemCounter, true
	case "instant":
		return pdu.SemInstant, true
	case "discrete":
		return pdu.SemDiscrete, true
	}
	return 0, false
}

// anon parses a type.
func (p *parser) anon(n *node) error {
	if p.tok != tokName {
		return p.unexpected()
	}
	t, ok := constType(strings.TrimPrefix(p.word, "PM_TYPE_"))
	if !ok || !strings.HasPrefix(p.word, "PM_TYPE_") {
		return p.fail("type=" + p.word + " not allowed for anon()")
	}
	n.desc = &pdu.Desc{PMID: pdu.NoPMID, Type: t, InDom: pdu.NoInDom, Sem: pdu.SemDiscrete}
	return p.advance()
}
