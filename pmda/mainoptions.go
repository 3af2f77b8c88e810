package pmda

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/pcp-go/pcp/internal/getopt"
	"github.com/pcp-go/pcp/internal/pmlog"
	"github.com/pcp-go/pcp/pdu"
)

// generalOptions returns the options of all agents and the program's own in alphabetical order.
func (d *Daemon) generalOptions(c *command) []getopt.Option {
	opts := []getopt.Option{
		{Short: 'D', Long: "debug", Arg: "SPEC", Set: c.setDebug},
		{Short: 'd', Long: "domain", Arg: "NUM", Help: "use domain (numeric) for metrics domain of PMDA", Set: d.setDomain},
		{Short: 'l', Long: "log", Arg: "FILE", Help: "write log to FILE rather than using default log name",
			Set: func(v string) error { c.log, c.logGiven = v, true; return nil }},
		{Short: 'U', Long: "username", Arg: "USER", Help: "run the PMDA using the named user account",
			Set: func(v string) error { c.user = v; return nil }},
	}
	if d.HelpOption {
		opts = append(opts, getopt.Option{Short: 'h', Long: "helpfile", Arg: "FILE", Help: "read help texts from FILE",
			Set: func(v string) error { c.helpFile = v; return nil }})
	}
	opts = slices.DeleteFunc(opts, func(o getopt.Option) bool {
		return slices.ContainsFunc(d.Options, func(own Option) bool { return own.Short == o.Short })
	})
	for _, o := range d.Options {
		set := o.Set
		if o.Short == 'D' { // the rest of the program may use the debug options, too
			set = func(v string) error { return cmp.Or(c.setDebug(v), o.Set(v)) }
		}
		opts = append(opts, getopt.Option{Short: o.Short, Long: o.Long, Arg: o.Arg, Help: o.Help, Set: set})
	}
	slices.SortStableFunc(opts, func(a, b getopt.Option) int {
		return cmp.Or(int(a.Short|0x20)-int(b.Short|0x20), int(a.Short)-int(b.Short)) // -D before -d
	})
	opts = append(opts, getopt.Option{Short: '?', Long: "help", Help: "show this usage message and exit", Set: getopt.Usage})
	return append([]getopt.Option{{Heading: "Options"}}, opts...)
}

// transportOptions say how to connect to the collector.
func (c *command) transportOptions(pipeOnly bool) []getopt.Option {
	if pipeOnly {
		return nil
	}
	by := func(letter byte) func(string) error {
		return func(v string) error {
			if c.transport != 0 && c.transport != letter {
				return fmt.Errorf("-%c option clashes with -%c option", letter, c.transport)
			}
			c.transport, c.address = letter, v
			return nil
		}
	}
	return []getopt.Option{
		{Heading: "Exactly one of the following options may appear"},
		{Short: 'i', Long: "inet", Arg: "PORT", Help: "pmcd IPv4 connection service name or numeric port", Set: by('i')},
		{Short: 'p', Long: "pipe", Help: "use a pipe for communication with pmcd", Set: by('p')},
		{Short: 'u', Long: "unix", Arg: "FILE", Help: "use a unix domain socket for communication with pmcd", Set: by('u')},
		{Short: '6', Long: "ipv6", Arg: "PORT", Help: "pmcd IPv6 connection service name or numeric port", Set: by('6')},
		{Heading: "Option for agents on sockets, which no C agent has"},
		{Long: "stay", Exact: true, Help: "serve the next collector when one has gone",
			Set: func(string) error { c.stay = true; return nil }},
	}
}

// exportOptions are the options that no C agent has.
func (c *command) exportOptions() []getopt.Option {
	return []getopt.Option{
		{Heading: "Installation options, for use without a collector"},
		{Long: "install", Exact: true, Arg: "DIR", Help: "copy this program and Install to DIR, named as the agent",
			Set: func(v string) error { c.install = v; return nil }},
		{Long: "print", Exact: true, Arg: "FILE", Help: "print pmns, root, help, domain.h, Install or Remove",
			Set: func(v string) error {
				if v == "" {
					return errors.New("--print requires the name of a file")
				}
				c.print = v
				return nil
			}},
	}
}

// setDebug accepts the debug options of PCP. Option pdu lowers the level of the log, which then has
// all PDUs; the others have no effect.
func (c *command) setDebug(spec string) error {
	names, ok := pmlog.ParseDebug(spec)
	if !ok {
		return fmt.Errorf("unrecognized debug options specification (%s)", spec)
	}
	c.pdus = c.pdus || pmlog.DebugOn(names)["pdu"]
	return nil
}

func (d *Daemon) setDomain(v string) error {
	n, err := strconv.Atoi(v)
	if err != nil {
		return errors.New("-d requires numeric domain number")
	}
	if n < 0 || n > int(pdu.MaxDomain) {
		return fmt.Errorf("-d domain %d out of range (0..%d)", n, pdu.MaxDomain)
	}
	d.Agent.Domain = pdu.Domain(n)
	return nil
}
