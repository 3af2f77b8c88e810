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
)

// A Config is what a configuration file of pmcd, pmcd.conf, says.
type Config struct {
	Agents []Agent // in the order of the file, which is that of starting them

	// Access is the access section, nil if there is none.
	Access *Access

	// Warnings are what was found wrong and did no harm: access rules for hosts
	// that have no address, say, which are not in Access.
	Warnings []*Error
}

// An Error is one fault in a configuration. Its text is pmcd's:
//
//	pmcd config[line 3]: Error: expected `dso', `socket' or `pipe'
type Error struct {
	File    string // where the fault is
	Line    int    // from 1, of a line that goes on in others the first; 0 if it is none's
	Extra   bool   // in the file of access rules beside the configuration
	Warning bool   // pmcd calls it a warning
	Msg     string
	Err     error // more of the reason, or nil
}

// Error is pmcd's text, and the reason if there is one.
func (e *Error) Error() string {
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
	if e.Err != nil {
		s += " (" + e.Err.Error() + ")"
	}
	return s
}

// Unwrap is Err.
func (e *Error) Unwrap() error { return e.Err }

// A Loader reads configurations. The zero value asks the system for what
// names stand for: ports, hosts and accounts. All of it is asked while reading
// and never again.
type Loader struct {
	// LookupPort finds the number of a port; nil means net.LookupPort.
	LookupPort func(network, service string) (int, error)
	// LookupHost finds the addresses of a host; nil means the system's resolver,
	// which gets ten seconds.
	LookupHost func(name string) ([]netip.Addr, error)
	// Hostname is the name of this host; nil means os.Hostname.
	Hostname func() (string, error)
	// Accounts has the files "passwd" and "group"; nil means /etc.
	Accounts fs.FS
}

// Load is the Load of a zero Loader.
func Load(path string) (*Config, error) { return new(Loader).Load(path) }

// Parse is the Parse of a zero Loader.
func Parse(name string, r io.Reader) (*Config, error) {
	return new(Loader).Parse(name, r)
}

// Load reads a configuration file, and further access rules from the file with
// ".access" after its name if there is one and the first has no fault. For
// errors see Parse.
func (l *Loader) Load(path string) (*Config, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p := l.newParser(path)
	p.file(f)
	if p.errs != nil {
		return p.result()
	}
	if extra, err := os.Open(path + ".access"); err == nil {
		defer extra.Close()
		p.scan = scanner{access: true}
		p.name, p.extra = path+".access", true
		p.scan.open(extra)
		p.accessSection()
	} else if !errors.Is(err, fs.ErrNotExist) {
		p.errs, p.fatal = append(p.errs, err), true
	}
	return p.result()
}

// Parse reads the text of a configuration file; name is for errors.
//
// All faults are reported, as Errors that errors.Join has joined. When
// they are in agents' lines alone the Config has the other agents and all of the
// access section, so that a collector may start with those; otherwise it is nil.
// (pmcd itself starts if the last agent's line has no fault, and without access
// rules in some cases. Any fault should fail a check and a reload.)
func (l *Loader) Parse(name string, r io.Reader) (*Config, error) {
	p := l.newParser(name)
	p.file(r)
	return p.result()
}

func (l *Loader) newParser(name string) *parser {
	p := &parser{Loader: *l, name: name}
	if p.LookupPort == nil {
		p.LookupPort = net.LookupPort
	}
	if p.LookupHost == nil {
		p.LookupHost = lookupHost
	}
	if p.Hostname == nil {
		p.Hostname = os.Hostname
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
	fatal bool // a fault that is not in an agent's line
	ended bool // the scanner's fault has been reported
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

// file reads a configuration file to its end.
func (p *parser) file(r io.Reader) {
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
			if p.accessHeader() {
				p.accessSection()
			}
			p.scanFault()
			return
		}
		p.agentLine(tok)
		if p.scanFault() {
			break
		}
	}
	p.scanFault()
}

// scanFault reports what stopped the scanner, once.
func (p *parser) scanFault() bool {
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
