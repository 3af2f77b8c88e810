package pmcdconf

import (
	"math"
	"strconv"
)

// Limits holds the limits of each client. 0 means no limit, except for Logins. C pmcd has no such
// limits.
type Limits struct {
	Requests int // per second
	Bytes    int // of requests and replies per second
	Contexts int // at a time
	Logins   int // failed logins per minute of a user from an address; 0 means 100
}

// parseLimits reads the rest of the header "[limits]" and the statements of the section:
//
//	(requests | bytes | contexts | logins) : NUMBER ;
//
// If another section follows, more is true and tok is its name.
func (p *parser) parseLimits() (tok token, more bool) {
	if tok = p.scan.next(); !tok.is("]") {
		p.accessError(tok, "']' expected")
		return tok, false
	}
	for tok = p.scan.next(); tok.kind != tokenEnd; tok = p.scan.next() {
		if tok.is("[") {
			return p.scan.next(), true
		}
		for end, ok := p.parseLimit(tok); !ok && !end.is(";") && end.kind != tokenEnd; {
			end = p.scan.next()
		}
	}
	return tok, false
}

// parseLimit reads a statement that starts with tok. It returns the last token that it read.
func (p *parser) parseLimit(tok token) (end token, ok bool) {
	l := &p.conf.Limits
	limit := map[string]*int{"requests": &l.Requests, "bytes": &l.Bytes, "contexts": &l.Contexts, "logins": &l.Logins}[tok.text]
	name := tok.text
	switch {
	case tok.kind != tokenWord || limit == nil:
		p.accessError(tok, `"requests", "bytes", "contexts" or "logins" expected in [limits] section`)
		return tok, false
	case *limit != 0:
		p.accessError(tok, "limit of %s already specified", name)
		return tok, false
	}
	if tok = p.scan.next(); !tok.is(":") {
		p.accessError(tok, "':' expected after \"%s\"", name)
		return tok, false
	}
	tok = p.scan.next()
	n, err := strconv.Atoi(tok.text)
	if err != nil || n <= 0 || n > math.MaxInt32 {
		p.accessError(tok, "limit of %s must be a positive number", name)
		return tok, false
	}
	*limit = n
	if tok = p.scan.next(); !tok.is(";") {
		p.accessError(tok, "';' expected after the limit of %s", name)
		return tok, false
	}
	return tok, true
}
