package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda/collector"
)

// reload reads the configuration and the name space anew, as pmcd does on SIGHUP, and logs it in
// its words.
func (d *daemon) reload(srv *collector.Server, names *nameFile, log *slog.Logger) {
	d.lines.Reset()
	var b bytes.Buffer
	fmt.Fprintf(&b, "\n\npmcd RESTARTED at %s\n\n\nCurrent PMCD clients ...\n", time.Now().Format(time.ANSIC))
	_ = srv.WriteClients(&b) // a Buffer takes all
	log.Info(b.String())
	if d.config == "" {
		srv.RestartAgents()
	} else {
		b.Reset()
		d.reconfigure(&b, srv, log)
		d.out.Write(b.Bytes())                   // a log that takes no more cannot say so
		if versionOf(d.config).FileInfo != nil { // else there was nothing to do
			srv.WriteAgents(d.out)
			srv.WriteAccess(d.out)
		}
	}
	d.reloadTLS(srv, log)
	d.reloadNames(srv, names, log)
}

// reloadNames reads the name space again if its file has changed.
func (d *daemon) reloadNames(srv *collector.Server, names *nameFile, log *slog.Logger) {
	file := cmp.Or(names.path, "DEFAULT")
	tree, err := names.reload(d.config != "")
	if err != nil || tree != nil {
		log.Info(fmt.Sprintf("Reloading PMNS %q", file))
	}
	switch {
	case err != nil && d.installed:
		text, failure := names.pmcdError(err)
		fmt.Fprintln(d.out, text)
		log.Error(failure)
		fmt.Fprintln(d.out, "PMNS left unchanged") // without names, as C pmcd is then, nobody would be helped
	case err != nil:
		log.Error("the name space is left unchanged", slog.Any("err", err))
	case tree != nil:
		srv.SetNames(tree)
	case d.config != "":
		log.Info(fmt.Sprintf("PMNS file %q is unchanged", file))
	}
}

// reconfigure reads the configuration file if it has changed, and restarts agents that have died.
func (d *daemon) reconfigure(w io.Writer, srv *collector.Server, log *slog.Logger) {
	versions := d.configVersions()
	if d.cfg.read[0].same(versions[0]) && d.cfg.read[1].same(versions[1]) && versions[0].FileInfo != nil {
		fmt.Fprintf(w, "Configuration file '%s' unchanged\nRestarting any deceased agents:\n", d.config)
		names := srv.RestartAgents()
		for _, name := range names {
			fmt.Fprintf(w, "    \"%s\" agent\n", name)
		}
		if len(names) == 0 {
			fmt.Fprintln(w, "    (no agents required restarting)")
		}
		return
	}
	conf, err := d.readConfig()
	if err != nil {
		switch {
		case errors.Is(err, errNoAgents):
			fmt.Fprintf(w, "Configuration file '%s' has no valid agents\n", d.config)
		case versions[0].FileInfo == nil:
			if _, gone := os.Stat(d.config); d.installed && gone != nil {
				err = fmt.Errorf("ParseRestartAgents: stat %s: %w", d.config, pdu.FromError(gone))
			}
			fmt.Fprintln(w, err)
		default:
			fmt.Fprintf(w, "%v\nConfiguration file '%s' has errors\n", err, d.config)
		}
		fmt.Fprintln(w, "Configuration left unchanged")
		return
	}
	d.cfg.read = versions
	for _, warning := range conf.Warnings {
		fmt.Fprintln(w, d.configError(warning))
	}
	if err := srv.Configure(conf); err != nil {
		log.Error("reconfigured in part", slog.Any("err", err))
	}
}
