// Pmcd is the performance metrics collector daemon: it hosts agents and serves
// clients such as pminfo, pmval and pmlogger.
//
// Without -c it hosts the agents that are built in, in the foreground, on the
// loopback interface, and reads nothing of a PCP installation. With -c it runs
// the agents of a configuration file, as pmcd(1) does, in the background unless
// -f says otherwise. It then stays the user who started it, unless -U names another
// to become when the agents have been started: agents that need root are then
// restarted without it.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/pcp-go/pcp/internal/account"
	"github.com/pcp-go/pcp/internal/getopt"
	"github.com/pcp-go/pcp/internal/pcpconf"
)

func main() { os.Exit(run(os.Args[1:], os.Stderr)) }

// run returns the exit status: 1 if the collector did not start.
func run(args []string, stderr io.Writer) int {
	o := &options{}
	set := o.set()
	operands, errs := set.Parse(args)
	if len(operands) > 0 {
		errs = append(errs, fmt.Errorf("unexpected argument %q", operands[0]))
	}
	if err := o.fromEnv(); err != nil {
		errs = append(errs, err)
	}
	if set.Report(stderr, errs) {
		if len(errs) == 1 && errors.Is(errs[0], getopt.ErrUsage) {
			return 0
		}
		return 1
	}
	conf, err := pcpconf.Load("")
	if err != nil {
		return fail(stderr, err)
	}
	if o.verify {
		return o.verifyConfig(conf, stderr)
	}
	d := &daemon{options: o, conf: conf, stderr: stderr}
	return d.run()
}

// A daemon is one run of the collector.
type daemon struct {
	*options
	conf   *pcpconf.Conf
	stderr io.Writer

	cfg         configFile
	startStderr io.WriteCloser // standard error until the collector has started, for errors
	started     bool
}

func (d *daemon) run() int {
	// Faults of the configuration are printed before the program leaves the terminal.
	if err := d.cfg.load(d.config); err != nil {
		return fail(d.stderr, err)
	}
	if d.inBackground() {
		if d.user != "" && !account.Exists(d.user) {
			return fail(d.stderr, fmt.Errorf("cannot find the %s user to switch to: name another with -U", d.user))
		}
		if parent, err := daemonize(); err != nil || parent {
			return fail(d.stderr, err)
		}
	}
	d.startStderr = keepStderr()
	out, finish, err := d.openLog(d.stderr)
	if err != nil {
		return fail(d.stderr, err)
	}
	defer finish() // after the reason why the collector did not start
	status := fail(out, d.serve(out))
	if status != 0 && !d.started {
		d.reportFailure(out)
	}
	return status
}

// fail prints an error and returns the exit status, 0 without one.
func fail(w io.Writer, err error) int {
	if err == nil {
		return 0
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		fmt.Fprintf(w, "pmcd: %s\n", line)
	}
	return 1
}
