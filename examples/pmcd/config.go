package main

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/pcp-go/pcp/internal/pcpconf"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/collector/pmcdconf"
)

// A configFile is the configuration file of -c.
type configFile struct {
	conf     *pmcdconf.Config // nil without -c
	problems []string         // to be logged: bad lines and warnings
}

// load reads the file, if there is one. As for pmcd, a bad line does not keep the
// other agents from starting, but there has to be one.
func (f *configFile) load(path string) error {
	if path == "" {
		return nil
	}
	conf, err := readConfig(path)
	if conf == nil {
		return err
	}
	f.conf = conf
	if err != nil {
		f.problems = append(f.problems, err.Error())
	}
	for _, w := range conf.Warnings {
		f.problems = append(f.problems, w.Error())
	}
	return nil
}

// readConfig reads a configuration file. It returns no Config without agents.
func readConfig(path string) (*pmcdconf.Config, error) {
	conf, err := pmcdconf.Load(path)
	if conf != nil && len(conf.Agents) == 0 {
		if err == nil {
			err = fmt.Errorf("no PMDAs found in the configuration file %q: add lines of agents, or run without -c", path)
		}
		return nil, err
	}
	return conf, err
}

// verifyConfig checks the configuration file, that of PCP without -c, and returns
// the exit status.
func (o *options) verifyConfig(conf *pcpconf.Conf, stderr io.Writer) int {
	path := o.config
	if path == "" {
		path = conf.Get("PCP_PMCDCONF_PATH")
	}
	cfg, err := pmcdconf.Load(path)
	if cfg != nil {
		for _, w := range cfg.Warnings {
			fail(stderr, w) // a warning does not change the status
		}
	}
	return fail(stderr, err)
}

// reload reads the configuration and the name space anew, as pmcd does on SIGHUP.
func (d *daemon) reload(srv *collector.Server, names *nameFile) {
	srv.Logger.Info("pmcd RESTARTED")
	if d.config == "" {
		srv.RestartAgents()
	} else if conf, err := readConfig(d.config); err != nil {
		srv.Logger.Error("Configuration left unchanged", slog.Any("err", err))
	} else {
		for _, w := range conf.Warnings {
			srv.Logger.Error(w.Error())
		}
		if err := srv.Configure(conf); err != nil {
			srv.Logger.Error("reconfigured in part", slog.Any("err", err))
		}
	}
	if tree, err := names.reload(d.config != ""); err != nil {
		srv.Logger.Error("the name space is left unchanged", slog.Any("err", err))
	} else if tree != nil {
		srv.SetNames(tree)
	}
}
