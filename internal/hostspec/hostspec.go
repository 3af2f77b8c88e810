// Package hostspec parses host specifications, which name a collector and the way to it.
package hostspec

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/internal/scan"
	"github.com/pcp-go/pcp/internal/wording"
	"github.com/pcp-go/pcp/pdu"
)

// A Protocol is a way to connect to a collector.
type Protocol int

// The protocols of host specifications.
const (
	PCP   Protocol = iota // TCP: "pcp:", or no prefix
	PCPS                  // TCP with TLS: "pcps:"
	Unix                  // a unix socket: "unix:"
	Local                 // a unix socket, or TCP on localhost where that fails: "local:"
)

var protocolNames = [...]string{"pcp", "pcps", "unix", "local"}

// String is the protocol's prefix without the colon.
func (p Protocol) String() string {
	if p < 0 || int(p) >= len(protocolNames) {
		return "Protocol(" + strconv.Itoa(int(p)) + ")"
	}
	return protocolNames[p]
}

// A Spec is a parsed host specification: the address of a collector, and attributes of
// the connection.
type Spec struct {
	Protocol Protocol
	// Host is the collector's, of PCP and PCPS. An empty name
	// stands for none.
	Host HostPort
	// Proxies are the pmproxies in the order of the text; a Dialer uses the first.
	Proxies []HostPort
	// Path is the socket of Unix and Local. It begins with a
	// slash; empty stands for the default.
	Path string
	// Attrs are in the order of the text, under their canonical names. Of
	// several with one name the last counts.
	Attrs []Attr
}

// A HostPort is a host with the ports to try there in their order; none stands
// for the default.
type HostPort struct {
	Name  string // or an address, without the brackets of the text
	Ports []int
}

// An Attr is an attribute of a connection. Name is one of compress,
// userauth, username, password, realm, method, unixsock, local, userid,
// groupid, processid, secure, container and exclusive.
type Attr struct{ Name, Value string }

// attrNames maps the names of attributes in a specification to the canonical ones.
var attrNames = map[string]string{
	"compress": "compress",
	"userauth": "userauth", "authorise": "userauth", "authorize": "userauth",
	"user": "username", "username": "username",
	"pass": "password", "password": "password",
	"realm":  "realm",
	"method": "method", "authmeth": "method",
	"unix": "unixsock", "unixsock": "unixsock",
	"local": "local",
	"uid":   "userid", "userid": "userid",
	"gid": "groupid", "groupid": "groupid",
	"pid": "processid", "processid": "processid",
	"secure":    "secure",
	"container": "container",
	"exclusive": "exclusive",
}

// Attr returns the value of an attribute and whether it was given: "secure" and
// "secure=" both give an empty one.
func (h Spec) Attr(name string) (value string, ok bool) {
	for _, a := range slices.Backward(h.Attrs) {
		if a.Name == name {
			return a.Value, true
		}
	}
	return "", false
}

// Parse parses a host specification, the argument of the option -h of PCP's tools:
//
//	spec  = [prefix] (host [ports] {'@' host [ports]} | path) ['?' attrs]
//	ports = ':' number {',' number}
//	attrs = name ['=' value] {'&' name ['=' value]}
//
// A prefix is "pcp:", "pcps:", "unix:" or "local:" and any number of slashes;
// the last two are followed by a path. A host in brackets may contain any
// character but ']'. What follows a slash after the host or within the
// attributes is ignored. Values are decoded as in URLs; unknown attributes are
// ignored.
//
//	web1                         the default port of host web1
//	[fe80::1]:44321,44322        two ports of an address
//	web1:44321@proxy:44322       through a proxy
//	unix:///run/pcp/pmcd.socket  a unix socket
//	pcps://web1?container=db     with TLS, for metrics of a container
//
// A text without a host and ports is not an error: Host.Name is empty.
//
// A syntax error is an *Error. A value that cannot be decoded is a *ValueError. The C
// library accepts an empty name in brackets or after '@' and a port above 65535; here they are
// errors. The counterpart of __pmParseHostAttrsSpec, for the argument of pmNewContext(3).
func Parse(spec string) (Spec, error) {
	p := parser{text: spec}
	h, err := p.parse()
	if err != nil {
		return Spec{}, err
	}
	return h, nil
}

type parser struct {
	text string
	pos  int
}

func (p *parser) fail(msg string) error {
	text := Redact(p.text)
	return &Error{text, min(p.pos, len(text)), msg}
}

func (p *parser) at() byte {
	if p.pos < len(p.text) {
		return p.text[p.pos]
	}
	return 0
}

// until consumes and returns the text before one of the characters or the end.
func (p *parser) until(chars string) string {
	rest := p.text[p.pos:]
	if i := strings.IndexAny(rest, chars); i >= 0 {
		rest = rest[:i]
	}
	p.pos += len(rest)
	return rest
}

func (p *parser) parse() (h Spec, err error) {
	h.Protocol = p.protocol()
	if h.Protocol == Unix || h.Protocol == Local {
		if path := p.until(":?"); path != "" {
			h.Path = "/" + path
		}
	} else if err := p.hosts(&h); err != nil {
		return h, err
	}
	switch {
	case p.pos == len(p.text), p.at() == '/':
		return h, nil
	case p.at() != '?':
		return h, p.fail("unexpected terminal character")
	}
	p.pos++
	h.Attrs, err = p.attrs()
	return h, err
}

func (p *parser) protocol() Protocol {
	for i, name := range protocolNames {
		if strings.HasPrefix(p.text, name+":") {
			p.pos = len(name) + 1
			for p.at() == '/' {
				p.pos++
			}
			return Protocol(i)
		}
	}
	return PCP
}

// hosts parses the host of the collector and the proxies.
func (p *parser) hosts(h *Spec) (err error) {
	if p.pos == len(p.text) || p.at() == '?' || p.at() == '/' {
		return nil
	}
	if h.Host, err = p.host(); err != nil {
		return err
	}
	for p.at() == '@' {
		p.pos++
		proxy, err := p.host()
		if err != nil {
			return err
		}
		h.Proxies = append(h.Proxies, proxy)
	}
	return nil
}

func (p *parser) host() (h HostPort, err error) {
	start := p.pos
	if p.at() == '[' {
		p.pos++
		start = p.pos
		h.Name = p.until("]")
		if p.pos == len(p.text) {
			return h, p.fail("missing closing ']' for host spec")
		}
		if h.Name != "" {
			p.pos++
			if p.pos < len(p.text) && strings.IndexByte(":@/?", p.at()) < 0 {
				return h, p.fail("extra characters after host spec")
			}
		}
	} else {
		h.Name = p.until(":@/?")
	}
	if h.Name == "" {
		p.pos = start
		return h, p.fail("unexpected terminal character")
	}
	if p.at() == ':' {
		h.Ports, err = p.ports()
	}
	return h, err
}

// ports parses a list of ports, each with the colon or comma before it.
func (p *parser) ports() (ports []int, err error) {
	for p.at() == ':' && ports == nil || p.at() == ',' {
		p.pos++
		start := p.pos
		digits := p.until(",@/?")
		i := 0
		for i < len(digits) && scan.IsDigit(digits[i]) {
			i++
		}
		p.pos = start + i
		switch {
		case digits == "":
			return nil, p.fail("missing port")
		case i < len(digits):
			return nil, p.fail("non-numeric port")
		}
		n, err := strconv.ParseUint(digits, 10, 16)
		if err != nil {
			p.pos = start
			return nil, p.fail("port out of range")
		}
		ports = append(ports, int(n))
	}
	return ports, nil
}

// attrs parses what follows the question mark.
func (p *parser) attrs() (attrs []Attr, err error) {
	for item := range strings.SplitSeq(p.until("/"), "&") {
		name, value := item, ""
		if i := strings.LastIndexByte(item, '='); i >= 0 {
			name, value = item[:i], item[i+1:]
		}
		canonical, ok := attrNames[name]
		if !ok {
			continue
		}
		decoded, err := url.QueryUnescape(value)
		if err != nil || strings.IndexByte(decoded, 0) >= 0 {
			if canonical == "password" {
				value = redacted
			}
			return nil, &ValueError{Redact(p.text), name, value}
		}
		attrs = append(attrs, Attr{canonical, decoded})
	}
	return attrs, nil
}

// An Error is a syntax error in a host specification.
type Error struct {
	Text   string // the specification, with a password redacted
	Offset int    // where in Text the error is, from 0 to len(Text)
	Msg    string // what was found there or expected
}

// Error returns the text, the message and what follows the offset.
func (e *Error) Error() string {
	return "bad host specification " + wording.Syntax(e.Text, e.Offset, e.Msg)
}

// Unwrap returns pdu.ErrGeneric.
func (e *Error) Unwrap() error { return pdu.ErrGeneric }

// A ValueError says which value in a host specification cannot be decoded.
type ValueError struct{ Text, Name, Value string }

// Error returns the specification and the attribute.
func (e *ValueError) Error() string {
	return fmt.Sprintf("bad host specification: %q: %s=%s: %v", e.Text, e.Name, e.Value, pdu.ErrInvalid)
}

// Unwrap returns pdu.ErrInvalid.
func (e *ValueError) Unwrap() error { return pdu.ErrInvalid }

// redacted stands for a password.
const redacted = "***"

// Redact returns a host specification for messages and logs: with *** in place of a password.
// The text need not be valid.
func Redact(spec string) string {
	host, attrs, ok := strings.Cut(spec, "?")
	if !ok || !strings.Contains(attrs, "pass") {
		return spec
	}
	items := strings.Split(attrs, "&")
	for i, item := range items {
		if name, _, given := strings.Cut(item, "="); given && strings.Contains(name, "pass") {
			items[i] = name + "=" + redacted
		}
	}
	return host + "?" + strings.Join(items, "&")
}

// WithoutPassword returns a specification for errors, which programs log: without its attributes if
// there may be a password among them.
func WithoutPassword(spec string) string {
	if i := strings.IndexByte(spec, '?'); i >= 0 && strings.Contains(spec[i:], "pass") {
		return spec[:i]
	}
	return spec
}

// String is a specification that Parse parses to h again, if h came from there.
func (h Spec) String() string {
	var b strings.Builder
	if h.Protocol != PCP {
		b.WriteString(h.Protocol.String() + "://")
	}
	if h.Protocol == Unix || h.Protocol == Local {
		b.WriteString(strings.TrimPrefix(h.Path, "/"))
	} else if h.Host.Name != "" {
		b.WriteString(h.Host.String())
		for _, proxy := range h.Proxies {
			b.WriteString("@" + proxy.String())
		}
	}
	for i, a := range h.Attrs {
		b.WriteByte("?&"[min(i, 1)])
		b.WriteString(a.Name)
		if a.Value != "" {
			b.WriteString("=" + url.QueryEscape(a.Value))
		}
	}
	return b.String()
}

// String is the host and its ports in the syntax of Parse.
func (h HostPort) String() string {
	var b strings.Builder
	// A protocol's name without brackets would be a prefix.
	if strings.ContainsAny(h.Name, ":@/?") || strings.HasPrefix(h.Name, "[") || slices.Contains(protocolNames[:], h.Name) {
		b.WriteString("[" + h.Name + "]")
	} else {
		b.WriteString(h.Name)
	}
	for i, port := range h.Ports {
		b.WriteByte(":,"[min(i, 1)])
		b.WriteString(strconv.Itoa(port))
	}
	return b.String()
}
