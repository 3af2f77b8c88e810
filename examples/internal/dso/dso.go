// Package dso has the agents that the examples run in their own process: those that PCP loads from
// shared objects, and those of a pmcd without a configuration.
package dso

import (
	"cmp"
	"os"
	"path/filepath"

	"github.com/pcp-go/pcp/examples/internal/sample"
	"github.com/pcp-go/pcp/examples/internal/simple"
	"github.com/pcp-go/pcp/examples/internal/trivial"
	"github.com/pcp-go/pcp/internal/helptext"
	"github.com/pcp-go/pcp/internal/pcpconf"
	"github.com/pcp-go/pcp/internal/pmdaroot"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/pmdago"
	"github.com/pcp-go/pcp/pmda/pmdalinux"
	"github.com/pcp-go/pcp/pmda/pmdammv"
	"github.com/pcp-go/pcp/pmda/pmdaproc"
)

// Agents returns the agents by the names of the initialisation routines of PCP's shared objects.
// The domain 0 means the agent's usual domain.
func Agents(conf *pcpconf.Conf) map[string]func(domain pdu.Domain) (pmda.Handler, error) {
	root := pmdaroot.NewClient(filepath.Join(conf.Get("PCP_VAR_DIR"), "pmcd", "root.socket"))
	return map[string]func(domain pdu.Domain) (pmda.Handler, error){
		"simple_init": func(domain pdu.Domain) (pmda.Handler, error) {
			dir := filepath.Join(conf.Get("PCP_PMDAS_DIR"), "simple")
			return inDomain(withHelp(simple.New(filepath.Join(dir, "simple.conf")), dir), domain), nil
		},
		"sample_init": func(domain pdu.Domain) (pmda.Handler, error) {
			dir := filepath.Join(conf.Get("PCP_PMDAS_DIR"), "sample")
			return sample.New(sample.Options{Domain: cmp.Or(domain, sample.DSODomain), Dir: dir}), nil
		},
		"trivial_init": func(domain pdu.Domain) (pmda.Handler, error) {
			return inDomain(withHelp(trivial.New(), filepath.Join(conf.Get("PCP_PMDAS_DIR"), "trivial")), domain), nil
		},
		"go_init": func(domain pdu.Domain) (pmda.Handler, error) {
			return inDomain(pmdago.New(pmdago.Options{}), domain), nil
		},
		"linux_init": func(domain pdu.Domain) (pmda.Handler, error) {
			a, err := pmdalinux.New(pmdalinux.Options{
				Root:     os.Getenv("LINUX_STATSPATH"),
				StateDir: filepath.Join(conf.Get("PCP_VAR_DIR"), "config", "pmda"),

				ContainerProcess: root.ProcessID,
			})
			if err != nil {
				return nil, err
			}
			return inDomain(a, domain), nil
		},
		"proc_init": func(domain pdu.Domain) (pmda.Handler, error) {
			a, err := pmdaproc.New(&pmdaproc.Options{
				Root:          os.Getenv("PROC_STATSPATH"),
				HotprocConfig: filepath.Join(conf.Get("PCP_PMDAS_DIR"), "proc", "hotproc.conf"),

				AccountingFile:    conf.Get("PCP_PACCT_SYSTEM_PATH"),
				PrivateAccounting: filepath.Join(conf.Get("PCP_VAR_DIR"), "pmcd", "pacct"),
				ContainerCgroup:   root.CgroupName,
			})
			if err != nil {
				return nil, err
			}
			return inDomain(a, domain), nil
		},
		"mmv_init":     mappedValues(conf, pmdammv.Name, pmdammv.Domain),
		"pmproxy_init": mappedValues(conf, pmdammv.PMProxyName, pmdammv.PMProxyDomain),
	}
}

// withHelp gives an agent the compiled help texts in dir. If they cannot be read, the agent keeps
// its own.
func withHelp(a *pmda.Agent, dir string) *pmda.Agent {
	files := os.DirFS(dir)
	if _, err := helptext.Read(files, "help"); err == nil {
		_ = a.UseHelp(files, "help") // the agent reports the error, too
	}
	return a
}

func inDomain(a *pmda.Agent, domain pdu.Domain) *pmda.Agent {
	if domain != 0 {
		a.Domain = domain
	}
	return a
}

// mappedValues returns a function that makes the agent of the MMV files in one of PCP's directories
// for such files.
func mappedValues(conf *pcpconf.Conf, name string, own pdu.Domain) func(domain pdu.Domain) (pmda.Handler, error) {
	return func(domain pdu.Domain) (pmda.Handler, error) {
		if domain == 0 {
			domain = own
		}
		return pmdammv.New(pmdammv.Options{Name: name, Domain: domain, Dir: filepath.Join(conf.Get("PCP_TMP_DIR"), name)}), nil
	}
}
