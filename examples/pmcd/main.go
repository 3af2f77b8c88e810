// Pmcd is the performance metrics collector daemon: it hosts agents and answers
// clients such as pminfo, pmval and pmlogger.
//
// Without -c it hosts the agents that are built in, in the foreground, on the
// loopback interface, and reads nothing of a PCP installation. With -c it runs
// the agents of a configuration file, as pmcd(1) does, in the background unless
// -f says otherwise. It then stays the user who starts it, unless -U names another
// to become when the agents have been started: agents that need root are started
// again only by root.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/pcp-go/pcp/internal/account"
	"github.com/pcp-go/pcp/internal/getopt"
	"github.com/pcp-go/pcp/internal/pcpconf"
	"github.com/pcp-go/pcp/internal/pmlog"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/collector/pmcdconf"
	"github.com/pcp-go/pcp/pmns"
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
		return o.check(conf, stderr)
	}
	// What can be said on the terminal is said before the terminal is left.
	if err := o.load(); err != nil {
		return fail(stderr, err)
	}
	if o.inBackground() {
		if o.user != "" && !account.Exists(o.user) {
			return fail(stderr, fmt.Errorf("cannot find the %s user to switch to: name another with -U", o.user))
		}
		if parent, err := daemonize(); err != nil || parent {
			return fail(stderr, err)
		}
	}
	o.before = keepStderr()
	out, finish, err := o.openLog(stderr)
	if err != nil {
		return fail(stderr, err)
	}
	defer finish() // after the reason why it did not start
	status := fail(out, o.serve(conf, out))
	if status != 0 && !o.started {
		o.reportFailure(out)
	}
	return status
}

// openLog opens the log, if there is to be one; without it out is stderr.
func (o *options) openLog(stderr io.Writer) (out io.Writer, finish func() error, err error) {
	path := o.logPath()
	if path == "" {
		return stderr, func() error { return nil }, nil
	}
	f, err := pmlog.Open(path, "pmcd")
	if err != nil {
		return nil, nil, fmt.Errorf("cannot write the log: %w: choose another place with -l", err)
	}
	if err := f.RedirectStderr(); err != nil {
		f.Finish()
		return nil, nil, err
	}
	return f, f.Finish, nil
}

func fail(stderr io.Writer, err error) int {
	if err == nil {
		return 0
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		fmt.Fprintf(stderr, "pmcd: %s\n", line)
	}
	return 1
}

// check verifies the configuration.
func (o *options) check(conf *pcpconf.Conf, stderr io.Writer) int {
	cfg, err := pmcdconf.Load(o.configPath(conf))
	if cfg != nil {
		for _, w := range cfg.Warnings {
			fail(stderr, w) // which is no failure
		}
	}
	return fail(stderr, err)
}

func (o *options) configPath(conf *pcpconf.Conf) string {
	if o.config != "" {
		return o.config
	}
	return conf.Get("PCP_PMCDCONF_PATH")
}

// serve runs the collector until a signal ends it.
func (o *options) serve(conf *pcpconf.Conf, out io.Writer) (err error) {
	level := slog.LevelInfo
	if o.debug {
		level = slog.LevelDebug
	}
	srv := &collector.Server{
		Logger: pmlog.New(out, "pmcd", level), Hostname: o.hostname, Timeout: o.timeout,
		AgentHelloTimeout: o.hello, MaxPDU: o.maxPDU, NoRestart: o.noRestart, Trace: o.trace, DSO: embedded(conf),
	}
	if o.cfg != nil {
		srv.TmpDir, srv.RunDir = conf.Get("PCP_TMP_DIR"), conf.Get("PCP_RUN_DIR")
		srv.Labels = collector.SystemLabels(conf.Get("PCP_SYSCONF_DIR"))
		srv.Access = o.cfg.Access
	}
	names := &nameFile{path: o.names, loader: pmns.Loader{Unique: o.unique}}
	srv.OnReset = func() { o.reload(srv, names, conf) }
	if srv.Names, err = names.load(o.config != ""); err != nil {
		return err
	}
	listeners, errs := o.listen(conf)
	if len(errs) > 0 && (o.config == "" || len(listeners) == 0) {
		closeAll(listeners)
		return errors.Join(errs...)
	}
	for _, err := range errs {
		srv.Logger.Error(err.Error())
	}
	for _, c := range o.complaints {
		srv.Logger.Error(c)
	}
	if err := o.addAgents(srv); err != nil {
		return err
	}
	if o.cfg != nil {
		srv.WriteAccess(out)
	}
	caught := catchSignals() // before anybody hears that it is there
	defer caught.stop()
	leave, err := o.settle(conf, srv.Logger)
	if err != nil {
		closeAll(listeners)
		return errors.Join(err, srv.Close())
	}
	defer leave()
	look(out, srv, listeners)
	o.started = true
	o.before.Close() // who reads there waits for the end of it
	return caught.serve(srv, listeners)
}

func (o *options) logPath() string {
	switch {
	case o.log == "-" || o.log == "" && o.config == "":
		return ""
	case o.log == "":
		return "pmcd.log"
	}
	return o.log
}

// signals are those that the program heeds.
type signals struct {
	end  context.Context // ends with SIGTERM or SIGINT
	hup  chan os.Signal
	stop func()
}

func catchSignals() *signals {
	end, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	return &signals{end, hup, func() {
		signal.Stop(hup)
		stop()
	}}
}

// serve serves until the end; SIGHUP resets.
func (s *signals) serve(srv *collector.Server, listeners []net.Listener) error {
	reloading := make(chan struct{})
	go func() {
		defer close(reloading)
		for {
			select {
			case <-s.hup:
				srv.Reset()
			case <-s.end.Done():
				return
			}
		}
	}()
	err := srv.Serve(s.end, listeners...)
	s.stop()
	<-reloading
	return err
}

// look says how to see something.
func look(w io.Writer, srv *collector.Server, listeners []net.Listener) {
	var at []string
	host := ""
	for _, l := range listeners {
		switch a := l.Addr().(type) {
		case *net.TCPAddr:
			at = append(at, a.String())
			if host == "" {
				host = fmt.Sprintf("localhost:%d", a.Port)
				if !a.IP.IsUnspecified() && !a.IP.Equal(net.IPv4(127, 0, 0, 1)) && !a.IP.Equal(net.IPv6loopback) {
					host = a.String()
				}
			}
		default:
			at = append(at, "unix:"+a.String())
			if host == "" {
				host = "unix:" + a.String()
			}
		}
	}
	fmt.Fprintf(w, "pmcd: %d agents, on %s; try: pminfo -h %s -f pmcd.version pmcd.agent.name\n",
		srv.NumAgents(), strings.Join(at, " "), host)
}
