package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/pcp-go/pcp/examples/internal/dso"
	"github.com/pcp-go/pcp/examples/internal/metricspage"
	"github.com/pcp-go/pcp/examples/internal/pmcdfiles"
	"github.com/pcp-go/pcp/examples/internal/pmcdlog"
	"github.com/pcp-go/pcp/examples/internal/requestport"
	"github.com/pcp-go/pcp/examples/internal/saslconf"
	"github.com/pcp-go/pcp/internal/loglimit"
	"github.com/pcp-go/pcp/internal/pmlog"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmns"
)

// serve runs the collector until a signal ends it.
func (d *daemon) serve(out io.Writer, ports []requestport.Port) error {
	listeners := requestport.Listeners(ports)
	defer func() {
		if !d.started {
			requestport.Close(listeners)
		}
	}()
	if d.config != "" {
		d.writeEnv(out)
	}
	names, err := d.files.LoadNames()
	if err == nil && d.installed {
		err = d.files.LoadConfig()
	}
	if err != nil {
		return err
	}
	srv, lines := d.newServer(out, names)
	log := loglimit.New(srv.Logger) // a client may reset the collector as often as it likes
	defer loglimit.Flush(log)
	srv.OnReset = func() {
		lines.Reset()
		d.files.Reload(srv, out, log)
	}
	if err := d.prepare(srv, out); err != nil {
		return errors.Join(err, srv.Close())
	}
	return d.process.Serve(srv, listeners, func(ctx context.Context) (stop func()) {
		if d.config != "" {
			requestport.WriteTable(out, ports)
		} else {
			requestport.WriteHint(out, srv.NumAgents(), listeners)
		}
		d.started = true
		if d.web == "" {
			return func() {}
		}
		page := metricspage.Page{Addr: d.web, Login: d.webLogin, Wait: d.process.Predecessor != nil}
		if d.webTLS {
			page.TLS = d.files.TLS
		}
		return page.Serve(ctx, srv)
	})
}

// prepare loads the certificates, since a fault of theirs ends the program, and then starts the
// agents: those of the configuration file, or else the embedded ones. An agent of the configuration
// file that does not start is logged and leaves the others alone.
func (d *daemon) prepare(srv *collector.Server, out io.Writer) error {
	if err := d.files.LoadTLS(out, srv.Logger); err != nil {
		return err
	}
	srv.TLS = d.files.TLS.Serving()
	if d.webTLS && srv.TLS == nil {
		return errors.New("--web-tls needs a certificate: set tls-cert-file and tls-key-file in the tls.conf that PCP_TLSCONF_PATH names")
	}
	d.process.Listening()
	for _, p := range d.files.Problems {
		if d.installed {
			fmt.Fprintln(out, p)
		} else {
			srv.Logger.Error(p.Error())
		}
	}
	if d.config == "" {
		agents, err := dso.Embedded()
		for i := 0; i < len(agents) && err == nil; i++ {
			err = srv.Add(agents[i])
		}
		return err
	}
	for _, a := range d.files.Parsed.Agents {
		srv.StartAgent(a)
	}
	srv.WriteAgents(out)
	srv.WriteAccess(out)
	return nil
}

// newServer makes the collector that the options and the configuration ask for. With a
// configuration file, its log has the lines that scripts look for in pmcd's log.
func (d *daemon) newServer(out io.Writer, names *pmns.Tree) (*collector.Server, *pmcdlog.Lines) {
	level := slog.LevelInfo
	if d.debugTrace != 0 {
		level = slog.LevelDebug
	}
	log, lines := pmlog.New(out, "pmcd", level), (*pmcdlog.Lines)(nil)
	if d.config != "" {
		log, lines = pmcdlog.New(out, level, d.installed, d.noRestart)
	}
	agents := dso.Agents(d.conf)
	if d.names != "" { // else an agent that no file of PCP's names keeps its names
		agents = pmcdfiles.NamedBy(names, agents, log)
	}
	srv := &collector.Server{
		Logger: log, Names: names, Hostname: d.hostname, Timeout: d.timeout, AgentHelloTimeout: d.hello,
		MaxPDU: d.maxPDU, MaxContexts: d.maxContext, MaxMetrics: d.maxMetrics, NoRestart: d.noRestart,
		Trace: d.trace | d.debugTrace, DSO: agents, CredsRequired: d.reqAuth, RequireClientCert: d.remoteCert,
	}
	d.files.Configure(srv)
	if d.config != "" && os.Getenv("PMCD_ROOT_AGENT") != "0" {
		srv.RootSocket = filepath.Join(d.conf.Get("PCP_VAR_DIR"), "pmcd", "root.socket")
	}
	if d.webLogin && srv.Users == nil {
		saslconf.SetUsers(srv, d.conf)
	}
	return srv, lines
}
