package pmlcshell

import (
	"cmp"
	"context"
	"time"

	"github.com/pcp-go/pcp/archive/logger"
	"github.com/pcp-go/pcp/internal/ctxwait"
)

// An errorLine is an error in a command. The parser skips the rest of the line after it.
type errorLine string

func (e errorLine) Error() string { return string(e) }

const (
	errSyntax       = errorLine("syntax error")
	errNotConnected = errorLine("Not connected to any pmlogger instance")
)

// errReported is an error that was already reported, except for its line.
const errReported = errorLine("")

// errQuit ends the program.
const errQuit = errorLine("quit")

// A parser reads and executes commands.
type parser struct {
	*Shell
	lex    *lexer
	tok    token
	peeked bool
	line   int // of tok
}

// peek returns the next token without removing it.
func (p *parser) peek() token {
	if !p.peeked {
		p.tok = p.lex.next()
		p.peeked = true
		p.line = p.lex.line
		if p.tok.kind == tokenEOL {
			p.line-- // the line that it ends
		}
	}
	return p.tok
}

// next removes and returns the next token.
func (p *parser) next() token {
	t := p.peek()
	p.peeked = false
	return t
}

// accept removes the next token if it is the keyword or punctuation character text.
func (p *parser) accept(text string) bool {
	if !p.peek().is(text) {
		return false
	}
	p.next()
	return true
}

// expect removes the next token, which must be the keyword or punctuation character text.
func (p *parser) expect(text string) error {
	if !p.accept(text) {
		return errSyntax
	}
	return nil
}

// end removes the end of the command.
func (p *parser) end() error {
	if p.peek().kind != tokenEOL {
		return errSyntax // also at the end of the input
	}
	p.next()
	return nil
}

// run executes commands until the input ends or a command ends it.
func (p *parser) run(ctx context.Context) {
	for ctx.Err() == nil {
		t := p.peek()
		if t.kind == tokenEOF {
			return
		}
		p.lex.refused = false
		err := p.command(ctx)
		if err == errQuit {
			return
		}
		if e, ok := err.(errorLine); ok {
			p.errorf("Error", p.line, "%s", string(e))
			p.lex.skipLine()
			p.peeked = false
		}
	}
}

// commands maps the first words of commands to their parsers.
var commands = map[string]func(p *parser, ctx context.Context) error{
	"show":       (*parser).showCommand,
	"connect":    (*parser).connectCommand,
	"disconnect": (*parser).disconnectCommand,
	"help":       (*parser).helpCommand,
	"h":          (*parser).helpCommand,
	"?":          (*parser).helpCommand,
	"quit":       (*parser).quitCommand,
	"q":          (*parser).quitCommand,
	"status":     (*parser).statusCommand,
	"new":        (*parser).newCommand,
	"sync":       (*parser).syncCommand,
	"flush":      (*parser).syncCommand,
	"timezone":   (*parser).timezoneCommand,
	"sleep":      (*parser).sleepCommand,
	"qa":         (*parser).qaCommand,
	"query":      (*parser).queryCommand,
	"log":        (*parser).logCommand,
	"mandatory":  (*parser).logCommand,
	"advisory":   (*parser).logCommand,
}

// command reads and executes a command.
func (p *parser) command(ctx context.Context) error {
	t := p.peek()
	if t.kind == tokenEOL {
		p.next()
		return nil
	}
	f := commands[t.text]
	if f == nil || t.kind != tokenWord && t.kind != tokenPunct {
		return errSyntax
	}
	if !t.is("mandatory") && !t.is("advisory") {
		p.next()
	}
	return f(p, ctx)
}

func (p *parser) showCommand(ctx context.Context) error {
	if !p.accept("logger") {
		p.accept("loggers")
	}
	host, err := p.host()
	if err == nil {
		err = p.end()
	}
	if err == nil {
		p.show(ctx, cmp.Or(host, p.Host))
	}
	return err
}

// host parses "@ HOST". Without that the host is empty.
func (p *parser) host() (string, error) {
	if !p.accept("@") && !p.accept("at") {
		return "", nil
	}
	switch t := p.peek(); t.kind {
	case tokenWord:
		if isKeyword[t.text] {
			return "", errSyntax
		}
		fallthrough
	case tokenString, tokenNumber, tokenURL:
		p.next()
		return t.text, nil
	}
	return "", errSyntax
}

// isKeyword has the words that cannot be hosts.
var isKeyword = map[string]bool{}

func init() {
	for word := range commands {
		isKeyword[word] = true
	}
	for word := range units {
		isKeyword[word] = true
	}
	for _, word := range []string{"logger", "loggers", "at", "primary", "port", "socket", "on", "off", "maybe", "once", "every",
		"default", "volume", "local"} {
		isKeyword[word] = true
	}
}

func (p *parser) connectCommand(ctx context.Context) error {
	var id loggerID
	switch t := p.peek(); {
	case t.is("primary"):
		id.kind = byPrimary
		p.next()
	case t.is("socket"):
		id = loggerID{kind: bySocket, pid: -2}
		p.next()
	case t.kind == tokenNumber:
		id = loggerID{kind: byPID, pid: int(t.num)}
		if t.num == 0 {
			id.kind = byPrimary
		}
		p.next()
	case t.is("port"):
		p.next()
		if t = p.peek(); t.kind != tokenNumber {
			return errSyntax
		}
		id = loggerID{kind: byPort, port: int(t.num)}
		p.next()
	default:
		return errSyntax
	}
	host, err := p.host()
	if err == nil {
		err = p.end()
	}
	if err == nil {
		p.connect(ctx, id, host, false)
	}
	return err
}

func (p *parser) disconnectCommand(context.Context) error {
	if err := p.end(); err != nil {
		return err
	}
	p.disconnect()
	return nil
}

func (p *parser) helpCommand(context.Context) error {
	if err := p.end(); err != nil {
		return err
	}
	p.printf("%s\n", menu)
	return nil
}

func (p *parser) quitCommand(context.Context) error {
	if err := p.end(); err != nil {
		return err
	}
	p.printf("Goodbye\n")
	p.quit = true
	return errQuit
}

// connected parses the end of a command that needs a connection.
func (p *parser) connected() error {
	if err := p.end(); err != nil {
		return err
	}
	return p.needConnection()
}

func (p *parser) needConnection() error {
	if p.client == nil {
		return errNotConnected
	}
	return nil
}

func (p *parser) statusCommand(ctx context.Context) error {
	if err := p.connected(); err != nil {
		return err
	}
	p.status(ctx)
	return nil
}

func (p *parser) newCommand(ctx context.Context) error {
	if err := p.expect("volume"); err != nil {
		return err
	}
	if err := p.connected(); err != nil {
		return err
	}
	p.newVolume(ctx)
	return nil
}

func (p *parser) syncCommand(ctx context.Context) error {
	if err := p.connected(); err != nil {
		return err
	}
	p.sync(ctx)
	return nil
}

func (p *parser) timezoneCommand(context.Context) error {
	t := p.peek()
	switch {
	case t.kind == tokenString:
	case t.is("local"), t.is("logger"):
	default:
		return errSyntax
	}
	p.next()
	switch { // even if something wrong comes after it, as in C
	case t.is("local"):
		p.zone = zone{kind: zoneLocal}
	case t.is("logger"):
		p.zone = zone{kind: zoneLogger}
	default:
		p.zone = zone{kind: zoneNamed, name: t.text}
	}
	return p.end()
}

// number parses a number and the end of the command.
func (p *parser) number() (int, error) {
	t := p.peek()
	if t.kind != tokenNumber {
		return 0, errSyntax
	}
	p.next()
	return int(t.num), p.end()
}

func (p *parser) sleepCommand(ctx context.Context) error {
	n, err := p.number()
	if err != nil {
		return err
	}
	_ = ctxwait.Sleep(ctx, time.Duration(n)*time.Millisecond) // the next command sees ctx
	return nil
}

func (p *parser) qaCommand(ctx context.Context) error {
	n, err := p.number()
	if err != nil {
		return err
	}
	if n == 0 {
		p.warnf("QA Test Case deactivated\n")
	} else {
		p.warnf("QA Test Case #%d activated\n", n)
	}
	if err := p.needConnection(); err != nil {
		return err
	}
	p.qa(ctx, n)
	return nil
}

func (p *parser) queryCommand(ctx context.Context) error {
	return p.statement(ctx, request{enquire: true})
}

func (p *parser) logCommand(ctx context.Context) error {
	var r request
	switch {
	case p.accept("mandatory"):
		r.control = logger.Mandatory
	case p.accept("advisory"):
	default:
		return errSyntax
	}
	switch {
	case p.accept("on"):
		r.state = logger.On
		if err := p.frequency(&r); err != nil {
			return err
		}
	case p.accept("off"):
		r.state = logger.Off
	case r.control == logger.Mandatory && p.accept("maybe"):
		r.state = logger.Maybe
	default:
		return errSyntax
	}
	return p.statement(ctx, r)
}

// units are the words for units of time, in milliseconds.
var units = map[string]int32{}

func init() {
	for word, ms := range map[string]int32{"millisecond": 1, "msec": 1, "second": 1000, "sec": 1000, "minute": 60_000, "min": 60_000,
		"hour": 3_600_000} {
		units[word], units[word+"s"] = ms, ms
	}
}

// frequency parses "once" or "[every] NUMBER UNIT".
func (p *parser) frequency(r *request) error {
	if p.accept("once") {
		return nil
	}
	p.accept("every")
	n := p.peek()
	if n.kind != tokenNumber {
		return errSyntax
	}
	p.next()
	unit, ok := units[p.peek().text]
	if !ok || p.peek().kind != tokenWord {
		return errSyntax
	}
	p.next()
	r.delta = n.num * unit // overflows as it does in C
	return nil
}

// statement parses the list of metrics of a request and makes the request.
func (p *parser) statement(ctx context.Context, r request) error {
	if err := p.needConnection(); err != nil {
		return err
	}
	if !p.openCollector(ctx) {
		return errReported
	}
	l := &metricList{Shell: p.Shell, line: func() int { return p.line }}
	if err := p.list(ctx, l); err != nil {
		return err
	}
	if l.bad {
		p.warnf("Logging statement ignored due to error(s)\n")
	}
	if err := p.end(); err != nil {
		return err
	}
	if !l.bad {
		p.request(ctx, r, l.metrics)
	}
	return nil
}

// list parses SPEC or { SPEC [,] SPEC … }.
func (p *parser) list(ctx context.Context, l *metricList) error {
	if !p.accept("{") {
		return p.spec(ctx, l)
	}
	p.lex.braces = true
	for {
		if err := p.spec(ctx, l); err != nil {
			return err
		}
		if p.accept("}") {
			return nil
		}
		p.accept(",")
	}
}

// atName reports whether the next token is a name. In lists of metrics keywords are names too,
// unless the lexer has refused a character.
func (p *parser) atName() bool {
	t := p.peek()
	return t.isName() && !(p.lex.refused && isKeyword[t.text])
}

// spec parses NAME [ "[" INST { [,] INST } "]" ].
func (p *parser) spec(ctx context.Context, l *metricList) error {
	if !p.atName() {
		return errSyntax
	}
	l.add(ctx, p.next().text)
	if !p.accept("[") {
		l.all()
		return nil
	}
	for {
		switch t := p.peek(); {
		case t.kind == tokenNumber:
			l.addInstance(ctx, "", t.num)
		case t.kind == tokenString, p.atName():
			l.addInstance(ctx, t.text, 0)
		default:
			return errSyntax
		}
		p.next()
		if p.accept("]") {
			l.some()
			return nil
		}
		p.accept(",")
	}
}
