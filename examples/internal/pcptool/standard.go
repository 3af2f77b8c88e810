package pcptool

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/internal/pmcpp"
	"github.com/pcp-go/pcp/internal/pmlog"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/tool"
	"github.com/pcp-go/pcp/pmns"
)

// A standardOption is an option that means the same to all tools. Variables of the environment may
// give it too, even to tools that do not have it on the command line.
type standardOption struct {
	short           byte
	long, arg, help string
	set             func(c *Command, value string) error
	env             []string
}

// standardOptions are all standard options.
func standardOptions() []standardOption {
	return []standardOption{
		{'A', "align", "TIME", "align sample times on natural boundaries", (*Command).setAlign, []string{"PCP_ALIGN_TIME"}},
		{'a', "archive", "FILE", "metrics source is a PCP log archive", (*Command).setArchive, []string{"PCP_ARCHIVE"}},
		{0, "archive-list", "FILES", "comma-separated list of metric source archives", (*Command).setArchiveList, []string{"PCP_ARCHIVE_LIST"}},
		{0, "archive-folio", "FILE", "read metric source archives from a folio", (*Command).setFolio, []string{"PCP_FOLIO"}},
		{'D', "debug", "DBG", "", (*Command).setDebug, []string{"PCP_DEBUG"}},
		{'g', "guimode", "", "start in GUI mode with new time control", (*Command).setGUIMode, []string{"PCP_GUIMODE"}},
		{'h', "host", "HOST", "metrics source is PMCD on host", (*Command).setHost, []string{"PCP_HOST"}},
		{0, "host-list", "HOSTS", "comma-separated list of metric source hosts", (*Command).setHostList, []string{"PCP_HOST_LIST"}},
		{'H', "hostsfile", "FILE", "read metric source hosts from a file", (*Command).setHostsFile, nil},
		{'K', "spec-local", "SPEC", "optional additional PMDA spec for local connection", (*Command).setSpecLocal, []string{"PCP_SPECLOCAL"}},
		{'L', "local-PMDA", "", "metrics source is local connection to a PMDA", (*Command).setLocal, []string{"PCP_LOCALMODE", "PCP_LOCALPMDA"}},
		{'n', "namespace", "FILE", "use an alternative PMNS", (*Command).setNamespace, []string{"PCP_NAMESPACE"}},
		{'N', "uniqnames", "FILE", "like -n but only one name allowed for each PMID", (*Command).setUniqnames, []string{"PCP_UNIQNAMES"}},
		{'O', "origin", "TIME", "initial sample time within the time window", (*Command).setOrigin, []string{"PCP_ORIGIN", "PCP_ORIGIN_TIME"}},
		{'p', "guiport", "N", "port for connection to existing time control", (*Command).setGUIPort, []string{"PCP_GUIPORT"}},
		{'S', "start", "TIME", "start of the time window", (*Command).setStart, []string{"PCP_START_TIME"}},
		{'s', "samples", "N", "terminate after this many samples", (*Command).setSamples, []string{"PCP_SAMPLES"}},
		{'T', "finish", "TIME", "end of the time window", (*Command).setFinish, []string{"PCP_FINISH_TIME"}},
		{'t', "interval", "DELTA", "sampling interval", (*Command).setInterval, []string{"PCP_INTERVAL"}},
		{'Z', "timezone", "TZ", "set reporting timezone", (*Command).setZone, []string{"PCP_TIMEZONE"}},
		{'z', "hostzone", "", "set reporting timezone to local time of metrics source", (*Command).setHostZone, []string{"PCP_HOSTZONE"}},
		{0, "container", "NAME", "specify an individual container to be queried", (*Command).setContainer, nil},
		{0, "derived", "FILE", "load derived metric definitions from FILE(s)", (*Command).setDerived, nil},
		{'V', "version", "", "display version number and exit", (*Command).setVersion, nil},
		{'?', "help", "", "show this usage message and exit", func(*Command, string) error { return tool.ErrUsage }, nil},
	}
}

// Standard returns standard options by their long names, in the order given. The names are
//
//	align archive archive-folio archive-list container debug derived finish guimode guiport help
//	host host-list hostsfile hostzone interval local-PMDA namespace origin samples spec-local
//	start timezone uniqnames version
//
// Other names panic.
func (c *Command) Standard(names ...string) []tool.Option {
	var options []tool.Option
	all := standardOptions()
	for _, name := range names {
		i := slices.IndexFunc(all, func(o standardOption) bool { return o.long == name })
		if i < 0 {
			panic("tool: no standard option " + name)
		}
		o := all[i]
		options = append(options, tool.Option{Short: o.short, Long: o.long, Arg: o.arg, Help: o.help,
			Set: func(value string) error { return o.set(c, value) }})
	}
	return options
}

// parseEnvironment sets the standard options that the environment, of NAME=VALUE, gives, in its
// order: of PCP_ORIGIN and PCP_ORIGIN_TIME the last one counts. A variable without a value gives an
// option, too.
func (c *Command) parseEnvironment(env []string) {
	options := standardOptions()
	for _, variable := range env {
		name, value, _ := strings.Cut(variable, "=")
		i := slices.IndexFunc(options, func(o standardOption) bool { return slices.Contains(o.env, name) })
		if i < 0 {
			continue
		}
		if name == "PCP_DEBUG" {
			if _, ok := pmlog.ParseDebug(value); !ok {
				fmt.Fprintf(c.stderr(), "Error: $PCP_DEBUG=%s is not valid, ignored\n", value)
			}
		}
		c.addError(options[i].set(c, value))
		if name == "PCP_SAMPLES" && c.Samples == 0 {
			c.Samples = -1 // as without the variable; -s 0 are no samples
		}
	}
}

func (c *Command) setContainer(name string) error {
	c.given.container = name
	return nil
}

func (c *Command) setGUIMode(string) error {
	c.given.guiMode = true
	return c.checkTimeControl('g')
}

// setGUIPort sets the port of a time control server. Like the C library, it ignores an invalid
// port.
func (c *Command) setGUIPort(value string) error {
	var n int
	if tool.Number(&n, 1, "")(value) == nil {
		c.given.guiPort = min(n, math.MaxInt32)
	}
	return c.checkTimeControl('p')
}

// checkTimeControl refuses time control to a tool that has the option, but does not follow it.
// Others ignore what the environment says of it.
func (c *Command) checkTimeControl(letter byte) error {
	if c.hasLetter(letter) && !c.TimeControlled {
		c.addUnsupported("time controls")
	}
	if c.given.guiMode && c.given.guiPort != 0 {
		return errors.New("at most one of -g and -p allowed")
	}
	return nil
}

func (c *Command) setDebug(value string) error {
	names, ok := pmlog.ParseDebug(value)
	if !ok {
		return fmt.Errorf("unrecognized debug options specification (%s)", value)
	}
	c.Debug = append(c.Debug, names...)
	return nil
}

func (c *Command) setNamespace(value string) error { return c.loadNames(value, false) }

func (c *Command) setUniqnames(value string) error { return c.loadNames(value, true) }

// Names is the name space of -n or -N, also of the environment; nil without. Dial gives it to its
// contexts.
func (c *Command) Names() *pmns.Tree { return c.given.names }

// loadNames reads a name space file. Its errors are printed without the usage message.
func (c *Command) loadNames(file string, unique bool) error {
	report, err := "", error(pdu.ErrDupPMNS)
	if !c.given.namesLoaded {
		c.given.names, err = readNames(file, unique)
	}
	if err == nil {
		c.given.namesLoaded = true
		return nil
	}
	if err != error(pdu.ErrDupPMNS) {
		report = namesReport(file, err)
	}
	if p, ok := errors.AsType[*pmns.ParseError](err); ok {
		c.given.namesLoaded = p.Line == 0 && p.Text == "" // the C library keeps what it could read
	}
	c.given.runtimeError = err
	return plainMessage(fmt.Sprintf("%s%s: Cannot load namespace from \"%s\": %v\n", report, c.Name, file, pdu.FromError(err)))
}

// namesReport is what the C library prints of a name space file that cannot be loaded.
func namesReport(file string, err error) string {
	p, ok := errors.AsType[*pmns.ParseError](err)
	switch {
	case !ok:
		return fmt.Sprintf("Error Parsing ASCII PMNS: Cannot open \"%s\"\n", file)
	case p.Preprocessor:
		return fmt.Sprintf("pmcpp: %s[%d]: %s\npmcpp: Error: %s\nError Parsing ASCII PMNS: pmcpp returned non-zero exit status\n",
			p.File, p.Line, p.Text, p.Msg)
	case p.Msg == pmcpp.BadLineMarker: // the C library is at the line before when it reads such a one
		before := pmns.ParseError{File: p.File, Msg: p.Msg}
		if p.Line > 1 {
			before.Line, before.Text = p.Line-1, strings.TrimLeft(p.Text, " \t")
		}
		return before.Error() + "\n"
	case strings.HasPrefix(p.Msg, "Duplicate metric id"):
		return p.Error() + "\n\n"
	}
	return p.Error() + "\n"
}

// readNames loads a name space.
func readNames(file string, unique bool) (*pmns.Tree, error) {
	if file == "" { // the default name space to a Loader
		return nil, fs.ErrNotExist
	}
	l := pmns.Loader{Unique: unique}
	return l.Load(file)
}

func (c *Command) setSamples(value string) error {
	const message = "-s requires a positive numeric argument"
	var n int
	if err := tool.Number(&n, 0, message)(value); err != nil || n > math.MaxInt32 {
		return errors.New(message)
	}
	c.Samples = n
	return nil
}

var errZones = errors.New("at most one of -Z and -z allowed")

func (c *Command) setZone(value string) error {
	if c.given.hostZone {
		return errZones
	}
	c.given.zone, c.given.zoneSet, c.ZoneGiven = value, true, true
	return nil
}

func (c *Command) setHostZone(string) error {
	if c.given.zoneSet {
		return errZones
	}
	c.given.hostZone, c.ZoneGiven = true, true
	return nil
}

func (c *Command) setVersion(string) error {
	c.given.versionPrinted = true
	return plainMessage(fmt.Sprintf("%s version %s\n", c.Name, cmp.Or(c.Version, PCPVersion)))
}
