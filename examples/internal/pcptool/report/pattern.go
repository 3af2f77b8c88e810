package report

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	limited "github.com/pcp-go/pcp/internal/pattern"
)

// A pattern is a regular expression with the syntax of Python's re, including lookahead and
// lookbehind. Of the parts that Go's syntax lacks, it does not support references to groups,
// conditions, and atomic groups. The time of a match is at most proportional to the product of the
// lengths of the expression and the text, and once more to that of the text for each lookaround.
type pattern struct {
	re    *regexp.Regexp // of the beginning of a text; nil if something looks around, which package regexp does not have
	prog  *syntax.Prog
	looks map[uint32]look // by the number of the instruction that stands for it
}

// A look is a condition on what is before or after a place of a text.
type look struct {
	behind, not bool
	pattern     *pattern
}

// lookPrefix begins the names of the empty groups that stand for looks in what Go compiles.
const lookPrefix = "look_around_"

// compilePattern compiles an expression. Offsets in errors are in the expression.
func compilePattern(text string) (*pattern, error) {
	t := translation{text: text, flags: []string{""}}
	if err := t.run(); err != nil {
		return nil, err
	}
	return t.compile()
}

// compile compiles what was translated.
func (t *translation) compile() (*pattern, error) {
	text := t.out.String()
	if t.flags[0] != "" {
		text = "(?" + t.flags[0] + ":" + text + ")"
	}
	re, err := limited.Parse(text, syntax.Perl)
	if err != nil {
		return nil, errors.New(regexpMessage(t.text, err))
	}
	names := re.CapNames()
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return nil, err
	}
	p := &pattern{prog: prog, looks: map[uint32]look{}}
	for pc, inst := range prog.Inst {
		if inst.Op != syntax.InstCapture || inst.Arg%2 != 0 {
			continue
		}
		if n, ok := strings.CutPrefix(names[inst.Arg/2], lookPrefix); ok {
			i, _ := strconv.Atoi(n)
			p.looks[uint32(pc)] = t.looks[i]
		}
	}
	if len(p.looks) == 0 {
		p.re, err = regexp.Compile(`\A(?:` + text + `)`)
	}
	return p, err
}

// regexpMessage returns the error in a regular expression, in Python's words where they are known.
func regexpMessage(text string, err error) string {
	open := []int{}
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '(':
			open = append(open, i)
		case ')':
			if len(open) == 0 {
				return fmt.Sprintf("unbalanced parenthesis at position %d", i)
			}
			open = open[:len(open)-1]
		}
	}
	e, ok := errors.AsType[*syntax.Error](err)
	switch {
	case !ok:
		return err.Error()
	case e.Code == syntax.ErrMissingParen && len(open) > 0:
		return fmt.Sprintf("missing ), unterminated subpattern at position %d", open[len(open)-1])
	case e.Code == syntax.ErrMissingRepeatArgument:
		return fmt.Sprintf("nothing to repeat at position %d", max(0, strings.Index(text, e.Expr)))
	}
	return e.Code.String()
}

// matches reports whether the beginning of a text matches, which is all of it where the expression
// says so.
func (p *pattern) matches(text string) bool {
	if p.re != nil {
		return p.re.MatchString(text)
	}
	return p.matchesAt(text, 0, -1)
}

// matchesAt reports whether the text matches from start to end, or, for an end of -1, to anywhere.
func (p *pattern) matchesAt(text string, start, end int) bool {
	m := match{pattern: p, text: text, end: end, seen: make([]bool, len(p.prog.Inst)*(len(text)+1))}
	return m.from(uint32(p.prog.Start), start)
}

// A match tries each instruction at each place of a text once.
type match struct {
	*pattern
	text string
	end  int
	seen []bool
}

func (m *match) from(pc uint32, pos int) bool {
	for {
		visit := int(pc)*(len(m.text)+1) + pos
		if m.seen[visit] {
			return false
		}
		m.seen[visit] = true
		inst := &m.prog.Inst[pc]
		switch inst.Op {
		case syntax.InstMatch:
			return m.end < 0 || m.end == pos
		case syntax.InstFail:
			return false
		case syntax.InstAlt, syntax.InstAltMatch:
			if m.from(inst.Out, pos) {
				return true
			}
			pc = inst.Arg
			continue
		case syntax.InstCapture:
			if l, ok := m.looks[pc]; ok && l.holds(m.text, pos) == l.not {
				return false
			}
		case syntax.InstEmptyWidth:
			if !inst.MatchEmptyWidth(runeBefore(m.text, pos), runeAfter(m.text, pos)) {
				return false
			}
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			r, size := utf8.DecodeRuneInString(m.text[pos:])
			if size == 0 || !inst.MatchRune(r) {
				return false
			}
			pos += size
		}
		pc = inst.Out
	}
}

// holds reports whether the condition of a look is true at pos.
func (l look) holds(text string, pos int) bool {
	if !l.behind {
		return l.pattern.matchesAt(text, pos, -1)
	}
	for start := pos; start >= 0; start-- {
		if l.pattern.matchesAt(text, start, pos) {
			return true
		}
	}
	return false
}

func runeBefore(text string, pos int) rune {
	if pos == 0 {
		return -1
	}
	r, _ := utf8.DecodeLastRuneInString(text[:pos])
	return r
}

func runeAfter(text string, pos int) rune {
	if pos == len(text) {
		return -1
	}
	r, _ := utf8.DecodeRuneInString(text[pos:])
	return r
}

// A translation makes of an expression in Python's syntax one in Go's.
type translation struct {
	text   string
	pos    int
	out    strings.Builder
	looks  []look
	last   string   // what was translated last
	flags  []string // those that hold before the expression, and in each of the groups that are open
	nested bool     // the expression is a look's and ends where that does
}

func (t *translation) run() error {
	for t.pos < len(t.text) {
		var err error
		rest := t.text[t.pos:]
		switch {
		case strings.ContainsRune("*+?", rune(rest[0])) && anchors[t.last]:
			return fmt.Errorf("nothing to repeat at position %d", t.pos)
		case rest[0] == '\\':
			err = t.escape()
		case rest[0] == '[':
			err = t.class()
		case rest[0] == '(':
			err = t.open()
		case rest[0] == ')' && len(t.flags) == 1 && t.nested:
			return nil
		case rest[0] == ')' && len(t.flags) > 1:
			t.flags = t.flags[:len(t.flags)-1]
			t.copy(1)
		case strings.HasPrefix(rest, "{,"):
			t.out.WriteString("{0,")
			t.pos += len("{,")
		default:
			t.copy(1)
		}
		if err != nil {
			return err
		}
		t.last = rest[:len(rest)-len(t.text)+t.pos]
	}
	return nil
}

// anchors are what matches a place, and cannot be repeated.
var anchors = map[string]bool{"^": true, "$": true, `\A`: true, `\Z`: true, `\b`: true, `\B`: true}

func (t *translation) copy(n int) {
	t.out.WriteString(t.text[t.pos : t.pos+n])
	t.pos += n
}

// escape translates a backslash and what it is before.
func (t *translation) escape() error {
	if t.pos+1 == len(t.text) {
		return fmt.Errorf("bad escape (end of pattern) at position %d", t.pos)
	}
	switch c := t.text[t.pos+1]; {
	case c == 'Z':
		t.out.WriteString(`\z`)
		t.pos += 2
	case c >= '1' && c <= '9':
		return fmt.Errorf("references to groups are not supported at position %d", t.pos)
	case unicode.IsLetter(rune(c)) && !strings.ContainsRune("AbBdDsSwWafnrtvx", rune(c)):
		return fmt.Errorf(`bad escape \%c at position %d`, c, t.pos)
	default:
		t.copy(2)
	}
	return nil
}

// class translates a set of characters. Python's sets have no named classes.
func (t *translation) class() error {
	open := t.pos
	t.copy(1)
	if strings.HasPrefix(t.text[t.pos:], "^") {
		t.copy(1)
	}
	for first := true; t.pos < len(t.text); first = false {
		switch c := t.text[t.pos]; {
		case c == ']' && !first:
			t.copy(1)
			return nil
		case c == '[' || c == ']':
			t.out.WriteString(`\`)
			t.copy(1)
		case c == '\\' && strings.HasPrefix(t.text[t.pos+1:], "b"):
			t.out.WriteString(`\x08`)
			t.pos += 2
		case c == '\\' && strings.HasPrefix(t.text[t.pos+1:], "Z"):
			return fmt.Errorf(`bad escape \Z at position %d`, t.pos)
		case c == '\\':
			if err := t.escape(); err != nil {
				return err
			}
		default:
			t.copy(1)
		}
	}
	return fmt.Errorf("unterminated character set at position %d", open)
}

// open translates the beginning of a group, or all of one that looks around or is a comment.
func (t *translation) open() error {
	rest := t.text[t.pos:]
	flags, _, scoped := strings.Cut(strings.TrimPrefix(rest, "(?"), ":")
	global, _, _ := strings.Cut(flags, ")")
	switch {
	case strings.HasPrefix(rest, "(?="), strings.HasPrefix(rest, "(?!"):
		return t.look(len("(?="), look{not: rest[2] == '!'})
	case strings.HasPrefix(rest, "(?<="), strings.HasPrefix(rest, "(?<!"):
		return t.look(len("(?<="), look{behind: true, not: rest[3] == '!'})
	case strings.HasPrefix(rest, "(?#"):
		end := strings.IndexByte(rest, ')')
		if end < 0 {
			return fmt.Errorf("missing ), unterminated comment at position %d", t.pos)
		}
		t.pos += end + 1
	case strings.HasPrefix(rest, "(?P=") || strings.HasPrefix(rest, "(?("):
		return fmt.Errorf("references to groups are not supported at position %d", t.pos)
	case !strings.HasPrefix(rest, "(?") || strings.HasPrefix(rest, "(?P<"):
		t.flags = append(t.flags, t.flags[len(t.flags)-1])
		t.copy(1)
	case scoped && strings.Trim(flags, "ims-") == "":
		t.flags = append(t.flags, changeFlags(t.flags[len(t.flags)-1], flags))
		t.copy(len("(?") + len(flags))
	case len(global) < len(flags) && global != "" && strings.Trim(global, "aiLmsux") == "":
		return fmt.Errorf("global flags not at the start of the expression at position %d", t.pos)
	default:
		_, size := utf8.DecodeRuneInString(flags)
		return fmt.Errorf("unknown extension ?%s at position %d", flags[:size], t.pos+1)
	}
	return nil
}

// look translates a group that looks around, after a prefix of so many bytes.
func (t *translation) look(prefix int, l look) error {
	inner := translation{text: t.text, pos: t.pos + prefix, nested: true, flags: t.flags[len(t.flags)-1:]}
	err := inner.run()
	if err != nil {
		return err
	}
	if l.pattern, err = inner.compile(); err != nil {
		return err
	}
	if inner.pos == len(t.text) {
		return fmt.Errorf("missing ), unterminated subpattern at position %d", t.pos)
	}
	fmt.Fprintf(&t.out, "(?P<%s%d>)", lookPrefix, len(t.looks))
	t.looks = append(t.looks, l)
	t.pos = inner.pos + len(")")
	return nil
}

// changeFlags are flags that are on after a change such as "i-s".
func changeFlags(flags, change string) string {
	on, off, _ := strings.Cut(change, "-")
	var changed strings.Builder
	for _, f := range "ims" {
		if strings.ContainsRune(flags+on, f) && !strings.ContainsRune(off, f) {
			changed.WriteRune(f)
		}
	}
	return changed.String()
}
