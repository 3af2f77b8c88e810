package pmcdconf

import (
	"path"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/pdu"
)

// parseAgent reads the line of an agent whose first word is first. It reports and skips an
// invalid line.
func (p *parser) parseAgent(first token) {
	a := Agent{Name: first.text, Line: first.line}
	if !p.parseDomain(&a) {
		return
	}
	var ok bool
	switch kind := p.scan.next(); {
	case kind.is("dso"):
		a.Kind = "dso"
		ok = p.parseDSO(&a)
	case kind.is("socket"):
		a.Kind = "socket"
		ok = p.parseSocket(&a)
	case kind.is("pipe"):
		a.Kind = "pipe"
		ok = p.parsePipe(&a)
	default:
		p.agentError(&a, "expected `dso', `socket' or `pipe'")
		p.adviseWords(kind, "dso", "socket", "pipe")
	}
	if ok && p.scan.err == "" {
		p.conf.Agents = append(p.conf.Agents, a)
	}
}

// agentError reports a fault in the line of an agent, and returns false. If the scanner has
// stopped, the fault is that of the scanner, which reportScanFault reports.
func (p *parser) agentError(a *Agent, format string, args ...any) bool {
	if p.scan.err == "" {
		p.errorf(a.Line, format, args...)
	}
	return false
}

func (p *parser) parseDomain(a *Agent) bool {
	tok := p.scan.next()
	if tok.text == "" || strings.Trim(tok.text, "0123456789") != "" {
		return p.agentError(a, "expected domain number for \"%s\" agent", a.Name)
	}
	d, err := strconv.Atoi(tok.text)
	if err != nil || pdu.Domain(d) > pdu.MaxDomain {
		return p.agentError(a, "Illegal domain number (%s) for \"%s\" agent", tok.text, a.Name)
	}
	a.Domain = pdu.Domain(d)
	for _, b := range p.conf.Agents {
		if a.Domain == b.Domain {
			p.agentError(a, "domain number for \"%s\" agent clashes with \"%s\" agent", a.Name, b.Name)
			p.advise(": line %d has domain %d too, so give one of them another", b.Line, b.Domain)
			return false
		}
	}
	return true
}

func (p *parser) parseDSO(a *Agent) bool {
	entry := p.scan.next()
	if entry.kind == tokenEnd {
		return p.agentError(a, "expected DSO entry point")
	}
	file := p.scan.next()
	if file.kind == tokenEnd {
		return p.agentError(a, "expected DSO pathname")
	}
	if !path.IsAbs(file.text) {
		return p.agentError(a, "path \"%s\" to PMDA is not absolute", file.text)
	}
	if p.scan.next().kind != tokenEnd {
		return p.agentError(a, "too many parameters for DSO")
	}
	a.Entry, a.Path = entry.text, file.text
	return true
}

func (p *parser) parseSocket(a *Agent) bool {
	switch family := p.scan.next(); {
	case family.is("inet"), family.is("ipv6"), family.is("unix"):
		a.Network = strings.ToLower(family.text)
	default:
		p.agentError(a, "expected socket address domain (`inet', `ipv6', or `unix')")
		p.adviseWords(family, "inet", "ipv6", "unix")
		return false
	}
	addr := p.scan.next()
	if addr.kind == tokenEnd {
		return p.agentError(a, "expected socket port name or number")
	}
	a.Address = addr.text
	if a.Network != "unix" {
		port, err := strconv.ParseUint(a.Address, 10, 16)
		if err != nil {
			var n int
			n, err = p.lookupPort("tcp", a.Address)
			port = uint64(n)
		}
		if err != nil || a.Address == "" {
			return p.agentError(a, "failed to get port number for port name %s", a.Address)
		}
		a.Port = int(port)
	}
	p.parseArgv(a, p.scan.next())
	return true
}

func (p *parser) parsePipe(a *Agent) bool {
	if kind := p.scan.next(); !kind.is("binary") {
		p.agentError(a, "pipe PDU type expected (`binary')")
		p.adviseWords(kind, "binary")
		return false
	}
	tok := p.scan.next()
	for ; tok.is("notready"); tok = p.scan.next() {
		a.NotReady = true
	}
	if p.parseArgv(a, tok); a.Argv == nil {
		return p.agentError(a, "command to create pipe agent expected.")
	}
	return true
}

// parseArgv reads the rest of the line, starting with the word tok.
func (p *parser) parseArgv(a *Agent, tok token) {
	for ; tok.kind != tokenEnd; tok = p.scan.next() {
		a.Argv = append(a.Argv, tok.text)
	}
}
