package derived

import (
	"fmt"
	"io"
	"strings"

	"github.com/pcp-go/pcp/pdu"
)

// Trace writes the tokens of an expression as the C library does that parses it, up to where the
// parser gave up with an error, nil if it did not.
func Trace(w io.Writer, text string, failed *SyntaxError) {
	l := lexer{text: text}
	for {
		err := l.advance()
		if err != nil {
			fmt.Fprintf(w, "derive_lex() -> type=L_ERROR \"%s\"\n", l.unreadable())
			return
		}
		switch {
		case l.tok == tokFunction:
			name := strings.TrimSuffix(functionCalls[l.fn], "(")
			l.pattern = l.fn == fnMatchInst
			kind := strings.ToUpper(name)
			if l.pattern {
				kind = "FILTERINST"
			}
			fmt.Fprintf(w, "derive_lex() -> type=L_%s \"%s\"\nderive_lex() -> type=L_LPAREN \"(\"\n", kind, name)
		case l.tok != tokNot:
			l.pattern = false
			fallthrough
		default:
			kind, word := l.kind()
			fmt.Fprintf(w, "derive_lex() -> type=L_%s \"%s\"\n", kind, word)
		}
		if l.tok == tokEnd || failed != nil && !failed.atEnd && l.start >= failed.Offset {
			return
		}
	}
}

// unreadable is the text of a token that is none: of one without its end what is after the
// delimiter.
func (l *lexer) unreadable() string {
	rest := l.text[l.start:]
	switch c := rest[0]; {
	case isDigit(c):
		return l.word
	case c == '"' || c == '[' || c == '/' && l.pattern:
		return rest[1:]
	}
	return rest[:1]
}

// kind is the C library's name of the present token's kind, which is no function, and its text.
func (l *lexer) kind() (kind, word string) {
	switch l.tok {
	case tokEnd:
		return "EOS", ""
	case tokInteger:
		return "INTEGER", l.word
	case tokDouble:
		return "DOUBLE", l.word
	case tokName:
		return "NAME", l.word
	case tokReserved:
		return strings.ToUpper(l.word), l.word
	case tokString:
		return "STRING", l.word
	case tokInstance:
		return "INSTNAME", l.word
	case tokPattern:
		return "PATTERN", l.word
	case tokLParen:
		return "LPAREN", "("
	case tokRParen:
		return "RPAREN", ")"
	case tokComma:
		return "COMMA", ","
	case tokAssign:
		return "ASSIGN", "="
	}
	return opNames[l.tok].name, opNames[l.tok].text
}

// Trace writes what the C library prints while it computes what the last Eval has: values that are
// without one of the same instance on the other side of an operator, instances that are not there,
// and at last the values of the metric id, which is at a place of the request.
func (p *Program) Trace(w io.Writer, place int, id pdu.PMID) {
	p.root.trace(w)
	c := &p.root.out
	n := len(c.insts)
	if c.err != 0 {
		n = int(c.err)
	}
	fmt.Fprintf(w, "__dmpostvalueset: [%d] root node %v: numval=%d", place, id, n)
	for i, inst := range c.insts {
		fmt.Fprintf(w, " vset[%d]: inst=%d %s", i, inst, p.root.tracedValue(i))
	}
	io.WriteString(w, "\n")
}

func (o *bound) trace(w io.Writer) {
	if o == nil {
		return
	}
	o.left.trace(w)
	o.right.trace(w)
	o.other.trace(w)
	switch {
	case o.op == tokInstance && o.out.err == 0 && len(o.out.insts) == 0:
		fmt.Fprintf(w, "eval_expr: expr node %p type=FILTERINST pmLookupInDom_ctx(...,%v,%s) failed: %v\n",
			o, o.desc.InDom, o.word, pdu.ErrInst)
	case o.op != tokQuest && o.op != tokFunction && o.left != nil && o.right != nil && o.left.desc.InDom != pdu.NoInDom && o.right.desc.InDom != pdu.NoInDom:
		traceMatches(w, opNames[o.op].name, &o.left.out, &o.right.out)
	}
}

// traceMatches looks for the instances of both operands of an operator as the C library does, and
// writes where they are not in step.
func traceMatches(w io.Writer, op string, left, right *column) {
	n, at := 0, 0
	for i, inst := range left.insts {
		if at >= len(right.insts) {
			return
		}
		if right.insts[at] != inst {
			fmt.Fprintf(w, "eval_expr: %s: inst[%d] mismatch left [%d]=%d right [%d]=%d\n", op, n, i, inst, at, right.insts[at])
			if at = right.find(inst, 0); at < 0 {
				at = 0
				continue
			}
			fmt.Fprintf(w, "eval_expr: recover @ right [%d]=%d\n", at, inst)
		}
		n++
		at++
	}
}

// tracedValue is a value as Trace writes it.
func (o *bound) tracedValue(i int) string {
	t := o.desc.Type
	if !isNumber(t) {
		b := o.out.atoms[i].Bytes()
		if t == pdu.TypeString {
			return fmt.Sprintf("cp=%s (len=%d)", b, len(b)+1)
		}
		return fmt.Sprintf("vbp=%p (len=%d)", &o.out.atoms[i], len(b)+4)
	}
	w := o.out.words[i]
	switch t {
	case pdu.Type32:
		return fmt.Sprintf("l=%d", as[int32](w, t))
	case pdu.TypeU32:
		return fmt.Sprintf("u=%d", as[uint32](w, t))
	case pdu.Type64:
		return fmt.Sprintf("ll=%d", as[int64](w, t))
	case pdu.TypeU64:
		return fmt.Sprintf("ul=%d", w)
	case pdu.TypeFloat:
		return fmt.Sprintf("f=%f", as[float32](w, t))
	}
	return fmt.Sprintf("d=%f", as[float64](w, t))
}
