package tool

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/internal/getopt"
	"github.com/pcp-go/pcp/internal/pmlog"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmns"
)

// A standardOption is one that means the same to all tools, and perhaps a variable of the environment that gives it to
// those, too, that do not have it on the command line.
type standardOption struct {
	short           byte
	long, arg, help string
	set             func(c *Command, value string) error
	env             []string
}

// standardOptions are in the order in which the environment is looked at.
func standardOptions() []standardOption {
	return []standardOption{
		{'A', "align", "TIME", "align sample times on natural boundaries", (*Command).setOrigin, []string{"PCP_ALIGN_TIME"}},
		{'a', "archive", "FILE", "metrics source is a PCP log archive", (*Command).setArchive, []string{"PCP_ARCHIVE", "PCP_ARCHIVE_LIST", "PCP_FOLIO"}},
		{'D', "debug", "DBG", "", (*Command).setDebug, []string{"PCP_DEBUG"}},
		{'g', "guimode", "", "start in GUI mode with new time control", (*Command).setGUIMode, []string{"PCP_GUIMODE"}},
		{'h', "host", "HOST", "metrics source is PMCD on host", (*Command).setHost, []string{"PCP_HOST", "PCP_HOST_LIST"}},
		{'K', "spec-local", "SPEC", "optional additional PMDA spec for local connection", (*Command).setLocal, []string{"PCP_SPECLOCAL"}},
		{'L', "local-PMDA", "", "metrics source is local connection to a PMDA", (*Command).setLocal, []string{"PCP_LOCALMODE", "PCP_LOCALPMDA"}},
		{'n', "namespace", "FILE", "use an alternative PMNS", (*Command).setNamespace, []string{"PCP_NAMESPACE"}},
		{'N', "uniqnames", "FILE", "like -n but only one name allowed for each PMID", (*Command).setUniqnames, []string{"PCP_UNIQNAMES"}},
		{'O', "origin", "TIME", "initial sample time within the time window", (*Command).setOrigin, []string{"PCP_ORIGIN", "PCP_ORIGIN_TIME"}},
		{'p', "guiport", "N", "port for connection to existing time control", (*Command).setGUIPort, []string{"PCP_GUIPORT"}},
		{'S', "start", "TIME", "start of the time window", (*Command).setOrigin, []string{"PCP_START_TIME"}},
		{'s', "samples", "N", "terminate after this many samples", (*Command).setSamples, []string{"PCP_SAMPLES"}},
		{'T', "finish", "TIME", "end of the time window", (*Command).setFinish, []string{"PCP_FINISH_TIME"}},
		{'t', "interval", "DELTA", "sampling interval", (*Command).setInterval, []string{"PCP_INTERVAL"}},
		{'Z', "timezone", "TZ", "set reporting timezone", (*Command).setZone, []string{"PCP_TIMEZONE"}},
		{'z', "hostzone", "", "set reporting timezone to local time of metrics source", (*Command).setHostZone, []string{"PCP_HOSTZONE"}},
		{0, "container", "NAME", "specify an individual container to be queried", (*Command).setContainer, nil},
		{0, "derived", "FILE", "load derived metric definitions from FILE(s)", (*Command).setDerived, nil},
		{'V', "version", "", "display version number and exit", (*Command).setVersion, nil},
		{'?', "help", "", "show this usage message and exit", func(*Command, string) error { return getopt.ErrUsage }, nil},
	}
}

// Standard are standard options, by their long names, in the order given.
func (c *Command) Standard(names ...string) []getopt.Option {
	var opts []getopt.Option
	all := standardOptions()
	for _, name := range names {
		i := slices.IndexFunc(all, func(o standardOption) bool { return o.long == name })
		o := all[i]
		opts = append(opts, getopt.Option{Short: o.short, Long: o.long, Arg: o.arg, Help: o.help,
			Set: func(v string) error { return o.set(c, v) }})
	}
	return opts
}

// environment takes the standard options that the environment sets, an empty value being one.
func (c *Command) environment(getenv func(string) (string, bool)) {
	for _, o := range standardOptions() {
		for _, name := range o.env {
			value, ok := getenv(name)
			switch {
			case !ok:
				continue
			case name == "PCP_HOST_LIST" && strings.Contains(value, ","):
				c.HostSet = true
				c.take(fmt.Errorf("too many hosts requested: %s", value))
				continue
			case name == "PCP_DEBUG":
				if _, ok := pmlog.ParseDebug(value); !ok {
					c.take(notice{fmt.Sprintf("Error: $PCP_DEBUG=%s is not valid, ignored\n", value)})
				}
			}
			c.take(o.set(c, value))
		}
	}
}

// has reports whether the tool has an option.
func (c *Command) has(short byte) bool {
	return slices.ContainsFunc(c.Options, func(o getopt.Option) bool { return o.Short == short })
}

func (c *Command) setOrigin(string) error {
	c.origin = true
	return nil
}

func (c *Command) setArchive(string) error {
	c.refuse("archives")
	if c.HostSet {
		return errors.New("only one host or archive allowed")
	}
	c.archives++
	return nil
}

func (c *Command) setHost(v string) error {
	switch {
	case c.archives > 0:
		return errors.New("only one host or archive allowed")
	case c.HostSet:
		return fmt.Errorf("too many hosts requested: %s", v)
	}
	c.Host, c.HostSet = v, true
	return nil
}

func (c *Command) setLocal(string) error {
	c.local = true
	c.refuse("local contexts")
	return nil
}

func (c *Command) setContainer(string) error {
	c.refuse("containers")
	return nil
}

func (c *Command) setDerived(string) error {
	c.refuse("derived metrics")
	return nil
}

// Derived is the Set of an option for derived metrics that has a letter.
func (c *Command) Derived(v string) error { return c.setDerived(v) }

func (c *Command) setGUIMode(string) error {
	c.guimode = true
	return c.timeControl('g')
}

func (c *Command) setGUIPort(string) error {
	c.guiport = true
	return c.timeControl('p')
}

// timeControl refuses it, but not for a tool that passes over what the environment says of it.
func (c *Command) timeControl(letter byte) error {
	if c.has(letter) {
		c.refuse("time controls")
	}
	if c.guimode && c.guiport {
		return errors.New("at most one of -g and -p allowed")
	}
	return nil
}

func (c *Command) setDebug(v string) error {
	names, ok := pmlog.ParseDebug(v)
	if !ok {
		return fmt.Errorf("unrecognized debug options specification (%s)", v)
	}
	c.Debug = append(c.Debug, names...)
	return nil
}

func (c *Command) setNamespace(v string) error { return c.loadNames(v, false) }

func (c *Command) setUniqnames(v string) error { return c.loadNames(v, true) }

// loadNames reads a name space file. That it cannot is no fault of the command line's.
func (c *Command) loadNames(file string, unique bool) error {
	report, err := "", error(pdu.ErrDupPMNS)
	if !c.loaded {
		c.Names, err = readNames(file, unique)
	}
	if err == nil {
		c.loaded = true
		return nil
	}
	if p, ok := errors.AsType[*pmns.ParseError](err); ok {
		report = p.Error() + "\n"
		c.loaded = p.Line == 0 // the C library keeps what it could read
		if strings.HasPrefix(p.Msg, "Duplicate metric id") {
			report += "\n"
		}
	} else if !c.loaded {
		report = fmt.Sprintf("Error Parsing ASCII PMNS: Cannot open \"%s\"\n", file)
	}
	c.failed = true
	return notice{fmt.Sprintf("%s%s: Cannot load namespace from \"%s\": %v\n", report, c.Name, file, pdu.FromError(err))}
}

func readNames(file string, unique bool) (*pmns.Tree, error) {
	if file == "" { // which would be the default to a Loader
		return nil, fs.ErrNotExist
	}
	return (&pmns.Loader{Unique: unique}).Load(file)
}

func (c *Command) setSamples(v string) error {
	n, ok := Integer(v)
	if !ok || n < 0 || n > math.MaxInt32 {
		return errors.New("-s requires a positive numeric argument")
	}
	c.Samples = int(n)
	return nil
}

func (c *Command) setZone(v string) error {
	if c.HostZone {
		return errZones
	}
	c.Zone, c.ZoneSet = v, true
	return nil
}

func (c *Command) setHostZone(string) error {
	if c.ZoneSet {
		return errZones
	}
	c.HostZone = true
	return nil
}

var errZones = errors.New("at most one of -Z and -z allowed")

func (c *Command) setVersion(string) error {
	c.exit = true
	return notice{fmt.Sprintf("%s version %s\n", c.Name, Version)}
}

// Integer is what strtol(3) makes of a decimal number, and whether that is all: blanks and a sign may come before it,
// nothing may come after, and an empty text is 0.
func Integer(s string) (n int64, ok bool) {
	if s == "" {
		return 0, true
	}
	n, err := strconv.ParseInt(strings.TrimLeft(s, blanks), 10, 64)
	return n, err == nil || errors.Is(err, strconv.ErrRange)
}

// Number is the Set of an option that takes an integer and is one of at least min.
func Number(to *int, min int, complaint string) func(string) error {
	return func(v string) error {
		n, ok := Integer(v)
		if !ok || n < int64(min) {
			return errors.New(complaint)
		}
		*to = int(n)
		return nil
	}
}

// Flag is the Set of an option without an argument.
func Flag(to *bool) func(string) error {
	return func(string) error {
		*to = true
		return nil
	}
}
