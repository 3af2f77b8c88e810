package derived

import (
	"errors"
	"math"
	"strings"

	"github.com/pcp-go/pcp/pdu"
)

// A SemanticError says why an expression cannot be computed from the metrics that it names, in the
// words of the C library.
type SemanticError struct {
	Part    string // of the expression that it is about
	Message string
}

func (e *SemanticError) Error() string { return e.Message }

// An UnknownError says that an expression names a metric that is not known.
type UnknownError struct {
	Name string
	Err  error // why
}

func (e *UnknownError) Error() string { return "operand " + e.Name + ": Unknown operand metric" }

func (e *UnknownError) Unwrap() error { return e.Err }

// ErrNested is the error of Describe for a derived metric that can be bound, but not be an operand.
var ErrNested = errors.New("derived metric")

// Describe returns the descriptor of a metric. The error is pdu.ErrName if the name is not known,
// ErrNested if it is that of a derived metric, and pdu.ErrBadDerive if that metric cannot be bound.
// A descriptor with pdu.NoPMID stands for a metric without values.
type Describe func(name string) (pdu.Desc, error)

// A Program is an expression that is bound to the metrics of a source. Its state is what delta and
// rate remember; one goroutine at a time may use it.
type Program struct {
	Desc     pdu.Desc   // of the values; its PMID is not set
	Operands []pdu.PMID // what is to be fetched, each once

	root   *bound
	inputs []column // of Operands
	types  []pdu.Type
	nodes  int // of the expression
}

// A bound node is a node with the descriptor of its values.
type bound struct {
	*node
	left, right, other *bound
	desc               pdu.Desc
	input              int       // of a metric: its index in Operands, noInput if there are never values
	scales             [2]factor // of the values of left and right

	out     column
	state   history     // of delta and rate
	matched [2][]uint64 // buffers of match
}

const noInput = -1

// Bind binds an expression to metrics. The error is a *SemanticError or an *UnknownError.
func (e *Expr) Bind(describe Describe) (*Program, error) {
	b := &binder{describe: describe, p: new(Program)}
	if err := b.unknown(e.root()); err != nil {
		return nil, err
	}
	root, err := b.bind(e.root())
	if err != nil {
		return nil, err
	}
	b.p.root, b.p.Desc = root, root.desc
	b.p.inputs = make([]column, len(b.p.Operands))
	return b.p, nil
}

type binder struct {
	describe Describe
	p        *Program
}

// bind binds a node and those below it.
func (b *binder) bind(n *node) (*bound, error) {
	if n == nil {
		return nil, nil
	}
	b.p.nodes++
	o, err := b.bindNode(n)
	if e, ok := err.(*SemanticError); ok && e.Part == "" {
		e.Part = n.part()
	}
	return o, err
}

func (b *binder) bindNode(n *node) (*bound, error) {
	o := &bound{node: n}
	if n.op == tokFunction && n.fn == fnDefined {
		o.constant(pdu.TypeU32, 0)
		if b.isDefined(n) {
			o.out.words[0] = 1
		}
		return o, nil
	}
	if n.op == tokFunction && (n.fn == fnMkconst || n.fn == fnNovalue) {
		return o, b.constant(o)
	}
	if n.op == tokQuest {
		return b.bindTernary(o)
	}
	var err error
	if o.left, err = b.bind(n.left); err != nil {
		return nil, err
	}
	if o.right, err = b.bind(n.right); err != nil {
		return nil, err
	}
	switch n.op {
	case tokInteger:
		o.constant(pdu.TypeU32, n.value)
	case tokDouble:
		o.constant(pdu.TypeDouble, n.value)
	case tokName:
		return o, b.metric(o)
	case tokInstance:
		o.desc = o.left.desc
	case tokFunction:
		return o, o.function()
	case tokNot:
		return o, o.not()
	default:
		if n.negative {
			return o, o.negate()
		}
		return o, o.binary()
	}
	return o, nil
}

// constant makes a node one that has always one value.
func (o *bound) constant(t pdu.Type, v float64) {
	o.desc = pdu.Desc{PMID: pdu.NoPMID, Type: t, InDom: pdu.NoInDom, Sem: pdu.SemDiscrete}
	o.out.one(t, v)
}

// constant makes a node of mkconst or novalue what its attributes say, and for those that it is not
// given what the metric of meta has.
func (b *binder) constant(o *bound) error {
	n := o.node
	o.desc = *n.desc
	if n.left != nil {
		d, err := b.operand(n.left.word)
		if err != nil {
			return err
		}
		o.desc = n.given.over(*n.desc, d)
	}
	switch t := o.desc.Type; {
	case n.fn == fnNovalue:
		return nil
	case !isNumber(t):
		return semantic("Non-arithmetic type for mkconst")
	case strings.Contains(n.word, ".") && t != pdu.TypeDouble && t != pdu.TypeFloat:
		return semantic("Incompatible floating point constant and type '" + t.String() + "'")
	}
	o.out.one(o.desc.Type, n.value)
	return nil
}

// over is a descriptor with the attributes that are given, and the others of another one.
func (given attributes) over(d, other pdu.Desc) pdu.Desc {
	d.PMID = pdu.NoPMID
	if given&givenType == 0 {
		d.Type = other.Type
	}
	if given&givenSemantics == 0 {
		d.Sem = other.Sem
	}
	if given&givenUnits == 0 {
		d.Units = other.Units
	}
	if given&givenInDom == 0 {
		d.InDom = other.InDom
	}
	return d
}

// isConstant reports whether a node is a number.
func (o *bound) isConstant() bool {
	return o.op == tokInteger || o.op == tokDouble || o.op == tokFunction && (o.fn == fnMkconst || o.fn == fnDefined)
}

// operand describes an operand, which cannot be a derived metric.
func (b *binder) operand(name string) (pdu.Desc, error) {
	d, err := b.describe(name)
	switch {
	case errors.Is(err, pdu.ErrBadDerive) || err == ErrNested:
		return d, &SemanticError{Part: name, Message: "A derived metric cannot be an operand"}
	case err != nil:
		return d, &UnknownError{name, err}
	}
	return d, nil
}

// metric finds a metric, which is fetched once however often it is named.
func (b *binder) metric(o *bound) error {
	d, err := b.operand(o.word)
	if err != nil {
		return err
	}
	o.desc = d
	if d.PMID == pdu.NoPMID {
		o.input = noInput
		return nil
	}
	for i, id := range b.p.Operands {
		if id == d.PMID {
			o.input = i
			return nil
		}
	}
	o.input = len(b.p.Operands)
	b.p.Operands = append(b.p.Operands, d.PMID)
	b.p.types = append(b.p.types, d.Type)
	return nil
}

// isNumber reports whether values of a type are numbers.
func isNumber(t pdu.Type) bool { return t >= pdu.Type32 && t <= pdu.TypeDouble }

func semantic(message string) error { return &SemanticError{Message: message} }

// function finds the descriptor of a function.
func (o *bound) function() error {
	if o.fn == fnAnon {
		o.desc = *o.node.desc
		return nil
	}
	o.desc = o.left.desc
	switch o.fn {
	case fnCount, fnScalar, fnMatchInst, fnInstant:
	default:
		if !isNumber(o.desc.Type) {
			return semantic("Non-arithmetic operand for function")
		}
	}
	d := &o.desc
	switch o.fn {
	case fnAvg:
		d.Type, d.Sem, d.InDom = pdu.TypeFloat, pdu.SemInstant, pdu.NoInDom
	case fnSum, fnScalar:
		d.InDom = pdu.NoInDom
	case fnMax, fnMin:
		d.Sem, d.InDom = pdu.SemInstant, pdu.NoInDom
	case fnCount:
		d.Type, d.Sem, d.InDom, d.Units = pdu.TypeU32, pdu.SemInstant, pdu.NoInDom, pdu.UnitCount
	case fnInstant:
		if d.Sem == pdu.SemCounter {
			d.Sem = pdu.SemInstant
		}
	case fnDelta:
		d.Sem = pdu.SemInstant
		switch d.Type {
		case pdu.TypeU32:
			d.Type = pdu.Type64
		case pdu.TypeU64:
			d.Type = pdu.TypeDouble
		}
	case fnRate:
		return o.rate()
	case fnRescale:
		if !compatible(d.Units, o.node.desc.Units) {
			return semantic("Incompatible dimensions")
		}
		d.Units = o.node.desc.Units
	}
	return nil
}

// rate finds the descriptor of a rate: the units are divided by time.
func (o *bound) rate() error {
	d := &o.desc
	d.Type, d.Sem = pdu.TypeDouble, pdu.SemInstant
	u := d.Units
	switch u.DimTime() {
	case 0:
		d.Units = pdu.MakeUnits(u.DimSpace(), -1, u.DimCount(), u.ScaleSpace(), pdu.TimeSec.ScaleTime(), u.ScaleCount())
	case 1:
		d.Units = pdu.MakeUnits(u.DimSpace(), 0, u.DimCount(), u.ScaleSpace(), 0, u.ScaleCount())
	default:
		return semantic("Incorrect time dimension for operand")
	}
	return nil
}

func (o *bound) not() error {
	o.desc = o.left.desc
	if !isNumber(o.desc.Type) {
		return semantic("Non-arithmetic operand for unary negation")
	}
	return nil
}

func (o *bound) negate() error {
	o.desc = o.left.desc
	if !isNumber(o.desc.Type) {
		return semantic("Non-arithmetic operand for unary negation")
	}
	o.desc.Sem = pdu.SemInstant
	switch o.desc.Type {
	case pdu.TypeU32:
		o.desc.Type = pdu.Type32
	case pdu.TypeU64:
		o.desc.Type = pdu.Type64
	}
	return nil
}

func isRelation(op token) bool { return levelOf(op) == levelRelation }

// binary finds the descriptor of two operands with an operator between them.
func (o *bound) binary() error {
	left, right := &o.left.desc, &o.right.desc
	if err := o.checkCounters(left, right); err != nil {
		return err
	}
	switch {
	case !isNumber(left.Type):
		return semantic("Non-arithmetic type for left operand")
	case !isNumber(right.Type):
		return semantic("Non-arithmetic type for right operand")
	}
	o.desc = *left
	if o.left.isConstant() {
		o.desc = *right
	}
	if o.desc.Sem == pdu.SemDiscrete && (left.Sem == pdu.SemInstant || right.Sem == pdu.SemInstant) {
		o.desc.Sem = pdu.SemInstant
	}
	if err := o.checkDimensions(left, right); err != nil {
		return err
	}
	if err := checkDimensionless(left, right); err != nil {
		return err
	}
	if !isRelation(o.op) { // as the C library, which compares the bare numbers
		o.scale(left.Units, right.Units)
	}
	if left.InDom != pdu.NoInDom && right.InDom != pdu.NoInDom && left.InDom != right.InDom {
		return semantic("Operands should have the same instance domain")
	}
	if o.desc.InDom = left.InDom; o.desc.InDom == pdu.NoInDom {
		o.desc.InDom = right.InDom
	}
	switch {
	case o.op == tokSlash, o.scales != [2]factor{}:
		o.desc.Type = pdu.TypeDouble
	default:
		o.desc.Type = max(left.Type, right.Type) // they are in the order of what they hold
	}
	if isRelation(o.op) || o.op == tokAnd || o.op == tokOr {
		o.desc.Type, o.desc.Units = pdu.TypeU32, pdu.NoUnits
	}
	return nil
}

// checkCounters refuses operators that make no sense with counters.
func (o *bound) checkCounters(left, right *pdu.Desc) error {
	l, r := left.Sem == pdu.SemCounter, right.Sem == pdu.SemCounter
	sum := o.op == tokPlus || o.op == tokMinus
	product := o.op == tokStar || o.op == tokSlash
	switch {
	case l && r && product:
		return semantic("Illegal operator for counters")
	case l && !r && sum:
		return semantic("Illegal operator for counter and non-counter")
	case r && !l && (sum || o.op == tokSlash):
		return semantic("Illegal operator for non-counter and counter")
	}
	return nil
}

// checkDimensionless refuses a counter and an operand that has a dimension but is not a counter.
func checkDimensionless(left, right *pdu.Desc) error {
	l, r := left.Sem == pdu.SemCounter, right.Sem == pdu.SemCounter
	switch {
	case l && !r && hasDimension(right.Units):
		return semantic("Non-counter and not dimensionless for right operand")
	case r && !l && hasDimension(left.Units):
		return semantic("Non-counter and not dimensionless for left operand")
	}
	return nil
}

func hasDimension(u pdu.Units) bool {
	return u.DimSpace() != 0 || u.DimTime() != 0 || u.DimCount() != 0
}

// checkDimensions refuses operands of different dimensions. As in the C library all can be compared
// with a value of type U32.
func (o *bound) checkDimensions(left, right *pdu.Desc) error {
	l, r := left.Units, right.Units
	ok := true
	switch {
	case o.op == tokAnd || o.op == tokOr:
		ok = !hasDimension(l) && !hasDimension(r)
	case o.op == tokStar || o.op == tokSlash:
	case isRelation(o.op) && (left.Type == pdu.TypeU32 || right.Type == pdu.TypeU32):
	default:
		ok = compatible(l, r)
	}
	if !ok {
		return semantic("Dimensions are not the same")
	}
	return nil
}

// compatible reports whether the dimensions are the same. A count is a pure number.
func compatible(a, b pdu.Units) bool {
	return a.DimSpace() == b.DimSpace() && a.DimTime() == b.DimTime() && a.DimCount() == b.DimCount() ||
		isCount(a) && !hasDimension(b) || isCount(b) && !hasDimension(a)
}

func isCount(u pdu.Units) bool { return u.DimSpace() == 0 && u.DimTime() == 0 && u.DimCount() == 1 }

// timeScales are the lengths of the scales of time, in nanoseconds.
var timeScales = [16]float64{1, 1e3, 1e6, 1e9, 60e9, 3600e9}

// scale brings both operands to the greater of their scales, dimension by dimension.
func (o *bound) scale(left, right pdu.Units) {
	u := o.desc.Units
	ds := [3]int{u.DimSpace(), u.DimTime(), u.DimCount()}
	scale := [3]int{u.ScaleSpace(), u.ScaleTime(), u.ScaleCount()}
	ld, rd := [3]int{left.DimSpace(), left.DimTime(), left.DimCount()}, [3]int{right.DimSpace(), right.DimTime(), right.DimCount()}
	ls, rs := [3]int{left.ScaleSpace(), left.ScaleTime(), left.ScaleCount()}, [3]int{right.ScaleSpace(), right.ScaleTime(), right.ScaleCount()}
	for i := range ds {
		switch o.op {
		case tokStar:
			ds[i] = ld[i] + rd[i]
		case tokSlash:
			ds[i] = ld[i] - rd[i]
		}
		switch {
		case ld[i] == 0:
			if o.op == tokStar || o.op == tokSlash {
				scale[i] = rs[i]
			}
		case rd[i] == 0:
			scale[i] = ls[i]
		case ls[i] != rs[i]:
			o.rescaleOne(i, ls[i], rs[i], rd[i])
			scale[i] = max(ls[i], rs[i])
		}
		if o.left.isConstant() { // as the C library, with any scale of the values
			scale[i] = rs[i]
		}
		if ds[i] == 0 {
			scale[i] = 0
		}
	}
	o.desc.Units = pdu.MakeUnits(ds[0], ds[1], ds[2], scale[0], scale[1], scale[2])
}

// rescaleOne converts the operand of the smaller scale of a dimension to the larger scale. Like in
// the C library the sign of the right operand's dimension alone selects multiplication or division,
// and the result is wrong for powers.
func (o *bound) rescaleOne(dimension, left, right, rightDim int) {
	ratio := 1.0
	switch dimension {
	case 0:
		ratio = math.Pow(1024, math.Abs(float64(left-right)))
	case 1:
		ratio = timeScales[max(left, right)] / timeScales[min(left, right)]
	case 2:
		ratio = math.Pow(10, math.Abs(float64(left-right)))
	}
	side := &o.scales[0]
	if left > right {
		side = &o.scales[1]
	}
	if rightDim > 0 {
		side.divide(ratio)
	} else {
		side.multiply(ratio)
	}
}

// A factor is what values are multiplied with, and divided by: the quotient of both would have
// rounding errors.
type factor struct{ by, over float64 }

func (f *factor) multiply(v float64) { *f = factor{max(f.by, 1) * v, max(f.over, 1)} }

func (f *factor) divide(v float64) { *f = factor{max(f.by, 1), max(f.over, 1) * v} }

func (f factor) apply(v float64) float64 {
	if f.over == 0 {
		return v
	}
	return v * f.by / f.over
}

// unknown returns the error of the first unknown metric that an expression needs, or nil. An
// expression does not need the alternative that its guard never chooses.
func (b *binder) unknown(n *node) error {
	switch {
	case n == nil:
		return nil
	case n.op == tokName:
		_, err := b.operand(n.word)
		return err
	case n.op == tokFunction && n.fn == fnDefined:
		if _, err := b.describe(n.left.word); errors.Is(err, pdu.ErrBadDerive) {
			return &UnknownError{n.left.word, err} // there is such a metric, but it makes no sense
		}
		return nil
	}
	if chosen, _ := b.alternatives(n); chosen != nil {
		return b.unknown(chosen)
	}
	for _, part := range []*node{n.left, n.right, n.other} {
		if err := b.unknown(part); err != nil {
			return err
		}
	}
	return nil
}

// isDefined reports whether the metric of a node of the function defined is known.
func (b *binder) isDefined(n *node) bool {
	d, err := b.describe(n.left.word)
	return err == nil && d.PMID != pdu.NoPMID || err == ErrNested
}

// alternatives are what the guard of a ternary expression always chooses, and what never; nil if it
// depends on values.
func (b *binder) alternatives(n *node) (chosen, never *node) {
	if n.op != tokQuest {
		return nil, nil
	}
	switch always, ok := b.truth(n.left); {
	case !ok:
		return nil, nil
	case always:
		return n.right, n.other
	}
	return n.other, n.right
}

// truth is whether a guard is always true or always false: one of numbers and defined, and of these
// with Boolean operators.
func (b *binder) truth(n *node) (always, ok bool) {
	switch n.op {
	case tokInteger, tokDouble:
		return n.value != 0, true
	case tokFunction:
		if n.fn != fnDefined {
			return false, false
		}
		return b.isDefined(n), true
	case tokNot:
		always, ok = b.truth(n.left)
		return !always, ok
	case tokAnd, tokOr:
		left, leftOK := b.truth(n.left)
		right, rightOK := b.truth(n.right)
		if n.op == tokAnd {
			return left && right, leftOK && rightOK
		}
		return left || right, leftOK && rightOK
	}
	return false, false
}

// bindTernary binds a guard and both alternatives. If the guard always chooses the same
// alternative, the expression is that alternative, and the other one is not looked at, as in PCP
// 7. The exception is novalue, which has the attributes of the other alternative.
func (b *binder) bindTernary(o *bound) (_ *bound, err error) {
	chosen, never := b.alternatives(o.node)
	if chosen != nil && (chosen.fn != fnNovalue || b.unknown(never) != nil) {
		return b.bind(chosen)
	}
	if o.left, err = b.bind(o.node.left); err != nil {
		return nil, err
	}
	if o.right, err = b.bind(o.node.right); err != nil {
		return nil, err
	}
	if o.other, err = b.bind(o.node.other); err != nil {
		return nil, err
	}
	o.right.inherit(o.other)
	o.other.inherit(o.right)
	return o, o.ternary()
}

// inherit gives novalue the attributes of the other alternative that it has not.
func (o *bound) inherit(from *bound) {
	if o.fn == fnNovalue && o.node.left == nil {
		o.desc = o.given.over(o.desc, from.desc)
	}
}

// ternary finds the descriptor of a choice.
func (o *bound) ternary() error {
	l, r := &o.right.desc, &o.other.desc
	o.desc = *l
	different := func(what string) error {
		return &SemanticError{o.node.right.operand() + " : " + o.node.other.operand(), "Different " + what + " for ternary operands"}
	}
	switch {
	case l.Type != r.Type:
		return different("types")
	case l.InDom != pdu.NoInDom && r.InDom != pdu.NoInDom && l.InDom != r.InDom:
		return different("instance domains")
	case l.Sem != r.Sem:
		return different("semantics")
	case l.Units.DimSpace() != r.Units.DimSpace() || l.Units.ScaleSpace() != r.Units.ScaleSpace():
		return different("units or scale (space)")
	case l.Units.DimTime() != r.Units.DimTime() || l.Units.ScaleTime() != r.Units.ScaleTime():
		return different("units or scale (time)")
	case l.Units.DimCount() != r.Units.DimCount() || l.Units.ScaleCount() != r.Units.ScaleCount():
		return different("units or scale (count)")
	}
	if o.desc.InDom == pdu.NoInDom {
		o.desc.InDom = r.InDom
	}
	if !isNumber(o.left.desc.Type) {
		return semantic("Non-arithmetic operand for ternary guard")
	}
	if o.left.desc.InDom != pdu.NoInDom && o.desc.InDom == pdu.NoInDom {
		return semantic("Non-scalar ternary guard with scalar expressions")
	}
	return nil
}
