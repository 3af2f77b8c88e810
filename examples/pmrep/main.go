// Pmrep reports the values of metrics of a collector or of archives in columns, as text or as CSV.
// Options, configuration files, output and exit status are those of pmrep(1) of PCP, which can also
// write archives. Under the name pcp2csv it writes CSV.
//
//	pmrep -p -t 5 kernel.all.load disk.dev.read
//	pmrep -a 20261123 -S @10:00 -T @11:00 :vmstat
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/pcp-go/pcp/examples/internal/dso"
	"github.com/pcp-go/pcp/examples/internal/handover"
	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/examples/internal/pcptool/report"
)

func main() {
	pcptool.LimitMemory()
	name := filepath.Base(os.Args[0])
	c := report.NewCommand(name)
	c.Local = dso.Local(name)
	os.Exit(c.Report(run(c, os.Args[1:])))
}

// run writes the report of the command line. Signals end it in the same way as the end of its
// samples.
func run(c *report.Command, args []string) error {
	if err := c.Parse(args); err != nil {
		return err
	}
	if c.Options.Daemonize && !c.Check {
		parent, started, err := handover.Daemonize(0, os.Stdout)
		if errors.Is(err, handover.ErrReported) {
			if end, ok := errors.AsType[*exec.ExitError](err); ok {
				return &pcptool.ExitError{Status: end.ExitCode()}
			}
			return nil
		}
		if errors.Is(err, errors.ErrUnsupported) {
			return errors.New("--daemonize is not supported on this system")
		}
		if parent || err != nil {
			return err
		}
		return write(c, func() error { started(); return nil })
	}
	return write(c, nil)
}

// write writes the report. After the headers it calls started unless that is nil.
func write(c *report.Command, started func() error) error {
	ctx, stop := signalled()
	defer stop()
	pc, r, err := c.Open(ctx)
	if err != nil {
		return endOf(ctx, err)
	}
	defer pc.Close()
	r.Started = started
	p, err := c.Output(r)
	if err != nil {
		return err
	}
	if r.Options().RepeatHeader == report.RepeatAuto {
		p.Resize(terminalRows())
		r.Rows = resizes()
	}
	if c.Check {
		return c.Exit(errors.Join(p.Start(r.Header()), p.Finish()))
	}
	return endOf(ctx, c.Exit(r.Run(ctx, p)))
}

// errSignal is the cause of a context that a signal has ended.
type errSignal struct{ os.Signal }

func (e errSignal) Error() string { return e.String() }

// signalled returns a context that a signal ends, and a function that releases it.
func signalled() (context.Context, func()) {
	ctx, end := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGHUP)
	if !signal.Ignored(os.Interrupt) { // as in the background of a script
		signal.Notify(signals, os.Interrupt)
	}
	signal.Ignore(syscall.SIGPIPE)
	go func() { end(errSignal{<-signals}) }()
	return ctx, func() { signal.Stop(signals) }
}

// endOf returns the error that ends the program. Signals and a closed output are not errors. After
// an interrupt it prints a newline because terminals show ^C.
func endOf(ctx context.Context, err error) error {
	if s, ok := errors.AsType[errSignal](context.Cause(ctx)); ok {
		if s.Signal == os.Interrupt {
			fmt.Println()
		}
		return nil
	}
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
		return nil
	}
	return err
}
