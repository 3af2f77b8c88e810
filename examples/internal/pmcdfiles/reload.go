package pmcdfiles

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

// Reload reads the configuration, tls.conf and the name space anew, as pmcd does on SIGHUP. It logs
// that in pmcd's words, to out and log.
func (f *Files) Reload(srv *collector.Server, out io.Writer, log *slog.Logger) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "\n\npmcd RESTARTED at %s\n\n\nCurrent PMCD clients ...\n", time.Now().Format(time.ANSIC))
	_ = srv.WriteClients(&b) // a Buffer takes all
	log.Info(b.String())
	if f.Config == "" {
		srv.RestartAgents()
	} else {
		b.Reset()
		f.reconfigure(&b, srv, log)
		out.Write(b.Bytes())                     // a log that takes no more cannot say so
		if versionOf(f.Config).FileInfo != nil { // else there was nothing to do
			srv.WriteAgents(out)
			srv.WriteAccess(out)
		}
	}
	f.reloadTLS(srv, log)
	f.reloadNames(srv, out, log)
}

// reloadNames reads the name space again if its file has changed.
func (f *Files) reloadNames(srv *collector.Server, out io.Writer, log *slog.Logger) {
	file := cmp.Or(f.Names, "DEFAULT")
	tree, err := f.loadChangedNames()
	if err != nil || tree != nil {
		log.Info(fmt.Sprintf("Reloading PMNS %q", file))
	}
	switch {
	case err != nil && f.Installed:
		text, failure := f.namesError(err)
		fmt.Fprintln(out, text)
		log.Error(failure)
		fmt.Fprintln(out, "PMNS left unchanged") // without names, as C pmcd is then, nobody would be helped
	case err != nil:
		log.Error("the name space is left unchanged", slog.Any("err", err))
	case tree != nil:
		srv.SetNames(tree)
	case f.Config != "":
		log.Info(fmt.Sprintf("PMNS file %q is unchanged", file))
	}
}

// reconfigure reads the configuration file if it has changed, and restarts agents that have died.
func (f *Files) reconfigure(w io.Writer, srv *collector.Server, log *slog.Logger) {
	versions := f.configVersions()
	if f.configRead[0].same(versions[0]) && f.configRead[1].same(versions[1]) && versions[0].FileInfo != nil {
		fmt.Fprintf(w, "Configuration file '%s' unchanged\nRestarting any deceased agents:\n", f.Config)
		names := srv.RestartAgents()
		for _, name := range names {
			fmt.Fprintf(w, "    \"%s\" agent\n", name)
		}
		if len(names) == 0 {
			fmt.Fprintln(w, "    (no agents required restarting)")
		}
		return
	}
	conf, err := f.readConfig()
	if err != nil {
		switch {
		case errors.Is(err, errNoAgents):
			fmt.Fprintf(w, "Configuration file '%s' has no valid agents\n", f.Config)
		case versions[0].FileInfo == nil:
			if _, gone := os.Stat(f.Config); f.Installed && gone != nil {
				err = fmt.Errorf("ParseRestartAgents: stat %s: %w", f.Config, pdu.FromError(gone))
			}
			fmt.Fprintln(w, err)
		default:
			fmt.Fprintf(w, "%v\nConfiguration file '%s' has errors\n", err, f.Config)
		}
		fmt.Fprintln(w, "Configuration left unchanged")
		return
	}
	f.configRead = versions
	for _, warning := range conf.Warnings {
		fmt.Fprintln(w, f.configError(warning))
	}
	if err := srv.Configure(conf); err != nil {
		log.Error("reconfigured in part", slog.Any("err", err))
	}
}
