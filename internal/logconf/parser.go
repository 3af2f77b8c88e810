package logconf

import (
	"fmt"
	"math/bits"
	"strconv"
	"time"
)

// A parser makes a Config of tokens.
type parser struct {
	lexer  *lexer
	token  token         // that is looked at
	names  bool          // within braces: the words of the language are names
	every  time.Duration // of "default"
	config Config
}

// keywords are the words of the language.
var keywords = map[string]bool{"log": true, "mandatory": true, "advisory": true, "on": true, "off": true, "maybe": true, "every": true, "once": true,
	"default": true, "access": true, "allow": true, "disallow": true, "all": true, "except": true, "enquire": true}

// units are the words for units of time.
var units = map[string]time.Duration{}

func init() {
	for unit, words := range map[time.Duration][]string{time.Millisecond: {"msec", "millisecond"}, time.Second: {"sec", "second"},
		time.Minute: {"min", "minute"}, time.Hour: {"hour"}} {
		for _, word := range words {
			for _, w := range []string{word, word + "s"} {
				units[w], keywords[w] = unit, true
			}
		}
	}
}

// parse reads everything.
func (p *parser) parse() error {
	if err := p.next(); err != nil {
		return err
	}
	for p.token.kind != end {
		if p.token.kind == '[' {
			return p.access()
		}
		r, err := p.request()
		if len(r.Metrics) > 0 { // of a request with an error, too
			p.config.Requests = append(p.config.Requests, r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// next goes to the next token.
func (p *parser) next() (err error) {
	p.token, err = p.lexer.next()
	return err
}

// is reports whether the token is a word of the language, which it is not within braces.
func (p *parser) is(word string) bool { return !p.names && p.token.is(word) }

// accept goes on if the token is a word of the language.
func (p *parser) accept(word string) (ok bool, err error) {
	if !p.is(word) {
		return false, nil
	}
	return true, p.next()
}

// expect goes on if the token is a character, and fails otherwise.
func (p *parser) expect(k kind) error {
	if p.token.kind != k {
		return p.syntaxError(string(k))
	}
	return p.next()
}

// syntaxError returns the error of the token, with the words that the language allows there.
func (p *parser) syntaxError(want ...string) error { return p.errorf(want, "syntax error") }

// errorf returns an error that names the token.
func (p *parser) errorf(want []string, format string, args ...any) error {
	return &SyntaxError{Place: p.token.at, Column: p.token.column, Found: p.token.text, Want: want, Msg: fmt.Sprintf(format, args...)}
}

// request reads one request.
func (p *parser) request() (r Request, err error) {
	if _, err = p.accept("log"); err != nil {
		return r, err
	}
	said := false
	switch {
	case p.is("mandatory"):
		r.Control, said = Mandatory, true
	case p.is("advisory"):
		said = true
	}
	if said {
		if err := p.next(); err != nil {
			return r, err
		}
	}
	switch {
	case p.is("on"):
		r.State = On
	case p.is("off"):
	case p.is("maybe") && r.Control == Mandatory:
		r.State = Maybe
	default:
		want := []string{"on", "off"}
		switch {
		case !said:
			want = append(want, "mandatory", "advisory")
		case r.Control == Mandatory:
			want = append(want, "maybe")
		}
		return r, p.syntaxError(want...)
	}
	if err := p.next(); err != nil {
		return r, err
	}
	if r.State == On {
		if err := p.frequency(&r); err != nil {
			return r, err
		}
	}
	return r, p.metrics(&r)
}

// frequency reads how often metrics are recorded.
func (p *parser) frequency(r *Request) error {
	every, err := p.accept("every")
	switch {
	case err != nil:
		return err
	case p.token.kind == number:
		return p.interval(r)
	case every:
		return p.syntaxError()
	case p.is("default"):
		msec := p.every.Milliseconds()
		switch {
		case msec < 0:
			return p.errorf(nil, "Logging delta (%d msec) must be positive", msec)
		case msec > MaxInterval.Milliseconds():
			return p.tooLong(uint64(msec))
		}
		r.Interval = time.Duration(msec) * time.Millisecond
		return p.next()
	case p.is("once"):
		return p.next()
	}
	return p.syntaxError("every", "once", "default")
}

// interval reads a number and a unit of time.
func (p *parser) interval(r *Request) error {
	n, err := strconv.ParseUint(p.token.text, 10, 64) // of too many digits it is the greatest
	if err != nil && n == 0 {
		return p.syntaxError()
	}
	if err := p.next(); err != nil {
		return err
	}
	unit, ok := units[p.token.text]
	if !ok || p.token.kind != name {
		return p.syntaxError("msec", "sec", "min", "hour")
	}
	high, msec := bits.Mul64(n, uint64(unit/time.Millisecond))
	if high != 0 || msec > uint64(MaxInterval.Milliseconds()) {
		if high != 0 {
			msec = 1<<64 - 1
		}
		return p.tooLong(msec)
	}
	r.Interval = time.Duration(msec) * time.Millisecond
	return p.next()
}

// tooLong is the error of an interval.
func (p *parser) tooLong(msec uint64) error {
	return p.errorf(nil, "Logging delta (%d msec) cannot be bigger than %d msec", msec, MaxInterval.Milliseconds())
}

// metrics reads one metric, or some in braces. When the braces begin and end, the next token is not
// read yet.
func (p *parser) metrics(r *Request) error {
	if p.token.kind != '{' {
		return p.metric(r)
	}
	p.names = true
	if err := p.next(); err != nil {
		return err
	}
	for {
		if err := p.metric(r); err != nil {
			return err
		}
		switch p.token.kind {
		case '}':
			p.names = false
			return p.next()
		case ',':
			if err := p.next(); err != nil {
				return err
			}
		}
	}
}

// isName reports whether the token is a name, and not a word of the language.
func (p *parser) isName() bool {
	return p.token.kind == name && (p.names || !keywords[p.token.text])
}

// metric reads a metric with its instances.
func (p *parser) metric(r *Request) error {
	if !p.isName() {
		return p.syntaxError()
	}
	m := Metric{Name: p.token.text}
	if err := p.next(); err != nil {
		return err
	}
	m.Place = p.token.at
	if p.token.kind == '[' {
		if err := p.instances(&m); err != nil {
			return err
		}
	}
	r.Metrics = append(r.Metrics, m)
	return nil
}

// instances reads the instances of a metric.
func (p *parser) instances(m *Metric) error {
	if err := p.next(); err != nil {
		return err
	}
	for {
		var i Instance
		switch {
		case p.token.kind == number:
			n, err := strconv.ParseInt(p.token.text, 10, 32)
			if err != nil {
				return p.errorf(nil, "Instance number %s is too great", p.token.text)
			}
			i.ID = int32(n)
		case p.token.kind == quoted || p.isName():
			i.Name = p.token.text
		default:
			return p.syntaxError()
		}
		m.Instances = append(m.Instances, i)
		if err := p.next(); err != nil {
			return err
		}
		switch p.token.kind {
		case ']':
			m.Place = p.token.at
			return p.next()
		case ',':
			if err := p.next(); err != nil {
				return err
			}
		}
	}
}

// access reads the access section, which is the last one.
func (p *parser) access() error {
	if err := p.next(); err != nil {
		return err
	}
	if !p.is("access") {
		return p.syntaxError("access")
	}
	if err := p.next(); err != nil {
		return err
	}
	if err := p.expect(']'); err != nil {
		return err
	}
	for first := true; first || p.token.kind != end; first = false {
		if err := p.rule(); err != nil {
			return err
		}
	}
	return nil
}

// rule reads a rule of the access section.
func (p *parser) rule() error {
	r := Rule{Allow: p.is("allow")}
	if !r.Allow && !p.is("disallow") {
		return p.syntaxError("allow", "disallow")
	}
	if err := p.next(); err != nil {
		return err
	}
	for {
		if p.token.kind != host && p.token.kind != '*' && !p.isName() {
			return p.syntaxError()
		}
		r.Hosts = append(r.Hosts, p.token.text)
		if err := p.next(); err != nil {
			return err
		}
		if p.token.kind != ',' {
			break
		}
		if err := p.next(); err != nil {
			return err
		}
	}
	if err := p.expect(':'); err != nil {
		return err
	}
	if err := p.ops(&r); err != nil {
		return err
	}
	r.Place = p.token.at
	if p.token.kind != ';' {
		return p.syntaxError(";")
	}
	p.config.Rules = append(p.config.Rules, r)
	return p.next()
}

// ops parses the operations of a rule.
func (p *parser) ops(r *Rule) error {
	all, err := p.accept("all")
	if err != nil {
		return err
	}
	if all {
		r.Ops = OpAll
		if except, err := p.accept("except"); err != nil || !except {
			return err
		}
	}
	for {
		var op Ops
		switch {
		case p.is("advisory"):
			op = OpAdvisory
		case p.is("mandatory"):
			op = OpMandatory
		case p.is("enquire"):
			op = OpEnquire
		default:
			return p.syntaxError("advisory", "mandatory", "enquire", "all")
		}
		if all {
			r.Ops &^= op
		} else {
			r.Ops |= op
		}
		if err := p.next(); err != nil {
			return err
		}
		if p.token.kind != ',' {
			return nil
		}
		if err := p.next(); err != nil {
			return err
		}
	}
}
