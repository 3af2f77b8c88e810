// Pmtrace sends a point, a value or the time of a command to the trace agent.
//
//	pmtrace backup.done
//	pmtrace -e "make all" build
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"github.com/pcp-go/pcp/internal/build"
	"github.com/pcp-go/pcp/internal/getopt"
	"github.com/pcp-go/pcp/internal/scan"
	"github.com/pcp-go/pcp/internal/tracewire"
	"github.com/pcp-go/pcp/trace"
)

const usage = `Usage: pmtrace [-q] [-c value|-e command|-v value] [-h host] [-S state] tag

Options:
  -c value    export a counter value through the trace PMDA
  -e command  run command and export transaction data
  -h host     send trace data to trace PMDA on given host
  -q          quiet mode - suppress message from successful trace
  -S state    set debug state using pmtracestate(3) as bit-wise
              combination of these flags:
	       1 Shows processing just below the API
	       2 Shows network-related activity
	       4 Shows app<->PMDA IPC traffic
	       8 Shows internal IPC buffer management
	      16 No PMDA communications at all
  -v value    export an observation value through the trace PMDA

pmtrace always uses the asynchronous PDU protocol mode.
`

func main() { os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr)) }

// A job is the parsed command line.
type job struct {
	kind    tracewire.Kind
	tag     string
	value   float64
	command string
	host    string
	state   trace.State
	quiet   bool
}

// run returns the status that the manual documents: 0, or with -e the status of the command, which
// is 128 plus the number of the signal if a signal ended it. C's pmtrace returns the low byte of a
// wait status, which is 0 for any exit.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
	if build.Asked(args) {
		io.WriteString(out, build.Text("pmtrace"))
		return 0
	}
	j := job{kind: tracewire.KindPoint}
	tags, bad := j.options().Parse(args)
	for _, err := range bad {
		if !errors.Is(err, getopt.ErrUsage) {
			fmt.Fprintf(errs, "pmtrace: %v\n", err)
		}
	}
	if len(bad) > 0 || len(tags) != 1 {
		io.WriteString(errs, usage)
		return 0
	}
	j.tag = tags[0]
	config, err := trace.FromEnv()
	if err != nil {
		fmt.Fprintf(errs, "pmtrace: %v\n", err) // what is malformed has its default
	}
	if j.host != "" {
		config.Host = j.host
	}
	s := &trace.Session{Config: config, Compatible: true}
	defer s.Close()
	if _, err := s.SetState(j.state | trace.StateAsync); err != nil {
		fmt.Fprintf(errs, "pmtrace: %v\n", err)
		return 0
	}
	what, status, err := j.do(ctx, s, errs)
	switch {
	case err != nil:
		fmt.Fprintf(errs, "pmtrace: %s error: %s\n", what, text(err))
	case !j.quiet && (j.kind == tracewire.KindCounter || j.kind == tracewire.KindObservation):
		fmt.Fprintf(out, "pmtrace: %s complete (tag=\"%s\", value=%f)\n", what, j.tag, j.value)
	case !j.quiet && what != "":
		fmt.Fprintf(out, "pmtrace: %s complete (tag=\"%s\")\n", what, j.tag)
	}
	return status
}

func (j *job) options() *getopt.Set {
	one := func(kind tracewire.Kind) error {
		if j.kind != tracewire.KindPoint {
			return errors.New("only one of -c, -v or -e allowed")
		}
		j.kind = kind
		return nil
	}
	value := func(letter string, kind tracewire.Kind) func(string) error {
		return func(s string) error {
			v, n, err := scan.Float(s)
			if j.value = v; n != len(s) || err != nil && n == 0 {
				return errors.Join(one(kind), errors.New(letter+" requires a numeric argument"))
			}
			return one(kind)
		}
	}
	return &getopt.Set{Program: "pmtrace", Options: []getopt.Option{
		{Short: 'c', Arg: "value", Set: value("-c", tracewire.KindCounter)},
		{Short: 'v', Arg: "value", Set: value("-v", tracewire.KindObservation)},
		{Short: 'e', Arg: "command", Set: func(s string) error { j.command = s; return one(tracewire.KindTransaction) }},
		{Short: 'h', Arg: "host", Set: func(s string) error { j.host = s; return nil }},
		{Short: 'q', Set: func(string) error { j.quiet = true; return nil }},
		{Short: 'S', Arg: "state", Set: func(s string) error {
			n, err := strconv.ParseInt(s, 0, 32)
			if j.state |= trace.State(n); err != nil {
				return errors.New("-S requires a numeric argument")
			}
			return nil
		}},
		{Short: '?', Set: getopt.Usage},
	}}
}

// do sends the value or runs the command. what names the failed call, or the call that succeeded.
// It is empty if the command ran untraced.
func (j *job) do(ctx context.Context, s *trace.Session, errs io.Writer) (what string, status int, err error) {
	switch j.kind {
	case tracewire.KindCounter:
		return "counter", 0, s.Counter(ctx, j.tag, j.value)
	case tracewire.KindObservation:
		return "observation", 0, s.Observe(ctx, j.tag, j.value)
	case tracewire.KindPoint:
		return "point", 0, s.Point(ctx, j.tag)
	}
	begun := s.Begin(ctx, j.tag)
	if begun != nil { // run the command all the same
		fmt.Fprintf(errs, "pmtrace: transaction begin error: %s\n", text(begun))
	}
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", j.command)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = cmd.Run()
	if cmd.ProcessState == nil {
		fmt.Fprintf(errs, "pmtrace: system error running '%s': %v\n", j.command, err)
		return "", 0, nil
	}
	if status = exitStatus(cmd.ProcessState); begun != nil {
		return "", status, nil
	}
	if err := s.End(ctx, j.tag); err != nil {
		return "transaction end", status, err
	}
	return "transaction", status, nil
}

// exitStatus returns the exit status that a shell reports for p.
func exitStatus(p *os.ProcessState) int {
	if w, ok := p.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return p.ExitCode()
}

// text returns the C library's text of an error.
func text(err error) string {
	if e, ok := errors.AsType[trace.Error](err); ok {
		return e.Error()
	}
	return err.Error()
}
