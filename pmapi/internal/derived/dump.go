package derived

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/pdu"
)

// Dump writes an expression as the C library does that has parsed it. The addresses mean nothing
// but which node is which.
func (e *Expr) Dump(w io.Writer) {
	fmt.Fprintf(w, "Derived metric expr dump from %p...\n", e.root())
	d := dumper{w: w}
	d.parsed(e.root(), false)
}

// Dump writes a program as the C library does: what is known of each part. describe is the lines
// about a descriptor. With values it is what the last Eval has computed, and without the heading.
func (p *Program) Dump(w io.Writer, id pdu.PMID, values bool, describe func(pdu.Desc) string) {
	if !values {
		fmt.Fprintf(w, "Derived metric expr dump from %p...\n", p.root)
	}
	d := dumper{w: w, describe: describe, values: values}
	d.bound(p.root, id, false, factor{})
}

// A dumper writes the nodes of an expression, each before those below it.
type dumper struct {
	w        io.Writer
	describe func(pdu.Desc) string
	values   bool
}

// parsed writes a node and those below it. saved says that values are kept for the next time.
func (d *dumper) parsed(n *node, saved bool) {
	if n == nil {
		return
	}
	left, right, leaf := shape(n)
	d.line(n, n, left, right, leaf, saved, 1)
	switch {
	case n.op == tokFunction && n.fn == fnAnon:
		fmt.Fprintf(d.w, "expr node %p type=INTEGER left=(nil) right=(nil) save_last=0 [PM_TYPE_%s] primary=1\n", left, n.desc.Type)
	case isFilter(n):
		d.pattern(left, n, nil)
		d.parsed(n.left, false)
	case n.op == tokQuest:
		d.parsed(n.left, false)
		fmt.Fprintf(d.w, "expr node %p type=COLON left=%p right=%p save_last=0\n", right, n.right, n.other)
		d.parsed(n.right, false)
		d.parsed(n.other, false)
	case n.fn == fnMkconst, n.fn == fnNovalue:
	default:
		d.parsed(n.left, savesLast(n))
		d.parsed(n.right, false)
		d.scale(right, n)
	}
}

// bound writes a bound node, in the descriptor of which is a PMID, and those below it. The node
// above it scales its values.
func (d *dumper) bound(o *bound, id pdu.PMID, saved bool, scale factor) {
	n := o.node
	left, right, leaf := o.shape()
	d.line(o, n, left, right, leaf, saved, 0)
	d.attributes(o, id, scale)
	switch {
	case isFilter(n):
		d.pattern(left, n, o)
		d.below(o.left, false, factor{})
	case n.op == tokQuest:
		d.below(o.left, false, factor{})
		fmt.Fprintf(d.w, "expr node %p type=COLON left=%p right=%p save_last=0\n", right, o.right, o.other)
		desc := o.right.desc
		if desc.InDom == pdu.NoInDom {
			desc.InDom = o.other.desc.InDom
		}
		fmt.Fprintf(d.w, "    PMID: PM_ID_NULL (%v from pmDesc) numval: 0\n%s", desc.PMID, d.describe(desc))
		d.below(o.right, false, factor{})
		d.below(o.other, false, factor{})
	default:
		d.below(o.left, savesLast(n), o.scales[0])
		d.below(o.right, false, o.scales[1])
		d.scale(right, n)
	}
}

// below writes a node that is not the whole expression; nil for nothing.
func (d *dumper) below(o *bound, saved bool, scale factor) {
	if o == nil {
		return
	}
	id := o.desc.PMID
	if o.isConstant() {
		id = pdu.NoPMID
	}
	d.bound(o, id, saved, scale)
}

// shape is what a node has below it in the C library, as far as that has a node of its own here: a
// word of the node stands for one that has not. leaf is the text of one that has nothing.
func shape(n *node) (left, right any, leaf string) {
	ref := func(n *node) any {
		if n == nil {
			return nil
		}
		return n
	}
	left, right = ref(n.left), ref(n.right)
	switch {
	case isFilter(n):
		left, right = &n.word, left
	case n.op == tokQuest:
		right = &n.word
	case n.op == tokFunction && n.fn == fnRescale:
		right = &n.word
	case n.op == tokFunction && n.fn == fnAnon:
		left = &n.word
	case n.op == tokName, n.op == tokInteger, n.op == tokDouble, n.op == tokFunction && (n.fn == fnMkconst || n.fn == fnNovalue):
		left, leaf = nil, n.word
	}
	return left, right, leaf
}

// shape is what a bound node has below it: the C library has other nodes for what is bound.
func (o *bound) shape() (left, right any, leaf string) {
	left, right, leaf = shape(o.node)
	replace := func(p any) any {
		switch p {
		case any(o.node.left):
			if o.left == nil {
				return nil // of defined
			}
			return o.left
		case any(o.node.right):
			return o.right
		case any(&o.word):
			return &o.input
		}
		return p
	}
	return replace(left), replace(right), leaf
}

func isFilter(n *node) bool { return n.op == tokInstance || n.op == tokFunction && n.fn == fnMatchInst }

func savesLast(n *node) bool { return n.op == tokFunction && (n.fn == fnDelta || n.fn == fnRate) }

// line writes the first line of a node, which is at self.
func (d *dumper) line(self any, n *node, left, right any, leaf string, saved bool, primary int) {
	last := 0
	if saved {
		last = 1
	}
	fmt.Fprintf(d.w, "expr node %p type=%s left=%s right=%s save_last=%d", self, nodeType(n), address(left), address(right), last)
	if leaf != "" {
		fmt.Fprintf(d.w, " [%s] primary=%d", leaf, primary)
	}
	io.WriteString(d.w, "\n")
}

func address(p any) string {
	if p == nil {
		return "(nil)"
	}
	return fmt.Sprintf("%p", p)
}

// nodeType is the C library's name of a kind of nodes.
func nodeType(n *node) string {
	switch {
	case n.op == tokInteger:
		return "INTEGER"
	case n.op == tokDouble:
		return "DOUBLE"
	case n.op == tokName:
		return "NAME"
	case isFilter(n):
		return "FILTERINST"
	case n.op == tokFunction && n.fn == fnMkconst:
		if strings.Contains(n.word, ".") {
			return "DOUBLE"
		}
		return "INTEGER"
	case n.op == tokFunction:
		return strings.ToUpper(strings.TrimSuffix(functionCalls[n.fn], "("))
	case n.negative:
		return "NEG"
	}
	return opNames[n.op].name
}

// pattern writes which instances a node chooses, in a line of its own of a node at self, and how
// many those were if o is not nil.
func (d *dumper) pattern(self any, n *node, o *bound) {
	values := o != nil && d.values
	if n.op == tokInstance {
		inst := pdu.NoInst
		if values && len(o.out.insts) > 0 {
			inst = o.out.insts[0]
		}
		fmt.Fprintf(d.w, "expr node %p type=PATTERN pattern: %s type: exact match inst=%d\n", self, n.word, inst)
		return
	}
	kind := "regex"
	if n.inverted {
		kind = "inverted regex"
	}
	fmt.Fprintf(d.w, "expr node %p type=PATTERN pattern: %s type: %s used=", self, n.pattern, kind)
	if values && len(o.left.out.insts) > 0 {
		fmt.Fprintf(d.w, "1 (%d instances, %d matches)\n", len(o.left.out.insts), len(o.out.insts))
	} else {
		io.WriteString(d.w, "0\n")
	}
}

// scale writes the units of rescale, which are a node at self.
func (d *dumper) scale(self any, n *node) {
	if n.op == tokFunction && n.fn == fnRescale {
		fmt.Fprintf(d.w, "expr node %p type=SCALE left=(nil) right=(nil) save_last=0 [%s]\n", self, n.desc.Units)
	}
}

// attributes writes what is known of the values of a node, how the node above it scales them, and
// the values.
func (d *dumper) attributes(o *bound, of pdu.PMID, scale factor) {
	id := pdu.NoPMID
	if o.op == tokName {
		id = o.desc.PMID
	}
	n := 0
	if d.values || o.op == tokFunction && o.fn == fnDefined {
		if n = len(o.out.insts); o.out.err != 0 {
			n = int(o.out.err)
		}
	}
	fmt.Fprintf(d.w, "    PMID: %v (%v from pmDesc) numval: %d%s\n%s", id, of, n, scale.dumped(), d.describe(o.desc))
	for i := range n {
		fmt.Fprintf(d.w, "[%d] inst=%d, val=%s\n", i, o.out.insts[i], o.valueText(i))
	}
}

// dumped is how the C library writes a factor, after a blank; empty for none.
func (f factor) dumped() (text string) {
	if f.over > 1 {
		text = fmt.Sprintf(" div_scale: %.0f", f.over)
	}
	if f.by > 1 {
		text += fmt.Sprintf(" mul_scale: %.0f", f.by)
	}
	return text
}

// valueText is a value as the C library prints it here.
func (o *bound) valueText(i int) string {
	c := &o.out
	if !isNumber(o.desc.Type) {
		if o.desc.Type == pdu.TypeString {
			return string(c.atoms[i].Bytes())
		}
		return "[blob]"
	}
	switch w, t := c.words[i], o.desc.Type; t {
	case pdu.TypeFloat, pdu.TypeDouble:
		return strconv.FormatFloat(as[float64](w, t), 'g', 6, 64)
	case pdu.TypeU64:
		return strconv.FormatUint(w, 10)
	default:
		return strconv.FormatInt(as[int64](w, t), 10)
	}
}
