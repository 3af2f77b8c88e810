package pcptool

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/pcp-go/pcp/examples/internal/hint"
	"github.com/pcp-go/pcp/internal/build"
	"github.com/pcp-go/pcp/internal/getopt"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/tool"
	"github.com/pcp-go/pcp/pmns"
)

// PCPVersion is the version of PCP whose options and messages this package has.
const PCPVersion = build.PCP

// A Command is the command line of a tool. Its first fields are its name, the options that it
// accepts, and settings, which its author sets before Parse; the others are what the environment
// and the command line gave. The counterpart of pmOptions in C.
type Command struct {
	Name     string        // of the tool, in messages
	Synopsis string        // what follows the name in the first line of the usage message
	Options  []tool.Option // in the order of the usage message; AddOptions adds to them
	Version  string        // that -V prints; empty means PCPVersion

	// InOrder makes the first operand end the options, so that operands may be negative numbers.
	// The environment's POSIXLY_CORRECT does the same.
	InOrder bool
	// OperandSource allows -z, -S and -A without a source, since an operand may name that; see
	// MetricSpec.
	OperandSource bool
	// AnyWindow allows -z, -S, -A and -O with any source, and without one, as pmrep does: a time
	// window of a collector begins now.
	AnyWindow bool
	// OperandArchive is for tools that read archives without a context. Their source is an archive
	// of the environment or of an operand, and SetArchiveTimes is their SetTimes.
	OperandArchive bool
	// NoEnvironment makes Parse ignore the options of the environment.
	NoEnvironment bool
	// Multi allows several hosts or several archives.
	Multi bool
	// ZoneNote makes SetTimes print, on Stdout, which zone -z or -Z has set.
	ZoneNote bool
	// OriginOnly makes SetTimes ignore the end of an archive unless there are options of a time
	// window. It is for tools that print the values of one time.
	OriginOnly bool
	// TrimNames removes from the name space of -n or -N the names that the archive lacks, as pminfo
	// does.
	TrimNames bool
	// HighRes makes errors of -t name pmParseHighResInterval(3), as those of pmval do, and not
	// pmParseInterval(3).
	HighRes bool
	// TimeControlled says that the tool follows a time control server, with TimeControl. Without
	// it, -g and -p are errors.
	TimeControlled bool
	// Local are the agents of local contexts, for tools with -L and -K or with operands "@:metric";
	// without, these are errors.
	Local LocalAgents
	// LocalError begins the message about a local context that cannot be opened; empty means that
	// of pminfo.
	LocalError string
	// Stdout receives the note of SetTimes, and Stderr the messages of Report and Dial; nil means
	// os.Stdout and os.Stderr.
	Stdout, Stderr io.Writer

	// Set by Parse.
	Samples     int           // of -s; -1 without
	Interval    time.Duration // of -t; 0 without
	StartGiven  bool          // -S was given
	FinishGiven bool          // -T was given
	AlignGiven  bool          // -A was given
	ZoneGiven   bool          // -z or -Z was given
	Debug       []string      // names of debug options of -D, see pmdbg(1); pdu logs to Stderr

	// Set by SetTimes.
	Location *time.Location // in which the tool prints times: -Z, -z, or that of the environment
	Begin    time.Time      // of the time window, of -S; that of a live source begins now
	End      time.Time      // of the time window, of -T; zero for a live source without
	Origin   time.Time      // of the first sample, of -O; Begin without

	given  given
	opened string // the archive that OpenSource opened
}

// given is what the environment and the command line gave, as far as tools need not know it.
type given struct {
	hosts, archives   []string
	local             bool
	container         string
	names             *pmns.Tree // of -n or -N
	derived           *pmapi.Derived
	namesLoaded       bool   // there was a name space file, perhaps a wrong one
	zone              string // of -Z
	zoneSet, hostZone bool
	// Arguments of -S, -T, -A and -O; nil without.
	start, finish, align, origin *string
	guiMode                      bool
	guiPort                      int    // 0 without
	messages                     []byte // about errors, in their order
	usageError                   bool   // the usage message is printed after the messages
	runtimeError                 error  // an error that the usage message would not help with
	versionPrinted               bool
	unsupported                  string // the first of what was requested and is not supported
	hint                         string // about the first error that has advice
}

// Parse parses the options that the environment and the arguments give, and returns the operands.
// The tool's name is not among the arguments. In the environment PCP_HOST, PCP_INTERVAL and others
// stand for standard options, also those that the tool does not have on its command line. The error
// is an *ExitError, also after -V and -?. The counterpart of pmGetOptions(3).
func (c *Command) Parse(args []string) (operands []string, err error) {
	return c.parse(args, os.Environ())
}

// parse is Parse in an environment of NAME=VALUE.
func (c *Command) parse(args, env []string) (operands []string, err error) {
	c.Samples, c.Interval, c.StartGiven, c.FinishGiven, c.AlignGiven, c.ZoneGiven, c.Debug, c.given = -1, 0, false, false, false, false, nil, given{}
	if !c.NoEnvironment {
		c.parseEnvironment(env)
	}
	parser := c.parser()
	if slices.ContainsFunc(env, func(variable string) bool { return strings.HasPrefix(variable, "POSIXLY_CORRECT=") }) {
		parser.InOrder = true
	}
	operands, errs := parser.Parse(args)
	for _, err := range errs {
		c.addError(err)
	}
	if c.given.versionPrinted && build.Asked(args) { // "-V" prints the line of PCP alone
		c.addMessage("%s", build.Text(c.Name))
	}
	c.checkCombinations()
	return operands, c.parseError()
}

// A plainMessage is an error whose text is printed as it stands, without the usage message.
type plainMessage string

func (m plainMessage) Error() string { return string(m) }

// addError adds the message of an error to those of the command line.
func (c *Command) addError(err error) {
	if err == nil {
		return
	}
	if m, ok := errors.AsType[plainMessage](err); ok {
		c.addMessage("%s", string(m))
		return
	}
	if errors.Is(err, getopt.ErrVersion) {
		c.given.versionPrinted = true
		return
	}
	c.given.usageError = true
	if c.given.hint == "" {
		c.given.hint = hint.Of(err)
	}
	if !errors.Is(err, tool.ErrUsage) {
		c.addMessage("%s: %v\n", c.Name, err)
	}
}

func (c *Command) addMessage(format string, args ...any) {
	c.given.messages = fmt.Appendf(c.given.messages, format, args...)
}

// addUnsupported notes that the command line requests what is not supported. Only the first is
// reported.
func (c *Command) addUnsupported(what string) {
	if c.given.unsupported == "" {
		c.given.unsupported = what
	}
}

// checkCombinations looks for options that do not go together.
func (c *Command) checkCombinations() {
	g := &c.given
	source := len(g.hosts) > 0 || len(g.archives) > 0
	if g.hostZone && !c.AnyWindow && (g.local || !source && !c.OperandSource && g.origin == nil) {
		c.addError(errors.New("use of timezone from metric source requires a source"))
	}
	switch {
	case g.local && !c.OperandArchive && !c.AnyWindow && (g.origin != nil || g.start != nil || g.align != nil):
		c.addError(errWindow)
	case len(g.archives) > 0, c.OperandArchive:
	case g.origin != nil && !source:
		c.addError(c.setLocalArchives())
	case c.OperandSource && !source: // MetricSpec checks it
	case c.AnyWindow:
	case g.origin != nil || g.start != nil || g.align != nil:
		c.addError(errWindow)
	}
}

var errWindow = errors.New("time window options are supported for archives only")

// parseError is the error of the whole command line, nil if the tool can go on.
func (c *Command) parseError() error {
	g := &c.given
	e := &ExitError{Status: 1, redirected: true, hint: func() string { return g.hint }}
	switch {
	case g.versionPrinted:
		e.Status = 0
	case g.runtimeError != nil:
		e.Err = g.runtimeError
	case g.usageError:
		c.addMessage("%s", c.Usage())
		e.Err = tool.ErrUsage
	case g.unsupported != "":
		c.addMessage("%v\n", c.unsupportedError(g.unsupported))
		e.Err = errors.ErrUnsupported
	default:
		return nil
	}
	e.Message = string(g.messages)
	return e
}

// unsupportedError returns the error of a request for an unsupported feature.
func (c *Command) unsupportedError(what string) error {
	return &ExitError{Status: 1, Message: fmt.Sprintf("%s: %s are not supported by this version\n", c.Name, what), Err: errors.ErrUnsupported}
}
