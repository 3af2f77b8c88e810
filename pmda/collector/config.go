package collector

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/pdu"
)

// A Config is what a configuration file of pmcd, pmcd.conf, says.
type Config struct {
	Agents []AgentConfig // in the order of the file, which is that of starting them

	// Access is the access section, nil if there is none.
	Access *Access

	// Warnings are what was found wrong and did no harm: access rules for hosts
	// that have no address, say, which are not in Access.
	Warnings []*ConfigError
}

// An AgentKind is how a collector reaches an agent.
type AgentKind int

// The kinds of agents. pmcd.agent.type shows them.
const (
	KindDSO    AgentKind = iota // in the collector's process
	KindSocket                  // through a socket on which the agent listens
	KindPipe                    // as a child, through its standard input and output
)

// String is the word of configuration files.
func (k AgentKind) String() string {
	switch k {
	case KindDSO:
		return "dso"
	case KindSocket:
		return "socket"
	case KindPipe:
		return "pipe"
	}
	return "AgentKind(" + strconv.Itoa(int(k)) + ")"
}

// An AgentConfig is a line for an agent:
//
//	NAME DOMAIN dso    ENTRY PATH
//	NAME DOMAIN socket inet|ipv6|unix ADDRESS [ARGV...]
//	NAME DOMAIN pipe   binary [notready] ARGV...
type AgentConfig struct {
	Name   string
	Domain pdu.Domain
	Kind   AgentKind

	Entry string // of KindDSO: the entry point, "simple_init"
	Path  string // of KindDSO: the absolute path of the shared object

	Network string // of KindSocket: "inet", "ipv6" or "unix"
	Address string // of KindSocket: the port on this host, by number or name, or the path
	Port    int    // of "inet" and "ipv6": the number of the port

	NotReady bool     // of KindPipe: requests must wait until the agent says that it is ready
	Argv     []string // the command that starts it; a socket agent may have none

	Line int // in the file, from 1
}

// Equal reports whether an agent that runs as b says can go on running when the
// configuration says a: all but the name and the line is the same.
func (a AgentConfig) Equal(b AgentConfig) bool {
	same := a.Domain == b.Domain && a.Kind == b.Kind && slices.Equal(a.Argv, b.Argv)
	switch a.Kind {
	case KindDSO:
		return same && a.Entry == b.Entry && a.Path == b.Path
	case KindSocket:
		return same && a.Network == b.Network && (a.Address == b.Address || a.Port != 0 && a.Port == b.Port)
	}
	return same && a.NotReady == b.NotReady
}

// Command is Argv as the log of pmcd has it: an argument with a blank in
// quotes, and a quote after a backslash.
func (a AgentConfig) Command() string {
	var b strings.Builder
	for i, arg := range a.Argv {
		if i > 0 {
			b.WriteByte(' ')
		}
		arg = strings.ReplaceAll(arg, `"`, `\"`)
		if strings.ContainsAny(arg, " \t") {
			arg = `"` + arg + `"`
		}
		b.WriteString(arg)
	}
	return b.String()
}

// String is a line of a configuration file that says the same.
func (a AgentConfig) String() string {
	words := []string{a.Name, strconv.Itoa(int(a.Domain)), a.Kind.String()}
	switch a.Kind {
	case KindDSO:
		words = append(words, a.Entry, a.Path)
	case KindSocket:
		words = append(words, a.Network, a.Address)
	case KindPipe:
		words = append(words, "binary")
		if a.NotReady {
			words = append(words, "notready")
		}
	}
	var b strings.Builder
	for _, w := range append(words, a.Argv...) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(quoteWord(w))
	}
	if s := b.String(); strings.HasSuffix(s, `\`) {
		b.WriteByte(' ') // or the next line would join this one
	}
	return b.String()
}

// A ConfigError is one fault in a configuration. Its text is pmcd's:
//
//	pmcd config[line 3]: Error: expected `dso', `socket' or `pipe'
type ConfigError struct {
	File    string // where the fault is
	Line    int    // from 1, of a line that goes on in others the first; 0 if it is none's
	Extra   bool   // in the file of access rules beside the configuration
	Warning bool   // pmcd calls it a warning
	Msg     string
	Err     error // more of the reason, or nil
}

// Error is pmcd's text, and the reason if there is one.
func (e *ConfigError) Error() string {
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
func (e *ConfigError) Unwrap() error { return e.Err }

// A ConfigLoader reads configurations. The zero value asks the system for what
// names stand for: ports, hosts and accounts. All of it is asked while reading
// and never again.
type ConfigLoader struct {
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

// LoadConfig is the Load of a zero ConfigLoader.
func LoadConfig(path string) (*Config, error) { return new(ConfigLoader).Load(path) }

// ParseConfig is the Parse of a zero ConfigLoader.
func ParseConfig(name string, r io.Reader) (*Config, error) {
	return new(ConfigLoader).Parse(name, r)
}

// Load reads a configuration file, and further access rules from the file with
// ".access" after its name if there is one and the first has no fault. For
// errors see Parse.
func (l *ConfigLoader) Load(path string) (*Config, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p := l.parser(path)
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
// All faults are reported, as ConfigErrors that errors.Join has joined. When
// they are in agents' lines alone the Config has the other agents and all of the
// access section, so that a collector may start with those; otherwise it is nil.
// (pmcd itself starts if the last agent's line has no fault, and without access
// rules in some cases. Any fault should fail a check and a reload.)
func (l *ConfigLoader) Parse(name string, r io.Reader) (*Config, error) {
	p := l.parser(name)
	p.file(r)
	return p.result()
}

func (l *ConfigLoader) parser(name string) *configParser {
	p := &configParser{ConfigLoader: *l, name: name}
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

// A configParser reads one configuration.
type configParser struct {
	ConfigLoader
	name  string
	extra bool
	scan  scanner
	conf  Config
	errs  []error
	fatal bool // a fault that is not in an agent's line
	ended bool // the scanner's fault has been reported
	names accessNames
}

func (p *configParser) result() (*Config, error) {
	err := errors.Join(p.errs...)
	if p.fatal {
		return nil, err
	}
	return &p.conf, err
}

func (p *configParser) errorf(line int, format string, args ...any) {
	p.errs = append(p.errs, &ConfigError{File: p.name, Line: line, Extra: p.extra, Msg: fmt.Sprintf(format, args...)})
}

// file reads a configuration file to its end.
func (p *configParser) file(r io.Reader) {
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
func (p *configParser) scanFault() bool {
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
