package main

import (
	"errors"
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
	"github.com/pcp-go/pcp/pmda/pmdammv"
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
		"mmv_init":     mappedValues(conf, pmdammv.Name),
		"pmproxy_init": mappedValues(conf, pmdammv.PMProxyName),
	}
}

// mappedValues makes the agent of the MMV files in one of PCP's directories for such files.
func mappedValues(conf *pcpconf.Conf, name string) func(pdu.Domain) (pmda.Handler, error) {
	return func(d pdu.Domain) (pmda.Handler, error) {
		return pmdammv.New(pmdammv.Options{Name: name, Domain: d, Dir: filepath.Join(conf.Get("PCP_TMP_DIR"), name)}), nil
	}
}

// addAgents hosts the agents of the configuration file, or the embedded ones.
// One that does not start is logged and leaves the others alone.
func (f *configFile) addAgents(srv *collector.Server) error {
	if f.conf == nil {
		return addEmbedded(srv)
	}
	for _, a := range f.conf.Agents {
		if a.Kind == pmcdconf.KindDSO && a.Entry == "pmcd_init" {
			continue // it is built in
		}
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
