package pmcdconf

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/internal/hostpattern"
	"github.com/pcp-go/pcp/pmda/internal/access"
)

// parseAccessHeader reads the header "[access]", which may contain blanks and newlines, and a
// section of limits before it. It returns false if no valid header follows.
func (p *parser) parseAccessHeader() bool {
	p.scan.next() // the bracket
	tok := p.scan.next()
	if tok.is("limits") {
		var more bool
		if tok, more = p.parseLimits(); !more {
			return false
		}
	}
	if !tok.is("access") {
		p.accessError(tok, `"access" keyword expected`)
		return false
	}
	if tok = p.scan.next(); !tok.is("]") {
		p.accessError(tok, "']' expected")
		return false
	}
	return true
}

// parseAccessSection reads the statements of an access section:
//
//	(allow | disallow) [hosts | users | groups] SPEC {, SPEC} : ITEM {, ITEM} ;
func (p *parser) parseAccessSection() {
	if p.names.loader == nil {
		p.names = ruleNames{loader: &p.loader, hosts: hostpattern.Resolver{LookupHost: p.lookupHost, Hostname: p.hostname}}
	}
	before, effective := len(p.errs), false
	tok := p.scan.next()
	for tok.kind != tokenEnd {
		s, end, ok := p.parseStatement(tok)
		if ok {
			effective = p.addRules(s) || effective
		}
		for !ok && !end.is(";") && end.kind != tokenEnd {
			end = p.scan.next()
		}
		tok = p.scan.next()
	}
	if p.reportScanFault(); len(p.errs) == before && !effective {
		p.accessError(tok, "no valid statements in [access] section")
	}
}

// accessError reports a fault in the access section. If the scanner has stopped, the fault is that
// of the scanner, which reportScanFault reports.
func (p *parser) accessError(tok token, format string, args ...any) {
	p.fatal = true
	if p.scan.err == "" {
		p.errorf(tok.line, format, args...)
	}
}

// A statement is a statement of an access section.
type statement struct {
	kind  string // "host", "user" or "group"
	specs []string
	rule  access.Rule
	line  int // of its end
}

// parseStatement reads a statement that starts with tok. It returns the last token that it read.
func (p *parser) parseStatement(tok token) (s statement, end token, ok bool) {
	var allow bool
	switch {
	case tok.is("allow"):
		allow = true
	case !tok.is("disallow"):
		p.accessError(tok, "allow or disallow statement expected")
		p.adviseWords(tok, "allow", "disallow")
		return s, tok, false
	}
	s.kind = "host"
	tok = p.scan.next()
	for _, kind := range []string{"host", "user", "group"} {
		if tok.is(kind) || tok.is(kind+"s") {
			s.kind, tok = kind, p.scan.next()
			break
		}
	}
	if tok, ok = p.parseSpecs(&s, tok); !ok {
		return s, tok, false
	}
	l := operationList{p: p, allow: allow}
	if tok, ok = l.parse(); !ok {
		return s, tok, false
	}
	s.rule, s.line = l.rule, tok.line
	return s, tok, true
}

// parseSpecs reads the specifications up to the colon after them.
func (p *parser) parseSpecs(s *statement, tok token) (token, bool) {
	missing := func() bool { return tok.is(":") || tok.is(";") || tok.kind == tokenEnd }
	if missing() {
		p.accessError(tok, "no %ss in allow/disallow statement", s.kind)
		return tok, false
	}
	for {
		spec := tok.text
		s.specs = append(s.specs, spec)
		switch tok = p.scan.next(); {
		case tok.is(":"):
			return tok, true
		case !tok.is(","):
			p.accessError(tok, "',' or ':' expected after \"%s\"", spec)
			p.adviseWords(tok)
			return tok, false
		}
		if tok = p.scan.next(); missing() {
			p.accessError(tok, "%s expected after ','", s.kind)
			return tok, false
		}
	}
}

// An operationList reads what a statement allows or disallows:
//
//	ITEM = fetch | store | all [except ITEM {, ITEM}] | maximum N connections
type operationList struct {
	p      *parser
	allow  bool
	rule   access.Rule
	single bool // fetch or store was read, outside of except
	all    bool
	except bool
}

// parse reads up to the semicolon. It returns the last token.
func (l *operationList) parse() (tok token, ok bool) {
	comma, exceptNow := false, false
	for {
		tok = l.p.scan.next()
		switch {
		case (tok.is(";") || tok.kind == tokenEnd) && comma:
			return l.fail(tok, "misplaced (trailing) ',' in permission list")
		case tok.is(";") || tok.kind == tokenEnd:
			return l.fail(tok, "empty or incomplete permissions list")
		}
		if problem := l.parseItem(&tok, exceptNow); problem != "" {
			l.fail(tok, problem)
			if problem == badItem {
				l.p.adviseWords(tok, "fetch", "store", "all", "maximum")
			}
			return tok, false
		}
		isAll := tok.is("all")
		tok = l.p.scan.next()
		if exceptNow = isAll && !l.except && tok.is("except"); exceptNow {
			l.except, comma = true, false
			continue
		}
		switch {
		case tok.is(";"):
			return tok, true
		case !tok.is(","):
			return l.fail(tok, "',' or ';' expected in permission list")
		}
		comma = true
	}
}

func (l *operationList) fail(tok token, problem string) (token, bool) {
	l.p.accessError(tok, "%s", problem)
	return tok, false
}

// parseItem reads an item that starts with *tok, and sets *tok to its last word. exceptNow says
// that the item is the first one after "except".
func (l *operationList) parseItem(tok *token, exceptNow bool) (problem string) {
	switch {
	case tok.is("fetch"):
		return l.addOperation(access.OpFetch)
	case tok.is("store"):
		return l.addOperation(access.OpStore)
	case tok.is("all"):
		if exceptNow {
			return `can't have "all" within an "all except"`
		}
		if l.single || l.except {
			return `can't have "all" mixed with specific permissions`
		}
		l.all = true
		l.rule.Ops = access.OpAll
		if !l.allow {
			l.rule.Denied = access.OpAll
		}
		return ""
	case tok.is("maximum"), tok.is("unlimited"):
		return l.parseLimit(tok, exceptNow)
	}
	return badItem
}

// badItem is the fault of an unknown word instead of an item.
const badItem = "bad access specifier"

func (l *operationList) addOperation(op access.Ops) string {
	if l.all && !l.except {
		return `can't have "all" mixed with specific permissions`
	}
	l.single = l.single || !l.except
	l.rule.Ops |= op
	if l.allow == l.except { // allow all except op, or disallow op
		l.rule.Denied |= op
	} else {
		l.rule.Denied &^= op
	}
	return ""
}

// parseLimit reads "maximum N connections".
func (l *operationList) parseLimit(tok *token, exceptNow bool) string {
	switch {
	case exceptNow:
		return `connection limit may not immediately follow "all except"`
	case !l.allow:
		return "can't specify connection limit in a disallow statement"
	case l.rule.MaxConns != 0:
		return "connection limit already specified"
	}
	if tok.is("maximum") {
		*tok = l.p.scan.next()
		n, err := strconv.Atoi(tok.text)
		if err != nil || n <= 0 || n > math.MaxInt32 || strings.Trim(tok.text, "0123456789") != "" {
			return "maximum connection limit must be a positive number"
		}
		l.rule.MaxConns = n
		*tok = l.p.scan.next()
	}
	if l.rule.MaxConns == 0 || !tok.is("connections") { // pmcd rejects "unlimited" too
		return `"connections" expected`
	}
	return ""
}

// addRules adds the rules of a statement, and reports whether it added any.
func (p *parser) addRules(s statement) (effective bool) {
	if p.conf.Access == nil {
		p.conf.Access = new(Access)
	}
	for _, spec := range s.specs {
		e := &fault{file: p.name, line: s.line, extra: p.extra, warning: true}
		e.msg = fmt.Sprintf("access control error for %s '%s': Invalid argument", s.kind, spec)
		warnings, err := p.names.add(p.conf.Access, s.kind, spec, s.rule)
		for _, w := range warnings {
			p.conf.Warnings = append(p.conf.Warnings, &fault{file: p.name, line: s.line, extra: p.extra, warning: true, msg: w})
		}
		switch _, unresolved := err.(*hostpattern.UnresolvedError); {
		case err == nil:
			effective = true
		case unresolved:
			e.msg = fmt.Sprintf("access control error for host '%s': No route to host", spec)
			e.err = err
			p.conf.Warnings = append(p.conf.Warnings, e)
		default:
			e.err = err
			p.errs, p.fatal = append(p.errs, e), true
			return effective
		}
	}
	return effective
}
