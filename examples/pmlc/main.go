// Pmlc shows what a running pmlogger records, and changes it.
//
//	pmlc -P
//	pmlc> query kernel.all.load
//	pmlc> log advisory on 5 seconds disk.dev
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/examples/internal/pcptool/pmlc"
	"github.com/pcp-go/pcp/examples/internal/pmlcshell"
	"github.com/pcp-go/pcp/internal/pcpconf"
	"github.com/pcp-go/pcp/internal/scan"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// An invocation is the parsed command line.
type invocation struct {
	echo, interactive bool
	host              string
	primary           bool
	port, pid         int
	given             bool // one of these
	zone              string
	loggerZone        bool
}

func main() {
	pcptool.LimitMemory()
	v := &invocation{}
	c := v.command()
	os.Exit(c.Report(run(context.Background(), c, v)))
}

func (v *invocation) command() *pcptool.Command {
	c := &pcptool.Command{Name: "pmlc", Synopsis: "[options] [pid]"}
	c.AddOptions("Options",
		tool.Option{Short: 'e', Long: "echo", Help: "echo input", Set: tool.Flag(&v.echo)},
		tool.Option{Short: 'h', Long: "host", Arg: "HOST", Help: "connect to pmlogger using host specification",
			Set: func(host string) error { v.host = host; return nil }},
		tool.Option{Short: 'i', Long: "interactive", Help: "be interactive and prompt", Set: tool.Flag(&v.interactive)})
	c.Options = append(c.Options, c.Standard("debug", "namespace")...)
	c.Options = append(c.Options,
		tool.Option{Short: 'P', Long: "primary", Help: "connect to primary pmlogger", Set: tool.Flag(&v.primary)},
		tool.Option{Short: 'p', Long: "port", Arg: "N", Help: "connect to pmlogger on this TCP/IP port", Set: v.setPort})
	c.Options = append(c.Options,
		keep(c.Standard("timezone")[0], "timezone", "set reporting timezone", func(tz string) { v.zone = tz }),
		keep(c.Standard("hostzone")[0], "logzone", "set reporting timezone to local time for pmlogger", func(string) { v.loggerZone = true }))
	c.Options = append(c.Options, c.Standard("help")...)
	return c
}

// keep returns a standard option with another long name. set also gets its argument.
func keep(o tool.Option, long, help string, set func(value string)) tool.Option {
	standard := o.Set
	o.Long, o.Help = long, help
	o.Set = func(value string) error {
		set(value)
		return standard(value)
	}
	return o
}

func (v *invocation) setPort(value string) error {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || int32(n) <= 0 {
		return errors.New("port must be numeric and greater than 0")
	}
	v.port = int(int32(n))
	return nil
}

// check sets the PID and checks that the options fit together.
func (v *invocation) check(operands []string) error {
	given := len(operands)
	if v.primary {
		given++
	}
	if v.port > 0 {
		given++
	}
	local := strings.HasPrefix(v.host, "local:") && v.host != "local:"
	switch { // a socket in place of a host
	case strings.HasPrefix(v.host, "unix:") && (v.host != "unix:" || v.port > 0), local && given == 0:
		given++
	}
	switch {
	case given > 1:
		return errors.New("at most one of -P, -p, unix socket, or PID may be specified")
	case given == 0 && v.host != "":
		return errors.New("-h may not be used without -P or -p or a socket path or a PID")
	}
	v.given = given > 0
	for _, operand := range operands {
		n, err := strconv.ParseInt(operand, 10, 64)
		if err != nil || int32(n) <= 0 {
			return errors.New("PID must be a numeric process ID and greater than 0")
		}
		v.pid = int(int32(n))
	}
	return nil
}

func run(ctx context.Context, c *pcptool.Command, v *invocation) error {
	operands, err := c.Parse(os.Args[1:])
	if err != nil {
		return err
	}
	if len(operands) > 1 {
		return c.UsageErrorf("")
	}
	if err := v.check(operands); err != nil {
		return c.UsageErrorf("%s: %v\n", c.Name, err)
	}
	conf, err := pcpconf.Load("")
	if err != nil {
		return err
	}
	host := v.host
	if host == "" {
		host = "local:"
	}
	s := &pmlcshell.Shell{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Host: host, Echo: v.echo,
		Interactive: v.interactive || terminal.Is(os.Stdin), Timeout: timeout(),
		MapDir:     pmlc.MapDir(conf.Get("PCP_TMP_DIR")),
		SocketDirs: pmlcshell.SocketDirs(conf.Get("PCP_RUN_DIR"), os.Getenv("HOME")),
		Dial: func(ctx context.Context, host string) (*pmapi.Context, error) {
			d, err := pmapi.DialerFromEnv()
			if err != nil {
				fmt.Fprintf(os.Stderr, "%s: %v\n", c.Name, err)
			}
			d.Names = c.Names()
			return d.Dial(ctx, host)
		}}
	s.SetZone(v.zone, v.loggerZone)
	if s.Interactive {
		s.Banner()
	}
	if v.given {
		s.Connect(ctx, v.pid, v.port, v.primary)
	}
	s.Run(ctx)
	return nil
}

// timeout returns the timeout of the environment.
func timeout() time.Duration {
	value := os.Getenv("PMLOGGER_REQUEST_TIMEOUT")
	if value == "" {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimLeft(value, scan.Blanks), 10, 32)
	if err != nil || n < 0 {
		fmt.Fprintf(os.Stderr, "[%s] pmlc(%d) Warning: ignored bad PMLOGGER_REQUEST_TIMEOUT = '%s'\n",
			time.Now().In(tool.LocalZone()).Format("Mon Jan _2 15:04:05"), os.Getpid(), terminal.Escape(value))
		return 0
	}
	return time.Duration(n) * time.Second
}
