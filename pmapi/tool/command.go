package tool

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/pcp-go/pcp/internal/getopt"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmns"
)

// Version is that of the PCP whose tools these are like.
const Version = "6.0.3"

// A Command is a tool's command line. The fields up to Counters say what the tool takes, and Parse fills the others in.
type Command struct {
	Name     string // in messages
	Synopsis string // what follows the name in the first line of the usage message
	Options  []getopt.Option
	InOrder  bool // the first operand ends the options: operands may be negative numbers
	ZoneNote bool // -z and -Z are said on standard output
	LateHost bool // the source may come after the options, so that -z needs none
	HighRes  bool // complaints about -t name pmParseHighResInterval(3)

	Counters *pdu.Counters // if not nil, count the PDUs of Dial's contexts

	Host     string        // of -h, empty without
	HostSet  bool          // there was one
	Names    *pmns.Tree    // of -n or -N, nil without
	Samples  int           // of -s, -1 without
	Interval time.Duration // of -t, 0 without
	Zone     string        // of -Z
	ZoneSet  bool          // there was one
	HostZone bool          // -z
	Debug    []string      // names of -D

	Location *time.Location // set by Start: the zone in which the tool prints times
	Begin    time.Time      // set by Start: now
	End      time.Time      // set by Start: when -T ends the tool, zero without

	finish    string // of -T
	finishSet bool   // there was one

	said     []byte
	usage    bool // an error is one of usage
	failed   bool // one is not, and so the usage message would not help
	exit     bool // all is said: -V
	loaded   bool // a name space was, if only to be found wrong
	archives int
	origin   bool // an option of the time window that needs an archive
	local    bool
	guimode  bool
	guiport  bool
	refused  string // what is not supported of what was asked for
}

// Heading starts a part of the usage message.
func Heading(text string) []getopt.Option { return []getopt.Option{{Heading: text}} }

// Parse takes what the environment and the arguments say, and returns the operands. It ends the program if there is an
// error, or nothing left to do.
func (c *Command) Parse(args []string) (operands []string) {
	operands, status := c.parse(args, os.LookupEnv)
	deliver(c.Name, c.said)
	if status >= 0 {
		os.Exit(status)
	}
	return operands
}

// parse is Parse, and leaves in said what is to be said. The status is less than zero if the tool is to go on.
func (c *Command) parse(args []string, getenv func(string) (string, bool)) (operands []string, status int) {
	c.Samples = -1
	c.environment(getenv)
	set := c.set()
	_, set.InOrder = getenv("POSIXLY_CORRECT")
	set.InOrder = set.InOrder || c.InOrder
	operands, errs := set.Parse(args)
	for _, err := range errs {
		c.take(err)
	}
	c.consider()
	return operands, c.report()
}

func (c *Command) set() *getopt.Set {
	return &getopt.Set{Program: c.Name, Synopsis: c.Synopsis, Options: c.Options}
}

// A complaint is an error in the words, capitals and newlines of PCP's tools.
type complaint string

func (c complaint) Error() string { return string(c) }

// A notice is an error that is no complaint about the command line. It is printed as it stands.
type notice struct{ text string }

func (n notice) Error() string { return n.text }

// take notes an error. Those of standard options have been said when they were met, with others in between.
func (c *Command) take(err error) {
	if err == nil {
		return
	}
	if n, ok := errors.AsType[notice](err); ok {
		c.say("%s", n.text)
		return
	}
	c.usage = true
	if !errors.Is(err, getopt.ErrUsage) {
		c.say("%s: %v\n", c.Name, err)
	}
}

// consider looks at what the options say together.
func (c *Command) consider() {
	if c.HostZone && !c.HostSet && c.archives == 0 && !c.LateHost && !c.origin {
		c.take(errors.New("use of timezone from metric source requires a source"))
	}
	if c.origin && (c.HostSet || c.local) && c.archives == 0 {
		c.take(errors.New("time window options are supported for archives only"))
	}
	if c.origin {
		c.refuse("archives") // without a source the tools look for one of this host
	}
}

// report says what there is to say. The status is less than zero if the tool is to go on.
func (c *Command) report() int {
	status := 1
	switch {
	case c.exit:
		status = 0
	case c.failed:
	case c.usage:
		c.say("%s", c.set().Usage())
	case c.refused != "":
		c.say("%s: %s not supported by this version\n", c.Name, c.refused)
	default:
		status = -1
	}
	return status
}

func (c *Command) say(format string, args ...any) { c.said = fmt.Appendf(c.said, format, args...) }

// refuse notes that the command line asks for what we lack. Only the first is said.
func (c *Command) refuse(what string) {
	if c.refused == "" {
		c.refused = what + " are"
	}
}

// Usage ends the program with a complaint, which is printed as it stands, and the usage message.
func (c *Command) Usage(format string, args ...any) {
	deliver(c.Name, []byte(fmt.Sprintf(format, args...)+c.set().Usage()))
	os.Exit(1)
}

// Fatal ends the program with a message and status 1.
func (c *Command) Fatal(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s: %s\n", c.Name, fmt.Sprintf(format, args...))
	os.Exit(1)
}
