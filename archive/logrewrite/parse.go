package logrewrite

import (
	"io"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/pdu"
)

// MaxRules is how many bytes of rules Parse reads.
const MaxRules = 16 << 20

// Rules are those of a file, or of a program.
type Rules struct {
	Name  string // of the file
	Rules []Rule
	lines int // of the file
}

// Parse parses a file of rules in the language of pmlogrewrite(1). name is that of the file, for
// messages. After an error, an *Error unless r cannot be read, the rules before it are there, also
// the part of the last one, since Plan.Add may have to say something about them first.
func Parse(name string, r io.Reader) (Rules, error) {
	b, err := io.ReadAll(io.LimitReader(r, MaxRules+1))
	if err != nil {
		return Rules{Name: name}, err
	}
	if len(b) > MaxRules {
		return Rules{Name: name}, &Error{File: name, Line: 1, Text: "too many rules"}
	}
	p := &parser{file: name, lex: lexer{text: string(b), line: 1, words: ruleWords}}
	err = p.parse()
	return Rules{name, p.rules, p.lex.line}, err
}

// A parser parses by recursive descent, with one token ahead that is read only where it decides:
// errors have the line that was reached.
type parser struct {
	file  string
	lex   lexer
	ahead token
	has   bool // whether ahead was read
	rules []Rule
	rule  *Rule // that is being parsed; nil before what it is of is known
	notes []note
}

// A failure is what parser panics with, for parse.
type failure struct{ err *Error }

func (p *parser) fail(text string) {
	panic(failure{&Error{File: p.file, Line: p.lex.line, Text: text}})
}

func (p *parser) syntax() { p.fail("syntax error") }

// peek is the next token.
func (p *parser) peek() token {
	if !p.has {
		t, err := p.lex.next()
		if err != nil {
			p.fail(err.Error())
		}
		p.ahead, p.has = t, true
	}
	return p.ahead
}

// take takes the next token.
func (p *parser) take() token {
	t := p.peek()
	p.has = false
	return t
}

// name takes a name if it is the next token. The words of later versions of the language are names
// elsewhere, as they were before.
func (p *parser) name(w string) bool {
	if t := p.peek(); t.kind != kName || !strings.EqualFold(t.text, w) {
		return false
	}
	p.take()
	return true
}

// want takes a token of one of kinds. If the next one is another, text is the error.
func (p *parser) want(text string, kinds ...kind) token {
	if !slices.Contains(kinds, p.peek().kind) {
		p.fail(text)
	}
	return p.take()
}

// accept takes a token if it is the next one.
func (p *parser) accept(k kind) bool {
	if p.peek().kind != k {
		return false
	}
	p.take()
	return true
}

// word takes a keyword if it is the next token.
func (p *parser) word(w string) bool {
	if !p.peek().is(w) {
		return false
	}
	p.take()
	return true
}

func (p *parser) parse() (err error) {
	defer func() {
		if r := recover(); r != nil {
			f, ok := r.(failure)
			if !ok {
				panic(r)
			}
			err = f.err
		}
		p.end()
	}()
	for {
		t := p.take()
		if t.kind != kKeyword {
			p.syntax()
		}
		p.parseRule(t.text)
		p.end()
		if p.peek().kind == kEOF {
			return nil
		}
	}
}

// end ends the present rule.
func (p *parser) end() {
	if p.rule != nil {
		p.rule.notes = append(p.rule.notes, p.notes...)
		p.rules = append(p.rules, *p.rule)
	} else if len(p.notes) > 0 { // about a rule that has no target
		p.rules = append(p.rules, Rule{file: p.file, notes: p.notes})
	}
	p.rule, p.notes = nil, nil
}

// begin begins a rule of a target that has been parsed.
func (p *parser) begin(of Target) {
	p.rule = &Rule{Of: of, file: p.file, line: p.lex.line}
}

// do adds a change that has been parsed.
func (p *parser) do(c Change) {
	p.rule.Do = append(p.rule.Do, c)
	p.rule.lines = append(p.rule.lines, p.lex.line)
	p.rule.notes = append(p.rule.notes, p.notes...)
	p.notes = nil
}

// note adds a warning about what is being parsed.
func (p *parser) note(text string) {
	n := note{before: -1, line: p.lex.line, text: text}
	if p.rule != nil {
		n.before = len(p.rule.Do)
	}
	p.notes = append(p.notes, n)
}

// parseRule parses a rule after its first word.
func (p *parser) parseRule(word string) {
	var clause func(token)
	switch word {
	case "global":
		p.begin(Global{})
		clause, p.lex.words = p.globalClause, globalWords
	case "indom":
		p.begin(InDom{p.indomID("Expecting <domain>.<serial> or <domain>.* in indom rule")})
		clause, p.lex.words = p.indomClause, indomWords
	case "metric":
		p.begin(p.metricID("Expecting metric name or <domain>.<cluster>.<item> or <domain>.<cluster>.* or <domain>.*.* in metric rule"))
		clause, p.lex.words = p.metricClause, metricWords
	case "text":
		p.lex.words, p.lex.stars = textWords, true
		p.textTarget()
		clause = p.textClause
	default:
		p.lex.words, p.lex.stars, p.lex.json = labelWords, true, true
		p.labelTarget()
		clause = p.labelClause
	}
	p.want("syntax error", '{')
	for p.peek().kind != '}' {
		t := p.take()
		if _, ok := p.rule.Of.(Metric); ok && t.kind == kName {
			t = token{kind: kKeyword, text: strings.ToLower(t.text)}
		}
		if t.kind != kKeyword {
			p.syntax()
		}
		clause(t)
	}
	p.lex.words, p.lex.stars, p.lex.json = ruleWords, false, false
	p.take()
}

// number is the value of digits as C has it: 32 bits of them.
func number(digits string) int {
	v := uint64(0)
	for i := 0; i < len(digits); i++ {
		if d := uint64(digits[i] - '0'); v > (1<<63-1-d)/10 {
			return -1 // as strtol(3) has it
		} else {
			v = v*10 + d
		}
	}
	return int(int32(v))
}

// indomID parses 29.2 or 29.*.
func (p *parser) indomID(text string) InDomPattern {
	t := p.want(text, kFloat, kInDomStar)
	domain, serial, _ := strings.Cut(t.text, ".")
	id := InDomPattern{number(domain), Any}
	if t.kind == kFloat && serial == "" {
		p.fail("Missing serial field for indom")
	}
	if id.Domain < 1 || id.Domain >= 511 {
		p.fail("Illegal domain field (" + itoa(id.Domain) + ") for indom")
	}
	if t.kind == kFloat {
		if id.Serial = number(serial); id.Serial < 0 || id.Serial >= 1<<22 {
			p.fail("Illegal serial field (" + itoa(id.Serial) + ") for indom")
		}
	}
	return id
}

// metricID parses a name or an identifier.
func (p *parser) metricID(text string) Metric {
	t := p.want(text, kName, kPMID, kPMIDStar)
	if t.kind == kName {
		return Metric{Name: t.text}
	}
	return Metric{ID: p.pmidPattern(t)}
}

// pmidPattern is what a token says: 29.0.6, 29.0.*, 29.*.*, for labels also 29, 29.0 and 29.*.
func (p *parser) pmidPattern(t token) PMIDPattern {
	parts := strings.Split(t.text, ".")
	id := PMIDPattern{0, Any, Any}
	for i, f := range []struct {
		to    *int
		name  string
		least int
		limit int
	}{{&id.Domain, "domain", 1, 512}, {&id.Cluster, "cluster", 0, 1 << 12}, {&id.Item, "item", 0, 1 << 10}} {
		if i >= len(parts) || parts[i] == "*" {
			break
		}
		if *f.to = number(parts[i]); *f.to < f.least || *f.to >= f.limit {
			p.fail("Illegal " + f.name + " field (" + itoa(*f.to) + ") for pmid")
		}
		if i == 0 && id.Domain == 511 {
			p.note("Dynamic metric domain field (511) for pmid")
		}
	}
	return id
}

// textTarget parses what a text rule is of.
func (p *parser) textTarget() {
	of := Text{}
	line := 0
	switch {
	case p.word("metric"):
		m := p.metricID("syntax error")
		of.Metric = &m
	case p.word("indom"):
		of.InDom = &InDom{p.indomID("syntax error")}
	default:
		p.syntax()
	}
	line = p.lex.line
	for {
		switch t := p.peek(); {
		case t.is("oneline"):
			of.OneLine = true
		case t.is("help"):
			of.Help = true
		case t.kind == '*', t.kind == kName && strings.EqualFold(t.text, "all"):
			of.OneLine, of.Help = true, true
		default:
			if t.kind == kString || t.kind == kText && t.text != "" {
				of.Content = p.take().text
			}
			p.begin(of)
			p.rule.line = line
			return
		}
		p.take()
	}
}

// labelTarget parses what a label rule is of.
func (p *parser) labelTarget() {
	const wrong = "syntax error"
	of := Label{}
	t := p.take()
	if t.kind != kKeyword {
		p.syntax()
	}
	switch t.text {
	case "context":
		of.Class = pdu.LabelContext
	case "domain":
		of.Class, of.Metric.ID = pdu.LabelDomain, p.pmidPattern(p.want(wrong, kNumber))
	case "cluster":
		of.Class, of.Metric.ID = pdu.LabelCluster, p.pmidPattern(p.want(wrong, kFloat, kInDomStar))
	case "item":
		of.Class, of.Metric = pdu.LabelItem, p.metricID(wrong)
	case "indom":
		of.Class, of.InDom = pdu.LabelInDom, InDom{p.indomID(wrong)}
	case "instances":
		of.Class, of.InDom = pdu.LabelInstances, InDom{p.indomID(wrong)}
	default:
		p.syntax()
	}
	line := p.lex.line
	p.labelSelection(&of)
	if of.Class == pdu.LabelInstances {
		line = p.lex.line
	}
	p.begin(of)
	p.rule.line = line
}

// labelSelection parses the instance, name and value of the labels that a rule is of.
func (p *parser) labelSelection(of *Label) {
	if of.Class == pdu.LabelInstances {
		switch t := p.peek(); {
		case t.kind == kString:
			of.Instance = Instance{By: ByName, Name: t.text}
		case t.kind == kNumber:
			of.Instance = Instance{By: ByID, ID: pdu.InstID(number(t.text))}
		case t.kind != '*':
			return
		}
		p.take()
	}
	switch t := p.peek(); {
	case isText(t):
		of.Name, of.named = t.text, true
	case t.kind != '*':
		return
	}
	p.take()
	switch t := p.peek(); {
	case isValue(t):
		of.Value = t.raw
	case t.kind != '*':
		return
	}
	p.take()
}

// isText reports whether a token of a label rule is a string.
func isText(t token) bool { return t.kind == kString || t.kind == kJSON && t.raw[0] == '"' }

// isValue reports whether a token of a label rule is a value in JSON.
func isValue(t token) bool { return t.kind == kString || t.kind == kJSON || t.kind == kNumber }
