package main

import (
	"maps"
	"path/filepath"
	"slices"

	"github.com/pcp-go/pcp/examples/internal/simple"
	"github.com/pcp-go/pcp/examples/internal/trivial"
	"github.com/pcp-go/pcp/internal/pcpconf"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/pmdago"
	"github.com/pcp-go/pcp/pmda/pmdalinux"
	"github.com/pcp-go/pcp/pmda/pmdammv"
)

// embedded are the agents that "open dso" runs, by the names of the initialisation routines that PCP's have. A domain of 0
// is the agent's own.
var embedded = map[string]func(domain pdu.Domain) (pmda.Handler, error){
	"simple_init": func(domain pdu.Domain) (pmda.Handler, error) {
		return inDomain(simple.New(filepath.Join(new(pcpconf.Conf).Get("PCP_PMDAS_DIR"), "simple", "simple.conf")), domain), nil
	},
	"trivial_init": func(domain pdu.Domain) (pmda.Handler, error) { return inDomain(trivial.New(), domain), nil },
	"go_init": func(domain pdu.Domain) (pmda.Handler, error) {
		return inDomain(pmdago.New(pmdago.Options{}), domain), nil
	},
	"linux_init": func(domain pdu.Domain) (pmda.Handler, error) {
		a, err := pmdalinux.New(pmdalinux.Options{})
		if err != nil {
			return nil, err
		}
		return inDomain(a, domain), nil
	},
	"mmv_init": func(domain pdu.Domain) (pmda.Handler, error) {
		dir := filepath.Join(new(pcpconf.Conf).Get("PCP_TMP_DIR"), pmdammv.Name)
		return pmdammv.New(pmdammv.Options{Domain: domain, Dir: dir}), nil
	},
}

// inDomain is an agent with another domain, unless that is 0.
func inDomain(a *pmda.Agent, domain pdu.Domain) *pmda.Agent {
	if domain != 0 {
		a.Domain = domain
	}
	return a
}

// embeddedNames are the keys of embedded, in order.
func embeddedNames() []string { return slices.Sorted(maps.Keys(embedded)) }
