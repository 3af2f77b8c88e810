package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/pcp-go/pcp/examples/internal/dso"
	"github.com/pcp-go/pcp/examples/internal/pmcdlog"
	"github.com/pcp-go/pcp/examples/internal/requestport"
	"github.com/pcp-go/pcp/internal/loglimit"
	"github.com/pcp-go/pcp/internal/pmlog"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmns"
)

// serve runs the collector until a signal ends it.
func (d *daemon) serve(out io.Writer, ports []requestport.Port) (err error) {
	d.out = out
	listeners := requestport.Listeners(ports)
	defer func() {
		if !d.started {
			requestport.Close(listeners)
		}
	}()
	if d.config != "" {
		d.writeEnv(out)
	}
	names := &nameFile{path: d.names, varDir: d.conf.Get("PCP_VAR_DIR"), loader: pmns.Loader{Unique: d.unique}}
	tree, err := names.load(d.config != "")
	if err == nil && d.installed {
		err = d.cfg.load(d.options)
	} else if d.installed {
		text, failure := names.pmcdError(err)
		err = plainError(text + "\nError: " + failure)
	}
	if err != nil {
		return err
	}
	srv := d.newServer(out, tree)
	if err := d.loadTLS(out, srv.Logger); err != nil {
		return errors.Join(err, srv.Close())
	}
	srv.TLS = d.tls.Serving()
	log := loglimit.New(srv.Logger) // a client may reset the collector as often as it likes
	defer loglimit.Flush(log)
	srv.OnReset = func() { d.reload(srv, names, log) }
	if d.listening != nil {
		d.listening()
	}
	for _, p := range d.cfg.problems {
		if d.installed {
			fmt.Fprintln(out, p)
		} else {
			srv.Logger.Error(p.Error())
		}
	}
	if err := d.cfg.addAgents(srv); err != nil {
		return errors.Join(err, srv.Close())
	}
	if d.cfg.conf != nil {
		srv.WriteAgents(out)
		srv.WriteAccess(out)
	}
	caught := catchSignals() // before anybody can know that the collector serves
	defer caught.stop()
	undo, err := d.becomeService(d.conf, srv.Logger)
	if err != nil {
		return errors.Join(err, srv.Close())
	}
	defer func() {
		if d.successor == nil { // or the files and the service are that one's
			undo()
		}
	}()
	if d.cfg.conf != nil {
		requestport.WriteTable(out, ports)
	} else {
		printHint(out, srv, listeners)
	}
	d.started = true
	d.startStderr.Close()            // a script that reads it waits for its end
	d.predecessor.Inherit(listeners) // not before: one that fails to start leaves the sockets alone
	d.predecessor.Relieve(caught.end, func() { srv.RestartAgents() })
	defer d.servePage(caught.end, srv)()
	return caught.serve(srv, listeners, func() bool { return d.handOver(caught.end, listeners, srv) })
}

// logger returns the log. With a configuration file it has the lines that scripts look for in
// pmcd's log.
func (d *daemon) logger(w io.Writer, level slog.Level) (log *slog.Logger) {
	if d.config == "" {
		return pmlog.New(w, "pmcd", level)
	}
	log, d.lines = pmcdlog.New(w, level, d.installed, d.noRestart)
	return log
}

// newServer makes the collector that the options and the configuration ask for.
func (d *daemon) newServer(out io.Writer, names *pmns.Tree) *collector.Server {
	level := slog.LevelInfo
	if d.debugTrace != 0 {
		level = slog.LevelDebug
	}
	log, agents := d.logger(out, level), dso.Agents(d.conf)
	if d.names != "" { // else an agent that no file of PCP's names keeps its names
		agents = namedBy(names, agents, log)
	}
	srv := &collector.Server{
		Logger: log, Names: names, Hostname: d.hostname, Timeout: d.timeout,
		AgentHelloTimeout: d.hello, MaxPDU: d.maxPDU, MaxContexts: d.maxContext, MaxMetrics: d.maxMetrics, NoRestart: d.noRestart, Trace: d.trace | d.debugTrace, DSO: agents,
	}
	srv.CredsRequired, srv.RequireClientCert = d.reqAuth, d.remoteCert
	if d.cfg.conf != nil {
		srv.TmpDir, srv.RunDir = d.conf.Get("PCP_TMP_DIR"), d.conf.Get("PCP_RUN_DIR")
		srv.HelpDir = filepath.Join(d.conf.Get("PCP_PMDAS_DIR"), "pmcd")
		srv.Labels = collector.SystemLabels(d.conf.Get("PCP_SYSCONF_DIR"))
		srv.Access, srv.Limits = d.cfg.conf.Access, d.cfg.conf.Limits
		setUsers(srv, d.conf)
		if os.Getenv("PMCD_ROOT_AGENT") != "0" {
			srv.RootSocket = filepath.Join(d.conf.Get("PCP_VAR_DIR"), "pmcd", "root.socket")
		}
	}
	if d.webLogin && srv.Users == nil {
		setUsers(srv, d.conf)
	}
	return srv
}

// printHint prints where the collector serves and a command that shows something of it.
func printHint(w io.Writer, srv *collector.Server, listeners []net.Listener) {
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
