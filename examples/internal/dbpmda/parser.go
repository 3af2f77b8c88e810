package dbpmda

import (
	"errors"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pdu"
)

// Errors that end a command early.
var (
	errSyntax = errors.New("syntax error")
	errQuit   = errors.New("quit")
)

// A parser reads commands.
type parser struct {
	d     *debugger
	scan  scanner
	first bool // no token of the command is known
	ended bool // the input has ended
	cut   bool // within a line that has an error
}

// run executes commands until the input ends or a command ends the program. It reports whether the
// input has ended, at the start of a line or within an incomplete one.
func (d *debugger) run() (ended bool) {
	p := &parser{d: d}
	p.scan = scanner{in: &d.in, complain: p.complain}
	for !p.ended {
		p.first = true
		err := p.command()
		switch {
		case errors.Is(err, errQuit):
			return p.ended
		case err != nil:
			message := err.Error()
			if p.first && p.d.in.atEnd() {
				continue
			}
			if p.first {
				message = "Unrecognized command"
			}
			p.complain(message)
		}
	}
	return !p.cut
}

// complain prints an error with a mark at the current place in the line. It skips the rest of the
// line.
func (p *parser) complain(message string) {
	in := &p.d.in
	indent := len(in.indent)
	where := ""
	if !in.atEnd() && in.sources[0].file != "" {
		where = " [" + in.sources[0].file + ", line " + strconv.Itoa(in.line) + "]"
	}
	if in.skipLine() {
		p.ended, p.cut = true, true
		return
	}
	p.d.printf("%s", in.caret(indent))
	p.d.warn("Error%s: %s\nType 'help' for a list of commands.\n", where, terminal.EscapeName(message))
}

// next returns the next token.
func (p *parser) next() token {
	t := p.scan.next()
	p.ended = t.kind == endOfInput
	return t
}

// end expects the end of the line.
func (p *parser) end() error {
	if p.next().kind != endOfLine {
		return errSyntax
	}
	return nil
}

// command reads a command and executes it.
func (p *parser) command() error {
	t := p.next()
	switch t.kind {
	case endOfInput:
		return errQuit
	case endOfLine:
		return nil
	case keyword:
	default:
		return errSyntax
	}
	c := commands[t.text]
	if c.parse == nil {
		return errSyntax
	}
	p.first = false
	if c.bare { // there is no form without words
		return c.parse(p, p.next())
	}
	t2 := p.next()
	if t2.kind == endOfLine {
		p.d.printUsage(t.text)
		return nil
	}
	return c.parse(p, t2)
}

// A command handles the words after a keyword: parse gets the next token and executes the command.
type command struct {
	bare  bool // parse also gets the end of the line; otherwise a keyword alone prints how the command is used
	parse func(p *parser, t token) error
}

// commands maps keywords to commands.
var commands map[string]command

func init() {
	commands = map[string]command{
		"attr":      {parse: (*parser).attr},
		"children":  {parse: (*parser).children},
		"close":     plain((*debugger).close),
		"debug":     {parse: (*parser).debug},
		"desc":      {parse: (*parser).desc},
		"fetch":     {parse: (*parser).fetch},
		"getdesc":   {parse: onOff(func(d *debugger) *bool { return &d.getDesc })},
		"getiname":  {parse: onOff(func(d *debugger) *bool { return &d.getNames })},
		"help":      {bare: true, parse: (*parser).help},
		"instance":  {parse: (*parser).instance},
		"label":     {parse: (*parser).label},
		"name":      {parse: (*parser).nameOf},
		"namespace": {bare: true, parse: (*parser).namespace},
		"open":      {parse: (*parser).open},
		"pmid":      {parse: (*parser).pmid},
		"profile":   {parse: (*parser).profile},
		"quit":      {bare: true, parse: (*parser).quit},
		"status":    plain((*debugger).status),
		"store":     {parse: (*parser).store},
		"text":      {parse: (*parser).text},
		"timer":     {parse: onOff(func(d *debugger) *bool { return &d.timer })},
		"traverse":  {parse: (*parser).traverse},
		"wait":      {parse: (*parser).wait},
		"watch":     {parse: (*parser).watch},
	}
}

// plain returns a command of one word.
func plain(do func(d *debugger)) command {
	return command{bare: true, parse: func(p *parser, t token) error {
		if t.kind != endOfLine {
			return errSyntax
		}
		do(p.d)
		return nil
	}}
}

// onOff returns a command that sets a flag.
func onOff(flag func(d *debugger) *bool) func(p *parser, t token) error {
	return func(p *parser, t token) error {
		if !t.is("on") && !t.is("off") {
			return errSyntax
		}
		if err := p.end(); err != nil {
			return err
		}
		*flag(p.d) = t.text == "on"
		return nil
	}
}

// number returns the low 32 bits of a number.
func (t token) number() uint32 {
	base := 10
	digits, hex := cutHex(t.text)
	if hex {
		base = 16
	}
	return parseWord(digits, base)
}

// parseWord returns the low half of a number. A number that does not fit in 64 bits counts as the
// maximum of 63 bits.
func parseWord(digits string, base int) uint32 {
	v, err := strconv.ParseInt(digits, base, 64)
	if err != nil {
		return 1<<32 - 1
	}
	return uint32(v)
}

// parts returns the numbers between the dots of a token.
func (t token) parts() []int {
	var n []int
	for s := range strings.SplitSeq(t.text, ".") {
		n = append(n, int(int32(parseWord(s, 10))))
	}
	return n
}

// id returns the PMID of a token. ok is false for a token that is not a PMID.
func (t token) id() (id pdu.PMID, ok bool) {
	switch n := t.parts; t.kind {
	case number:
		return pdu.PMID(t.number()), true
	case pair:
		return pdu.MakePMID(0, n()[0], n()[1]), true
	case triple:
		return pdu.MakePMID(pdu.Domain(n()[0]), n()[1], n()[2]), true
	}
	return 0, false
}

// metric returns the PMID of the metric that a token names.
func (p *parser) metric(t token) (pdu.PMID, error) {
	if t.kind == name {
		return p.d.lookup(t.text)
	}
	id, ok := t.id()
	if !ok {
		return 0, errSyntax
	}
	if len(p.d.names.Names(id)) == 0 {
		p.d.warn("Warning: PMID (%v) is not defined in the PMNS\n", id)
	}
	return id, nil
}

// file returns the file that a token names. A plain name is a file of the working directory.
func (t token) file() (string, error) {
	switch t.kind {
	case name:
		return "./" + t.text, nil
	case path:
		return t.text, nil
	}
	return "", errSyntax
}

// inDom returns the instance domain of a token.
func (t token) inDom() (pdu.InDom, error) {
	switch t.kind {
	case number:
		return pdu.InDom(t.number()), nil
	case negative:
		return pdu.InDom(parseWord(t.text, 10)), nil
	case pair:
		n := t.parts()
		return pdu.MakeInDom(pdu.Domain(n[0]), n[1]), nil
	}
	return 0, errSyntax
}
