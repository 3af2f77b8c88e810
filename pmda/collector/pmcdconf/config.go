package pmcdconf

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/internal/wording"
	"github.com/pcp-go/pcp/pmda/internal/access"
)

// A Config is the contents of pmcd.conf.
type Config struct {
	Agents []Agent // in the order of the file, in which they start

	// Access has the rules of the access section. It is nil without that section.
	Access *Access

	// Limits has the limits section. It is zero without that section.
	Limits Limits

	// Warnings are faults that leave the rest of the file usable, for example access rules for
	// hosts without an address. Access does not contain those rules.
	Warnings []error
}

// Access has the rules of an access section. Nil allows everything. Several collectors may share an
// Access, which must not change while one uses it.
type Access = access.Rules

// A fault is the error for one fault in a configuration file. Its text names the place. For a
// misspelt word it also names a similar allowed word:
//
//	/etc/pcp/pmcd/pmcd.conf:3: expected `dso', `socket' or `pipe', not "pipo": similar word: pipe
type fault struct {
	file string // the file with the fault
	line int    // from 1; the first line of a continued one; 0 for no line

	extra   bool   // the fault is in the file with ".access" at the end of its name
	warning bool   // pmcd calls it a warning
	msg     string // the words of pmcd
	advice  string // what Error adds to the words of pmcd, or empty
	err     error  // the reason, or nil
}

// Error returns the file and line, the words of pmcd, advice against common mistakes, and the
// reason if there is one.
func (e *fault) Error() string {
	s := e.file
	if e.line > 0 {
		s += ":" + strconv.Itoa(e.line)
	}
	s += ": "
	if e.warning {
		s += "Warning: "
	}
	return s + e.msg + e.advice + e.reason()
}

// reason returns the reason in parentheses, or an empty string.
func (e *fault) reason() string {
	if e.err == nil {
		return ""
	}
	return " (" + e.err.Error() + ")"
}

// PMCDText returns the text of an error of Load or Parse as pmcd prints it, without the name of the
// file. It is for programs that replace pmcd:
//
//	pmcd config[line 3]: Error: expected `dso', `socket' or `pipe'
func PMCDText(err error) string {
	var lines []string
	switch e := err.(type) {
	case *fault:
		return e.pmcdText()
	case interface{ Unwrap() []error }:
		for _, err := range e.Unwrap() {
			lines = append(lines, PMCDText(err))
		}
		return strings.Join(lines, "\n")
	}
	return err.Error()
}

func (e *fault) pmcdText() string {
	s, severity := "pmcd config", "Error: "
	if e.extra {
		s = "access config"
	}
	if e.warning {
		severity = "Warning: "
	}
	if e.line > 0 {
		s += "[line " + strconv.Itoa(e.line) + "]: " + severity + e.msg
	} else {
		s += ": " + e.msg
	}
	return s + e.reason()
}

// Unwrap returns the reason, or nil.
func (e *fault) Unwrap() error { return e.err }

// Load reads a configuration file. If the file has no fault, Load also reads access rules from the
// file path.access, if it exists. Its errors are those of Parse, and of opening the files.
func Load(path string) (*Config, error) { return new(loader).load(path) }

// Parse reads the text of a configuration file; name is for errors. It looks up the names of ports,
// hosts and accounts in the system, with a limit of ten seconds for a host.
//
// The error joins all faults, each with its place. If all faults are in lines of agents, the Config
// has the other agents and the access section, so that a collector may start with those. After any
// other fault it is nil. C pmcd starts if the last agent's line has no fault, in some cases without
// access rules. A check or a reload should fail at any fault.
func Parse(name string, r io.Reader) (*Config, error) {
	return new(loader).parse(name, r)
}

// A loader looks up the names in configuration files. The zero value uses the system.
type loader struct {
	lookupPort func(network, service string) (int, error) // nil means net.LookupPort
	lookupHost func(name string) ([]netip.Addr, error)    // nil means the system's resolver
	hostname   func() (string, error)                     // nil means os.Hostname
	accounts   fs.FS                                      // nil means access.Accounts
}

func (l *loader) load(path string) (*Config, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p := l.newParser(path)
	p.parseFile(f)
	if p.errs != nil {
		return p.result()
	}
	if extra, err := os.Open(path + ".access"); err == nil {
		defer extra.Close()
		p.scan = scanner{access: true}
		p.name, p.extra = path+".access", true
		p.scan.open(extra)
		p.parseAccessSection()
	} else if !errors.Is(err, fs.ErrNotExist) {
		p.errs, p.fatal = append(p.errs, err), true
	}
	return p.result()
}

func (l *loader) parse(name string, r io.Reader) (*Config, error) {
	p := l.newParser(name)
	p.parseFile(r)
	return p.result()
}

func (l *loader) newParser(name string) *parser {
	p := &parser{loader: *l, name: name}
	if p.lookupPort == nil {
		p.lookupPort = net.LookupPort
	}
	if p.accounts == nil {
		p.accounts = access.Accounts
	}
	return p
}

// A parser reads one configuration.
type parser struct {
	loader
	name  string
	extra bool
	scan  scanner
	conf  Config
	errs  []error
	fatal bool // there was a fault outside the agents' lines
	ended bool // the fault that stopped the scanner has been reported
	names ruleNames
}

func (p *parser) result() (*Config, error) {
	err := errors.Join(p.errs...)
	if p.fatal {
		return nil, err
	}
	return &p.conf, err
}

func (p *parser) errorf(line int, format string, args ...any) {
	p.errs = append(p.errs, &fault{file: p.name, line: line, extra: p.extra, msg: fmt.Sprintf(format, args...)})
}

// advise adds advice to the latest fault. It does nothing after the scanner has stopped, because
// later faults are not reported.
func (p *parser) advise(format string, args ...any) {
	if p.scan.err != "" {
		return
	}
	if e, ok := p.errs[len(p.errs)-1].(*fault); ok {
		e.advice = fmt.Sprintf(format, args...)
	}
}

// adviseWords adds the found token, and the allowed word that it resembles most, to the latest
// fault.
func (p *parser) adviseWords(found token, allowed ...string) {
	if found.kind == tokenEnd {
		return
	}
	near := ""
	if words := wording.Similar(strings.ToLower(found.text), allowed); len(words) > 0 {
		near = ": similar word: " + words[0]
	}
	p.advise(", not %q%s", found.text, near)
}

// parseFile reads a configuration file to its end.
func (p *parser) parseFile(r io.Reader) {
	p.scan = scanner{}
	p.scan.open(r)
	for {
		if !p.scan.nextLine() {
			break
		}
		tok := p.scan.next()
		switch {
		case tok.kind == tokenEnd:
			continue
		case strings.HasPrefix(tok.text, "["):
			p.scan.access, p.scan.pos = true, tok.pos
			if p.parseAccessHeader() {
				p.parseAccessSection()
			}
			p.reportScanFault()
			return
		}
		p.parseAgent(tok)
		if p.reportScanFault() {
			break
		}
	}
	p.reportScanFault()
}

// reportScanFault reports whether a fault stopped the scanner. It adds that fault to the errors
// once.
func (p *parser) reportScanFault() bool {
	if p.scan.err == "" {
		return false
	}
	if p.ended {
		return true
	}
	p.ended, p.fatal = true, true
	p.errorf(p.scan.line, "%s", p.scan.err)
	if !p.scan.access {
		p.errorf(0, "Can't continue, giving up")
	}
	return true
}
