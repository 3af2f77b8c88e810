// Package dbpmda is the command of that name.
package dbpmda

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/account"
	"github.com/pcp-go/pcp/internal/pmlog"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// options are the options of the command line.
type options struct {
	names       string // file with the name space; empty means the installed one
	user        string
	timeout     int // seconds that an agent has to send its version
	noStartFile bool
	echo        bool
	interactive bool
}

// Main is the command dbpmda; it does not return.
func Main() {
	pcptool.LimitMemory()
	o := options{timeout: 3}
	c := o.command()
	args, err := c.Parse(os.Args[1:])
	if err == nil && len(args) > 0 {
		err = c.UsageErrorf("")
	}
	if err == nil {
		err = o.run(c)
	}
	os.Exit(c.Report(err))
}

func (o *options) command() *pcptool.Command {
	c := &pcptool.Command{Name: "dbpmda", Synopsis: "[options]"}
	debug := c.Standard("debug")[0]
	set := debug.Set
	debug.Set = func(v string) error {
		if set(v) != nil {
			return fmt.Errorf("unrecognized debug flag specification (%s)", v)
		}
		return nil
	}
	c.AddOptions("General options", debug,
		tool.Option{Short: 'n', Long: "namespace", Arg: "FILE", Help: "use an alternative PMNS",
			Set: func(v string) error { o.names = v; return nil }},
		tool.Option{Short: 'f', Long: "norc", Help: "skip .dbpmdarc processing", Set: tool.Flag(&o.noStartFile)},
		tool.Option{Short: 'q', Long: "creds-timeout", Arg: "N", Help: "initial negotiation timeout (seconds)", Set: o.setTimeout},
		tool.Option{Short: 'U', Long: "username", Arg: "USER", Help: "run under named user account",
			Set: func(v string) error { o.user = v; return nil }},
		// Agents within this program are never unloaded.
		tool.Option{Short: 'v', Long: "valgrind", Help: "running under valgrind, don't dlclose() dso PMDAs",
			Set: func(string) error { return nil }},
		c.Standard("help")[0])
	c.AddOptions("Input options",
		tool.Option{Short: 'e', Long: "echo-input", Help: "echo input", Set: tool.Flag(&o.echo)},
		tool.Option{Short: 'i', Long: "interactive", Help: "be interactive and prompt", Set: tool.Flag(&o.interactive)})
	return c
}

// maxTimeout is the maximum of -q in seconds: a day.
const maxTimeout = 24 * 60 * 60

func (o *options) setTimeout(v string) error {
	n, err := strconv.Atoi(v)
	if err != nil || n <= 0 {
		return errors.New("-q requires a positive numeric argument")
	}
	o.timeout = min(n, maxTimeout)
	return nil
}

// startFile has commands that run before the input, if it is in the working directory.
const startFile = ".dbpmdarc"

// run reads commands until quit or the end of the input.
func (o *options) run(c *pcptool.Command) error {
	slog.SetDefault(pmlog.New(os.Stderr, c.Name, slog.LevelInfo)) // what agents within this program log
	if o.user != "" {
		if err := account.Become(o.user); err != nil {
			slog.Log(context.Background(), pmlog.LevelCritical, err.Error())
			return &pcptool.ExitError{Status: 1}
		}
	}
	d := newDebugger(os.Stdout, os.Stderr)
	d.timeout, d.given, d.namesFile = o.timeout, o.names, o.names
	for _, spec := range c.Debug {
		if !d.trace.set(spec) {
			d.trace.setBits(parseWord(spec, 10))
		}
	}
	if messages := d.loadNames(o.names); messages != "" {
		return &pcptool.ExitError{Status: 1, Message: messages}
	}
	if f, err := os.Open(startFile); err == nil && !o.noStartFile {
		defer f.Close()
		d.in.add(f, source{file: startFile, prompt: startFile + "> ", echo: true})
	}
	prompted := o.interactive || terminal.Is(os.Stdin)
	d.in.add(os.Stdin, source{prompt: "dbpmda> ", silent: !prompted, echo: o.echo})
	if d.run() && prompted {
		d.printf("\n")
	}
	d.closeAgent()
	return d.out.Flush()
}

// warn prints a message on standard error, after the pending output.
func (d *debugger) warn(format string, args ...any) {
	d.out.FlushLines()
	fmt.Fprintf(d.errors, format, args...)
}

// printf prints on standard output.
func (d *debugger) printf(format string, args ...any) { fmt.Fprintf(d.out, format, args...) }
