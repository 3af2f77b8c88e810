package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"

	"github.com/pcp-go/pcp/internal/pcpconf"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/collector/pmcdconf"
)

// A configFile is the configuration file of -c.
type configFile struct {
	conf     *pmcdconf.Config // nil without -c
	problems []error          // to be logged: bad lines and warnings
}

// load reads the file, if there is one. As for pmcd, a bad line does not keep the
// other agents from starting, but there has to be one.
func (f *configFile) load(o *options) error {
	if o.config == "" {
		return nil
	}
	conf, err := o.readConfig()
	if conf == nil {
		return err
	}
	f.conf = conf
	if err != nil {
		f.problems = append(f.problems, err)
	}
	for _, w := range conf.Warnings {
		f.problems = append(f.problems, o.configError(w))
	}
	return nil
}

// configError is an error of the configuration file. In the place of PCP's pmcd it has
// that one's text, which does not name the file.
func (o *options) configError(err error) error {
	if err == nil || !o.installed {
		return err
	}
	if open, ok := errors.AsType[*fs.PathError](err); ok && open.Op == "open" {
		return plainError(fmt.Sprintf("ParseInitAgents: open %s: %v", open.Path, pdu.FromError(open.Err)))
	}
	return plainError(pmcdconf.PMCDText(err))
}

// readConfig reads the configuration file. It returns no Config without agents.
func (o *options) readConfig() (*pmcdconf.Config, error) {
	path := o.config
	conf, err := pmcdconf.Load(path)
	if conf != nil && len(conf.Agents) == 0 {
		switch {
		case err != nil:
		case o.installed:
			return nil, plainError(fmt.Sprintf("Error: No PMDAs found in the configuration file %q", path))
		default:
			err = fmt.Errorf("no PMDAs found in the configuration file %q: add lines of agents, or run without -c", path)
		}
		return nil, o.configError(err)
	}
	return conf, o.configError(err)
}

// verifyConfig checks the configuration file, that of PCP without -c, and returns
// the exit status. What it prints is for scripts, and so without the program's name,
// as with pmcd.
func (o *options) verifyConfig(conf *pcpconf.Conf, stderr io.Writer) int {
	path := o.config
	if path == "" {
		path = conf.Get("PCP_PMCDCONF_PATH")
	}
	cfg, err := pmcdconf.Load(path)
	if cfg != nil {
		for _, w := range cfg.Warnings {
			fmt.Fprintln(stderr, pmcdconf.PMCDText(w)) // a warning does not change the status
		}
	}
	if err == nil {
		return 0
	}
	if open, ok := errors.AsType[*fs.PathError](err); ok && open.Op == "open" {
		err = fmt.Errorf("pmcd verify %s: %w", path, pdu.FromError(err))
	}
	fmt.Fprintln(stderr, pmcdconf.PMCDText(err))
	return 1
}

// reload reads the configuration and the name space anew, as pmcd does on SIGHUP.
func (d *daemon) reload(srv *collector.Server, names *nameFile, log *slog.Logger) {
	log.Info("pmcd RESTARTED")
	if d.config == "" {
		srv.RestartAgents()
	} else if conf, err := d.readConfig(); err != nil {
		log.Error("Configuration left unchanged", slog.Any("err", err))
	} else {
		for _, w := range conf.Warnings {
			log.Error(d.configError(w).Error())
		}
		if err := srv.Configure(conf); err != nil {
			log.Error("reconfigured in part", slog.Any("err", err))
		}
	}
	if tree, err := names.reload(d.config != ""); err != nil {
		log.Error("the name space is left unchanged", slog.Any("err", err))
	} else if tree != nil {
		srv.SetNames(tree)
	}
}
