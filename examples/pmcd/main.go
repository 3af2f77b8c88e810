// Pmcd is the performance metrics collector daemon: it hosts agents and serves
// clients such as pminfo, pmval and pmlogger.
//
// Without -c it hosts the built-in agents, in the foreground, on the loopback interface, and does
// not use a PCP installation. With -c it runs the agents of a configuration file, as pmcd(1) does,
// in the background unless -f says otherwise. It then keeps the user that started it, unless -U
// names another user; it becomes that user after it has started the agents. PCP's agent pmdaroot,
// if it is among them, then starts others as root; without it they are restarted without root's
// privileges.
//
// With -w it shows the metrics in a page, to every browser that reaches that address: -w
// localhost:44323 is for this computer.
//
// Sockets that a service manager passes (LISTEN_FDS) take the place of the ports of -p and the
// socket of -s, and the program then stays in the process that has got them, as with -F.
//
// On SIGUSR2, which ends PCP's pmcd, the program lets another process take its place without a gap,
// for example a newer version of the program: it starts itself anew, by its path and with its
// arguments. Connected clients are disconnected between two requests and connect again. If the new
// process does not start, its log says why, and this one continues. A service manager has to follow
// pmcd.pid or MAINPID (NotifyAccess=all of systemd). A pmcd that has given up root's rights has
// pmdaroot start the new process with them, and refuses without it.
//
// Installed as a PCP's pmcd, that is standing in PCP_BINADM_DIR, it is pmcd(1) without options too:
// it runs the configuration file of PCP in the background, as PCP's user.
package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/examples/internal/handover"
	"github.com/pcp-go/pcp/examples/internal/pmcdlog"
	"github.com/pcp-go/pcp/examples/internal/requestport"
	"github.com/pcp-go/pcp/internal/account"
	"github.com/pcp-go/pcp/internal/daemonfile"
	"github.com/pcp-go/pcp/internal/getopt"
	"github.com/pcp-go/pcp/internal/pcpconf"
	"github.com/pcp-go/pcp/internal/tlsconf"
)

func main() {
	if status, is := handover.RunStarter(); is {
		os.Exit(status)
	}
	os.Exit(run(os.Args[1:], os.Stderr))
}

// run returns the exit status: 1 if the collector did not start.
func run(args []string, stderr io.Writer) int {
	conf, err := pcpconf.Load("")
	o := &options{installed: err == nil && installed(conf)}
	set := o.set()
	operands, errs := set.Parse(args)
	if len(operands) > 0 {
		errs = append(errs, fmt.Errorf("unexpected argument %q", operands[0]))
	}
	usage := slices.ContainsFunc(errs, func(err error) bool { return errors.Is(err, getopt.ErrUsage) })
	if err := o.fromEnv(); err != nil {
		errs = append(errs, err)
	}
	if usage && getopt.Status(errs) != 0 {
		errs = []error{getopt.ErrUsage} // as soon as pmcd sees the option, it does what that says
	}
	if set.Report(stderr, errs) {
		if usage {
			return 0
		}
		if o.installed {
			o.beInstalled(conf)
			(&daemon{options: o, stderr: stderr, startStderr: noCloser{stderr}}).reportFailure(stderr)
		}
		return 1
	}
	if err != nil {
		return fail(stderr, err)
	}
	if o.installed {
		o.beInstalled(conf)
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

	activated []net.Listener // on which the service manager listens for this process, in place of the ports of options

	wasRoot     bool                  // the process was started with root's privileges
	predecessor *handover.Predecessor // the process whose place this one takes, nil if there is none
	successor   *handover.Successor   // the process that has taken this one's place

	cfg         configFile
	out         io.Writer      // the log
	lines       *pmcdlog.Lines // what pmcd says in it, nil without a configuration file
	tls         *tlsconf.File
	logFile     *daemonfile.Log // nil for standard error
	startStderr io.WriteCloser  // standard error until the collector has started, for errors
	listening   func()          // says so to the process that started this one; nil in the foreground
	started     bool
}

func (d *daemon) run() int {
	// Faults of the configuration are printed before the program leaves the terminal. Installed as
	// PCP's pmcd, the program reports them in the log, as C pmcd does.
	if !d.installed {
		if err := d.cfg.load(d.options); err != nil {
			return fail(d.stderr, err)
		}
	}
	if d.config != "" {
		setUmask()
	}
	// The service manager watches the process that gets its sockets.
	var err error
	d.wasRoot = os.Geteuid() == 0
	d.predecessor = handover.FindPredecessor()
	if d.activated, err = daemonfile.Activated(); err != nil {
		return fail(d.stderr, err)
	}
	if len(d.activated) > 0 && !d.foreground {
		d.managed = true
	}
	if d.isService() && d.user != "" && !account.Exists(d.user) {
		return fail(d.stderr, fmt.Errorf("cannot find the %s user to switch to: name another with -U", d.user))
	}
	if d.inBackground() {
		parent, listening, err := handover.Daemonize()
		if err != nil || parent {
			return fail(d.stderr, err)
		}
		d.listening = listening
	}
	d.startStderr = daemonfile.KeepStderr()
	// If another collector has the ports, its log must stay as it is.
	ports, err := d.openPorts()
	if err != nil {
		status := fail(d.stderr, err)
		d.reportFailure(d.stderr)
		return status
	}
	out, finish, err := d.openLog()
	if err != nil {
		requestport.Close(requestport.Listeners(ports))
		return fail(d.stderr, err)
	}
	defer finish() // after the reason why the collector did not start
	status := fail(out, d.serve(out, ports))
	if status != 0 && !d.started && d.predecessor == nil {
		d.reportFailure(out)
	}
	return status
}

// openPorts opens the ports of the options, unless the service manager has opened some.
func (d *daemon) openPorts() ([]requestport.Port, error) {
	if len(d.activated) > 0 {
		var ports []requestport.Port
		for _, l := range d.activated {
			ports = append(ports, requestport.Activated(l))
		}
		return ports, nil
	}
	c := requestport.Config{Interfaces: d.interfaces, Ports: d.ports, Socket: d.socket, RunDir: d.conf.Get("PCP_RUN_DIR"),
		Backlog: d.backlog(), Embedded: d.config == "", Installed: d.installed}
	ports, problems, err := c.Open(d.stderr)
	d.cfg.problems = append(d.cfg.problems, problems...)
	d.ports = c.Ports
	if err != nil && d.installed {
		err = plainError("") // Open has printed the reason
	}
	return ports, err
}

// A plainError is printed without the name of the program.
type plainError string

func (e plainError) Error() string { return string(e) }

// fail prints an error and returns the exit status, 0 without one.
func fail(w io.Writer, err error) int {
	switch err {
	case nil:
		return 0
	case handover.ErrReported:
		return 1
	}
	if text, ok := errors.AsType[plainError](err); ok {
		if text != "" {
			fmt.Fprintln(w, text)
		}
		return 1
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		fmt.Fprintf(w, "pmcd: %s\n", line)
	}
	return 1
}
