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
)

// A Config is the contents of a configuration file of pmcd, pmcd.conf.
type Config struct {
	Agents []Agent // in the order of the file, which is that of starting them

	// Access is the rules of the access section, nil if there is none.
	Access *Access

	// Limits are those of the section of that name; zero without one.
	Limits Limits

	// Warnings are faults that did not keep the rest from being used: access rules for
	// hosts that have no address, for example, which are not in Access.
	Warnings []*Error
}

// An Error is one fault in a configuration file. Its text names the place, and for a misspelt word
// the word that is allowed there:
//
//	/etc/pcp/pmcd/pmcd.conf:3: expected `dso', `socket' or `pipe', not "pipo": similar word: pipe
type Error struct {
	File    string // where the fault is
	Line    int    // from 1; first line of a continued one; 0 if none
	Extra   bool   // whether the fault is in the file with ".access" at the end of its name
	Warning bool   // whether pmcd calls it a warning
	Msg     string
	Err     error // the reason, or nil

	advice string // what Error adds to the words of pmcd, or empty
}

// Error returns the file and line, the words of pmcd, what helps against a common mistake, and the
// reason if there is one.
func (e *Error) Error() string {
	s := e.File
	if e.Line > 0 {
		s += ":" + strconv.Itoa(e.Line)
	}
	s += ": "
	if e.Warning {
		s += "Warning: "
	}
	return s + e.Msg + e.advice + e.reason()
}

// reason is the reason in parentheses, empty if there is none.
func (e *Error) reason() string {
	if e.Err == nil {
		return ""
	}
	return " (" + e.Err.Error() + ")"
}

// PMCDText is the text of an error of Load or Parse as pmcd prints it, which does not name
// the file, for programs that stand in for pmcd:
//
//	pmcd config[line 3]: Error: expected `dso', `socket' or `pipe'
func PMCDText(err error) string {
	var lines []string
	switch e := err.(type) {
	case *Error:
		return e.pmcdText()
	case interface{ Unwrap() []error }:
		for _, err := range e.Unwrap() {
			lines = append(lines, PMCDText(err))
		}
		return strings.Join(lines, "\n")
	}
	return err.Error()
}

func (e *Error) pmcdText() string {
	s, severity := "pmcd config", "Error: "
	if e.Extra {
		s = "access config"
	}
	if e.Warning {
		severity = "Warning: "
	}
	if e.Line > 0 {
		s += "[line " + strconv.Itoa(e.Line) + "]: " + severity + e.Msg
	} else {
		s += ": " + e.Msg
	}
	return s + e.reason()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// A Loader reads configuration files. The zero value looks up the names of ports,
// hosts and accounts in the system. Names are resolved while a file is read, never
// later.
type Loader struct {
	// LookupPort finds the number of a port; nil means net.LookupPort.
	LookupPort func(network, service string) (int, error)
	// LookupHost finds the addresses of a host; nil means the system's resolver,
	// with a limit of ten seconds.
	LookupHost func(name string) ([]netip.Addr, error)
	// Hostname returns the name of this host; nil means os.Hostname.
	Hostname func() (string, error)
	// Accounts is the directory with the files "passwd" and "group"; nil means /etc.
	Accounts fs.FS
}

// Load is the method Load of a zero Loader.
func Load(path string) (*Config, error) { return new(Loader).Load(path) }

// Parse is the method Parse of a zero Loader.
func Parse(name string, r io.Reader) (*Config, error) {
	return new(Loader).Parse(name, r)
}

// Load reads a configuration file. If it has no fault, Load also reads access rules
// from the file of the same name with ".access" at its end, if there is one. Its
// errors are those of Parse, and of opening the files.
func (l *Loader) Load(path string) (*Config, error) {
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

// Parse reads the text of a configuration file; name is for errors.
//
// All faults are reported, each as an *Error; errors.Join joins them. If all of them
// are in lines of agents, the Config has the other agents and the access section, so
// that a collector may start with those; otherwise it is nil. (pmcd itself starts if
// the last agent's line has no fault, and without access rules in some cases. A check
// or a reload should fail at any fault.)
func (l *Loader) Parse(name string, r io.Reader) (*Config, error) {
	p := l.newParser(name)
	p.parseFile(r)
	return p.result()
}

func (l *Loader) newParser(name string) *parser {
	p := &parser{Loader: *l, name: name}
	if p.LookupPort == nil {
		p.LookupPort = net.LookupPort
	}
	if p.Accounts == nil {
		p.Accounts = os.DirFS("/etc")
	}
	return p
}

// A parser reads one configuration.
type parser struct {
	Loader
	name  string
	extra bool
	scan  scanner
	conf  Config
	errs  []error
	fatal bool // there was a fault that is not in an agent's line
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
	p.errs = append(p.errs, &Error{File: p.name, Line: line, Extra: p.extra, Msg: fmt.Sprintf(format, args...)})
}

// advise adds advice to the fault that has been reported last. A scanner that has stopped kept it
// from being reported.
func (p *parser) advise(format string, args ...any) {
	if p.scan.err != "" {
		return
	}
	if e, ok := p.errs[len(p.errs)-1].(*Error); ok {
		e.advice = fmt.Sprintf(format, args...)
	}
}

// adviseWords adds the token that was found, and those of the allowed words that it resembles, to
// the fault that has been reported last.
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

// reportScanFault reports the fault that stopped the scanner, once, and whether there is
// one.
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
