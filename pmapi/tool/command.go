package tool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/pcp-go/pcp/internal/getopt"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// A Command is the command line of a tool. One goroutine at a time may use it. It must not be
// copied after a call of Standard, because the options of Standard set its fields. The counterpart
// of pmOptions in C.
type Command struct {
	Name     string    // of the tool, for messages
	Synopsis string    // follows the name in the first line of the usage message
	Options  []Option  // in the order of the usage message; AddOptions adds to them
	Stderr   io.Writer // for the messages of Report; nil means os.Stderr

	// Parse sets these fields to the values of the standard options.
	Samples  int              // of -s; 0 means that it was not given
	Interval time.Duration    // of -t; 0 means that it was not given
	Times    pmapi.WindowSpec // of -S, -T, -A, -O and -Z; its Location is not nil after Parse

	host, archive string
	hostZone      bool
}

// AddOptions adds options under a heading of the usage message.
func (c *Command) AddOptions(heading string, options ...Option) {
	c.Options = append(append(c.Options, Option{Heading: heading}), options...)
}

// Standard returns PCP's standard options with these long names, in the order given. The names are
// align, archive, finish, help, host, hostzone, interval, origin, samples, start, timezone and
// version. Standard panics for any other name.
func (c *Command) Standard(names ...string) []Option {
	text := func(to *string) func(string) error {
		return func(value string) error {
			*to = value
			return nil
		}
	}
	all := map[string]Option{
		"align":    {Short: 'A', Arg: "TIME", Help: "align sample times on natural boundaries", Set: text(&c.Times.Align)},
		"archive":  {Short: 'a', Arg: "FILE", Help: "metrics source is a PCP log archive", Set: text(&c.archive)},
		"finish":   {Short: 'T', Arg: "TIME", Help: "end of the time window", Set: text(&c.Times.Finish)},
		"help":     {Short: '?', Help: "show this usage message and exit", Set: func(string) error { return ErrUsage }},
		"host":     {Short: 'h', Arg: "HOST", Help: "metrics source is PMCD on host", Set: text(&c.host)},
		"hostzone": {Short: 'z', Help: "set reporting timezone to local time of metrics source", Set: Flag(&c.hostZone)},
		"interval": {Short: 't', Arg: "DELTA", Help: "sampling interval", Set: c.setInterval},
		"origin":   {Short: 'O', Arg: "TIME", Help: "initial sample time within the time window", Set: text(&c.Times.Origin)},
		"samples":  {Short: 's', Arg: "N", Help: "terminate after this many samples", Set: Number(&c.Samples, 1, "-s requires a positive numeric argument")},
		"start":    {Short: 'S', Arg: "TIME", Help: "start of the time window", Set: text(&c.Times.Start)},
		"timezone": {Short: 'Z', Arg: "TZ", Help: "set reporting timezone", Set: func(tz string) error {
			c.Times.Location = LoadZone(tz)
			return nil
		}},
		"version": {Short: 'V', Help: "display version number and exit", Set: getopt.Version},
	}
	options := make([]Option, len(names))
	for i, name := range names {
		o, ok := all[name]
		if !ok {
			panic("tool: no standard option " + name)
		}
		o.Long = name
		options[i] = o
	}
	return options
}

func (c *Command) setInterval(value string) error {
	d, err := pmapi.ParseInterval(value)
	if err != nil {
		return fmt.Errorf("-t: %w", err)
	}
	c.Interval = d
	return nil
}

// Parse parses args, which do not include the name of the tool, and returns the operands. It first
// resets the standard options. Its error joins all mistakes, and is for Report. The counterpart of
// pmGetOptions(3).
func (c *Command) Parse(args []string) (operands []string, err error) {
	c.Samples, c.Interval, c.host, c.archive, c.hostZone = 0, 0, "", "", false
	c.Times = pmapi.WindowSpec{Location: LocalZone()}
	operands, errs := c.parser().Parse(args)
	if c.host != "" && c.archive != "" {
		errs = append(errs, errors.New("only one host or archive allowed"))
	}
	if len(errs) > 0 {
		return nil, usageErrors(errs)
	}
	return operands, nil
}

// usageErrors are the errors of a command line.
type usageErrors []error

func (e usageErrors) Error() string   { return errors.Join(e...).Error() }
func (e usageErrors) Unwrap() []error { return e }

func (c *Command) parser() *getopt.Set {
	s := &getopt.Set{Program: c.Name, Synopsis: c.Synopsis}
	for _, o := range c.Options {
		s.Options = append(s.Options, getopt.Option(o))
	}
	return s
}

// Open opens a context on the archives of -a, the host of -h, or else the collector of this
// computer. Commas separate several archives. The settings are those of pmapi.DialerFromEnv or
// pmapi.ArchiveOptionsFromEnv; an invalid environment variable is an error.
func (c *Command) Open(ctx context.Context) (*pmapi.Context, error) {
	if c.archive != "" {
		o, err := pmapi.ArchiveOptionsFromEnv()
		if err != nil {
			return nil, err
		}
		return o.Open(ctx, strings.Split(c.archive, ",")...)
	}
	d, err := pmapi.DialerFromEnv()
	if err != nil {
		return nil, err
	}
	host := c.host
	if host == "" {
		host = "local:"
	}
	return d.Dial(ctx, host)
}

// Window returns the time window that the options select from the source of pc. On a collector it
// begins now, and without -T it has no end. With -z, Window sets Times.Location to the time zone of
// the source. An interval of -A without a multiple in the window is ignored. The counterpart of
// pmGetContextOptions(3).
func (c *Command) Window(ctx context.Context, pc *pmapi.Context) (pmapi.Window, error) {
	if c.hostZone {
		tz, err := HostZone(ctx, pc)
		if err != nil {
			return pmapi.Window{}, err
		}
		c.Times.Location = LoadZone(tz)
	}
	first, last := time.Now(), time.Time{}
	label, err := pc.ArchiveLabel()
	if err == nil {
		first = label.Start
		last, err = pc.ArchiveEnd(ctx)
	}
	if err != nil && !errors.Is(err, pdu.ErrNotArchive) {
		return pmapi.Window{}, err
	}
	w, err := c.Times.Window(first, last)
	if w != (pmapi.Window{}) && errors.Is(err, pmapi.ErrAlignment) {
		err = nil
	}
	return w, err
}

// Report prints an error to Stderr and returns the exit status: 0 for nil, otherwise 1, also after
// --help. For an error of Parse, and for one that wraps ErrUsage, it also prints the usage message.
// ErrUsage itself has no other message. After --version it prints only the version and returns 0.
// Control characters are escaped.
func (c *Command) Report(err error) (status int) {
	if err == nil {
		return 0
	}
	var w io.Writer = os.Stderr
	if c.Stderr != nil {
		w = c.Stderr
	}
	w = terminal.NewEscapeWriter(w)
	if errs, ok := errors.AsType[usageErrors](err); ok {
		c.parser().Report(w, errs)
		return getopt.Status(errs)
	}
	if err != ErrUsage {
		fmt.Fprintf(w, "%s: %v\n", c.Name, err)
	}
	if errors.Is(err, ErrUsage) {
		io.WriteString(w, c.parser().Usage())
	}
	return 1
}
