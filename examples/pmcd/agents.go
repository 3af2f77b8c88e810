package main

import (
	"errors"
	"path/filepath"

	"github.com/pcp-go/pcp/examples/internal/simple"
	"github.com/pcp-go/pcp/internal/pcpconf"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/pmdago"
	"github.com/pcp-go/pcp/pmda/pmdalinux"
	"github.com/pcp-go/pcp/pmda/pmdammv"
)

// addAgents hosts the agents of the configuration file, or the embedded ones.
// One that does not start is logged and leaves the others alone.
func (f *configFile) addAgents(srv *collector.Server) error {
	if f.conf == nil {
		return addEmbedded(srv)
	}
	for _, a := range f.conf.Agents {
		srv.StartAgent(a) // logs why it does not start
	}
	return nil
}

// addEmbedded hosts the agents that need no configuration: the metrics of the
// kernel, on Linux, those of the Go run time of this program, those that other
// programs write to MMV files, and an example.
func addEmbedded(srv *collector.Server) error {
	mmv := pmdammv.New(pmdammv.Options{Dir: filepath.Join(new(pcpconf.Conf).Get("PCP_TMP_DIR"), pmdammv.Name)})
	agents := []*pmda.Agent{pmdago.New(pmdago.Options{}), simple.New(""), mmv}
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
