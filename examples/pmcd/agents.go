package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/pcp-go/pcp/examples/internal/simple"
	"github.com/pcp-go/pcp/examples/internal/trivial"
	"github.com/pcp-go/pcp/internal/pcpconf"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/collector/pmcdconf"
	"github.com/pcp-go/pcp/pmda/pmdago"
	"github.com/pcp-go/pcp/pmda/pmdalinux"
	"github.com/pcp-go/pcp/pmns"
)

// embedded are the agents that "dso" lines of a configuration file can name.
func embedded(conf *pcpconf.Conf) map[string]func(pdu.Domain) (pmda.Handler, error) {
	return map[string]func(pdu.Domain) (pmda.Handler, error){
		"simple_init": func(d pdu.Domain) (pmda.Handler, error) {
			a := simple.New(filepath.Join(conf.Get("PCP_PMDAS_DIR"), "simple", "simple.conf"))
			a.Domain = d
			return a, nil
		},
		"trivial_init": func(d pdu.Domain) (pmda.Handler, error) {
			a := trivial.New()
			a.Domain = d
			return a, nil
		},
	}
}

// load reads the configuration file. As for pmcd, a bad line does not keep the
// other agents from starting, but there has to be one.
func (o *options) load() error {
	if o.config == "" {
		return nil
	}
	cfg, err := o.readConfig()
	if cfg == nil {
		return err
	}
	o.cfg = cfg
	if err != nil {
		o.complaints = append(o.complaints, err.Error())
	}
	for _, w := range cfg.Warnings {
		o.complaints = append(o.complaints, w.Error())
	}
	return nil
}

// readConfig gives no Config without agents.
func (o *options) readConfig() (*pmcdconf.Config, error) {
	cfg, err := pmcdconf.Load(o.config)
	if cfg != nil && len(cfg.Agents) == 0 {
		if err == nil {
			err = fmt.Errorf("no PMDAs found in the configuration file %q: add lines of agents, or run without -c", o.config)
		}
		return nil, err
	}
	return cfg, err
}

// addAgents hosts the agents of the configuration file, or the embedded ones.
// One that does not start is logged and leaves the others alone.
func (o *options) addAgents(srv *collector.Server) error {
	if o.cfg == nil {
		return addEmbedded(srv)
	}
	for _, a := range o.cfg.Agents {
		if a.Kind == pmcdconf.KindDSO && a.Entry == "pmcd_init" {
			continue // it is built in
		}
		if err := srv.Start(a); err != nil && a.Kind == pmcdconf.KindDSO {
			srv.Logger.Error("agent not started", slog.Any("err", err))
		}
	}
	return nil
}

// addEmbedded hosts what is of use at once: what the kernel tells, on Linux, what
// Go's run time tells of this program, and something to play with.
func addEmbedded(srv *collector.Server) error {
	agents := []*pmda.Agent{pmdago.New(pmdago.Options{}), simple.New("")}
	switch linux, err := pmdalinux.New(pmdalinux.Options{}); {
	case err == nil:
		agents = append(agents, linux)
	case !errors.Is(err, errors.ErrUnsupported):
		return err
	}
	for _, a := range agents {
		if err := srv.Add(a); err != nil {
			return err
		}
	}
	return nil
}

// reload is what pmcd does on SIGHUP.
func (o *options) reload(srv *collector.Server, names *nameFile, conf *pcpconf.Conf) {
	srv.Logger.Info("pmcd RESTARTED")
	if o.config != "" {
		cfg, err := o.readConfig()
		if err != nil {
			srv.Logger.Error("Configuration left unchanged", slog.Any("err", err))
		} else {
			for _, w := range cfg.Warnings {
				srv.Logger.Error(w.Error())
			}
			if err := srv.Configure(cfg); err != nil {
				srv.Logger.Error("reconfigured in part", slog.Any("err", err))
			}
		}
	} else {
		srv.Restart()
	}
	if tree, err := names.reload(o.config != ""); err != nil {
		srv.Logger.Error("the name space is left unchanged", slog.Any("err", err))
	} else if tree != nil {
		srv.SetNames(tree)
	}
}

// A nameFile is a PMNS file and the state in which it was read.
type nameFile struct {
	path   string // empty for PCP's own
	loader pmns.Loader
	info   os.FileInfo
}

// load reads the file; without a path only if wanted.
func (n *nameFile) load(wanted bool) (*pmns.Tree, error) {
	if n.path == "" && !wanted {
		return nil, nil
	}
	if path := n.file(); path != "" {
		n.info, _ = os.Stat(path)
	}
	tree, err := n.loader.Load(n.path)
	if err != nil {
		return nil, fmt.Errorf("cannot load the name space: %w\nmend it, or name another with -n", err)
	}
	return tree, nil
}

func (n *nameFile) file() string {
	if n.path != "" {
		return n.path
	}
	return pmns.DefaultFile()
}

// reload is load if the file has changed, else nil.
func (n *nameFile) reload(wanted bool) (*pmns.Tree, error) {
	info, err := os.Stat(n.file())
	if n.path == "" && !wanted {
		return nil, nil
	}
	if err != nil {
		return nil, errors.Join(errors.New("cannot load the name space"), err)
	}
	if n.info != nil && os.SameFile(n.info, info) && n.info.Size() == info.Size() && n.info.ModTime().Equal(info.ModTime()) {
		return nil, nil
	}
	return n.load(wanted)
}
