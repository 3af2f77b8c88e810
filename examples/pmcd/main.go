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
	"os"
	"slices"

	"github.com/pcp-go/pcp/examples/internal/handover"
	"github.com/pcp-go/pcp/examples/internal/pmcdfiles"
	"github.com/pcp-go/pcp/examples/internal/pmcdlog"
	"github.com/pcp-go/pcp/examples/internal/pmcdprocess"
	"github.com/pcp-go/pcp/examples/internal/requestport"
	"github.com/pcp-go/pcp/internal/getopt"
	"github.com/pcp-go/pcp/internal/pcpconf"
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
			o.logFile().ReportFailure(stderr, stderr)
		}
		return 1
	}
	if err != nil {
		return pmcdlog.Fail(stderr, err)
	}
	if o.installed {
		o.beInstalled(conf)
	}
	d := &daemon{options: o, conf: conf, log: o.logFile(),
		files: &pmcdfiles.Files{Conf: conf, Config: o.config, Names: o.names, Unique: o.unique, Installed: o.installed}}
	if o.verify {
		return d.files.Verify(stderr)
	}
	return d.run(stderr)
}

// A daemon is one run of the collector.
type daemon struct {
	*options
	conf    *pcpconf.Conf
	files   *pmcdfiles.Files
	log     *pmcdlog.Log
	process *pmcdprocess.Process
	started bool
}

func (d *daemon) run(stderr io.Writer) int {
	// Faults of the configuration are printed before the program leaves the terminal. Installed as
	// PCP's pmcd, the program reports them in the log, as C pmcd does.
	if !d.installed {
		if err := d.files.LoadConfig(); err != nil {
			return pmcdlog.Fail(stderr, err)
		}
	}
	var err error
	d.process, err = pmcdprocess.Start(pmcdprocess.Config{Embedded: d.config == "", Foreground: d.foreground, Managed: d.managed,
		User: d.user, RunDir: d.conf.Get("PCP_RUN_DIR")})
	if errors.Is(err, handover.ErrReported) {
		return 1
	}
	if d.process == nil {
		return pmcdlog.Fail(stderr, err)
	}
	// If another collector has the ports, its log must stay as it is.
	c := requestport.Config{Interfaces: d.interfaces, Ports: d.ports, Socket: d.socket, RunDir: d.conf.Get("PCP_RUN_DIR"),
		Backlog: d.backlog(), Embedded: d.config == "", Installed: d.installed, Activated: d.process.Activated}
	ports, problems, err := c.Open(stderr)
	d.files.Problems, d.ports = append(d.files.Problems, problems...), c.Ports
	if err != nil {
		status := pmcdlog.Fail(stderr, err)
		d.log.ReportFailure(stderr, d.process.Stderr)
		return status
	}
	d.log.Inherited = d.process.Predecessor != nil
	out, finish, err := d.log.Open(stderr)
	if err != nil {
		requestport.Close(requestport.Listeners(ports))
		return pmcdlog.Fail(stderr, err)
	}
	defer finish() // after the reason why the collector did not start
	status := pmcdlog.Fail(out, d.serve(out, ports))
	if status != 0 && !d.started && !d.log.Inherited {
		d.log.ReportFailure(out, d.process.Stderr)
	}
	return status
}
