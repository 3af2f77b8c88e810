package logrewrite

import (
	"io"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/internal/scan"
	"github.com/pcp-go/pcp/pdu"
)

// maxRules is the maximum size of a rules file in bytes.
const maxRules = 16 << 20

// Rules is a parsed rules file. Several plans may use it.
type Rules struct {
	name  string // of the file
	rules []rule
	lines int // number of lines
}

// Parse parses rules in the language of pmlogrewrite(1). name names the file in messages. A syntax
// error is an *Error; Parse then also returns the rules up to the error, because Plan.Add may
// report an earlier one.
func Parse(name string, r io.Reader) (Rules, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxRules+1))
	if err != nil {
		return Rules{name: name}, err
	}
	if len(b) > maxRules {
		return Rules{name: name}, &Error{File: name, Line: 1, Text: "too many rules"}
	}
	p := &parser{file: name, lex: lexer{text: string(b), line: 1, words: ruleWords}}
	err = p.parse()
	return Rules{name, p.rules, p.lex.line}, err
}

// A parser parses by recursive descent. It looks ahead only where the grammar requires it, so that
// errors have the right line.
type parser struct {
	file  string
	lex   lexer
	ahead token
	has   bool // ahead is valid
	rules []rule
	rule  *rule // the current rule; nil before its target is parsed
	notes []note
}

// A failure is the panic value that parse recovers.
type failure struct{ err *Error }

func (p *parser) fail(text string) {
	panic(failure{&Error{File: p.file, Line: p.lex.line, Text: text}})
}

func (p *parser) syntax() { p.fail("syntax error") }

// peek returns the next token without consuming it.
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

// take consumes the next token.
func (p *parser) take() token {
	t := p.peek()
	p.has = false
	return t
}

// name consumes the name w if it is the next token. Words of later versions of the language are not
// keywords, so they remain valid names elsewhere.
func (p *parser) name(w string) bool {
	if t := p.peek(); t.kind != kName || !strings.EqualFold(t.text, w) {
		return false
	}
	p.take()
	return true
}

// want consumes a token of one of the kinds. For any other token it fails with text.
func (p *parser) want(text string, kinds ...kind) token {
	if !slices.Contains(kinds, p.peek().kind) {
		p.fail(text)
	}
	return p.take()
}

// accept consumes the next token if it is of kind k.
func (p *parser) accept(k kind) bool {
	if p.peek().kind != k {
		return false
	}
	p.take()
	return true
}

// word consumes the keyword w if it is the next token.
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

// end ends the current rule.
func (p *parser) end() {
	if p.rule != nil {
		p.rule.notes = append(p.rule.notes, p.notes...)
		p.rules = append(p.rules, *p.rule)
	} else if len(p.notes) > 0 { // of a rule without a valid target
		p.rules = append(p.rules, rule{notes: p.notes})
	}
	p.rule, p.notes = nil, nil
}

// begin starts a rule for a parsed target.
func (p *parser) begin(of target) {
	p.rule = &rule{target: of, line: p.lex.line}
}

// do adds a parsed change.
func (p *parser) do(c change) {
	p.rule.changes = append(p.rule.changes, c)
	p.rule.lines = append(p.rule.lines, p.lex.line)
	p.rule.notes = append(p.rule.notes, p.notes...)
	p.notes = nil
}

// note adds a warning about the current clause.
func (p *parser) note(text string) {
	n := note{before: -1, line: p.lex.line, text: text}
	if p.rule != nil {
		n.before = len(p.rule.changes)
	}
	p.notes = append(p.notes, n)
}

// parseRule parses a rule after its first word.
func (p *parser) parseRule(word string) {
	var clause func(token)
	switch word {
	case "global":
		p.begin(globalTarget{})
		clause, p.lex.words = p.globalClause, globalWords
	case "indom":
		p.begin(indomTarget{p.indomID("Expecting <domain>.<serial> or <domain>.* in indom rule")})
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
		if _, ok := p.rule.target.(metricTarget); ok && t.kind == kName {
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

// number returns the value of digits, truncated to 32 bits as in C.
func number(digits string) int {
	v, _, _ := scan.Int(digits)
	return int(int32(v))
}

// indomID parses 29.2 or 29.*.
func (p *parser) indomID(text string) indomPattern {
	t := p.want(text, kFloat, kInDomStar)
	domain, serial, _ := strings.Cut(t.text, ".")
	id := indomPattern{number(domain), anyNumber}
	if t.kind == kFloat && serial == "" {
		p.fail("Missing serial field for indom")
	}
	if id.domain < 1 || id.domain >= 511 {
		p.fail("Illegal domain field (" + itoa(id.domain) + ") for indom")
	}
	if t.kind == kFloat {
		if id.serial = number(serial); id.serial < 0 || id.serial >= 1<<22 {
			p.fail("Illegal serial field (" + itoa(id.serial) + ") for indom")
		}
	}
	return id
}

// metricID parses a name or an identifier.
func (p *parser) metricID(text string) metricTarget {
	t := p.want(text, kName, kPMID, kPMIDStar)
	if t.kind == kName {
		return metricTarget{name: t.text}
	}
	return metricTarget{id: p.pmidPattern(t)}
}

// pmidPattern converts a token: 29.0.6, 29.0.*, 29.*.*, and for labels also 29, 29.0 and 29.*.
func (p *parser) pmidPattern(t token) pmidPattern {
	parts := strings.Split(t.text, ".")
	id := pmidPattern{0, anyNumber, anyNumber}
	for i, f := range []struct {
		to    *int
		name  string
		least int
		limit int
	}{{&id.domain, "domain", 1, 512}, {&id.cluster, "cluster", 0, 1 << 12}, {&id.item, "item", 0, 1 << 10}} {
		if i >= len(parts) || parts[i] == "*" {
			break
		}
		if *f.to = number(parts[i]); *f.to < f.least || *f.to >= f.limit {
			p.fail("Illegal " + f.name + " field (" + itoa(*f.to) + ") for pmid")
		}
		if i == 0 && id.domain == 511 {
			p.note("Dynamic metric domain field (511) for pmid")
		}
	}
	return id
}

// textTarget parses the target of a text rule.
func (p *parser) textTarget() {
	of := textTarget{}
	line := 0
	switch {
	case p.word("metric"):
		m := p.metricID("syntax error")
		of.metric = &m
	case p.word("indom"):
		of.indom = &indomTarget{p.indomID("syntax error")}
	default:
		p.syntax()
	}
	line = p.lex.line
	for {
		switch t := p.peek(); {
		case t.is("oneline"):
			of.oneLine = true
		case t.is("help"):
			of.help = true
		case t.kind == '*', t.kind == kName && strings.EqualFold(t.text, "all"):
			of.oneLine, of.help = true, true
		default:
			if t.kind == kString || t.kind == kText && t.text != "" {
				of.content = p.take().text
			}
			p.begin(of)
			p.rule.line = line
			return
		}
		p.take()
	}
}

// labelTarget parses the target of a label rule.
func (p *parser) labelTarget() {
	const wrong = "syntax error"
	of := labelTarget{}
	t := p.take()
	if t.kind != kKeyword {
		p.syntax()
	}
	switch t.text {
	case "context":
		of.class = pdu.LabelContext
	case "domain":
		of.class, of.metric.id = pdu.LabelDomain, p.pmidPattern(p.want(wrong, kNumber))
	case "cluster":
		of.class, of.metric.id = pdu.LabelCluster, p.pmidPattern(p.want(wrong, kFloat, kInDomStar))
	case "item":
		of.class, of.metric = pdu.LabelItem, p.metricID(wrong)
	case "indom":
		of.class, of.indom = pdu.LabelInDom, indomTarget{p.indomID(wrong)}
	case "instances":
		of.class, of.indom = pdu.LabelInstances, indomTarget{p.indomID(wrong)}
	default:
		p.syntax()
	}
	line := p.lex.line
	p.labelSelection(&of)
	if of.class == pdu.LabelInstances {
		line = p.lex.line
	}
	p.begin(of)
	p.rule.line = line
}

// labelSelection parses the instance, name and value in the target of a label rule.
func (p *parser) labelSelection(of *labelTarget) {
	if of.class == pdu.LabelInstances {
		switch t := p.peek(); {
		case t.kind == kString:
			of.instance = instancePattern{by: byName, name: t.text}
		case t.kind == kNumber:
			of.instance = instancePattern{by: byID, id: pdu.InstID(number(t.text))}
		case t.kind != '*':
			return
		}
		p.take()
	}
	switch t := p.peek(); {
	case isText(t):
		of.name, of.named = t.text, true
	case t.kind != '*':
		return
	}
	p.take()
	switch t := p.peek(); {
	case isValue(t):
		of.value = t.raw
	case t.kind != '*':
		return
	}
	p.take()
}

// isText reports whether a token of a label rule is a string.
func isText(t token) bool { return t.kind == kString || t.kind == kJSON && t.raw[0] == '"' }

// isValue reports whether a token of a label rule is a JSON value.
func isValue(t token) bool { return t.kind == kString || t.kind == kJSON || t.kind == kNumber }
