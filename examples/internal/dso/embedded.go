package dso

import (
	"errors"
	"path/filepath"

	"github.com/pcp-go/pcp/examples/internal/simple"
	"github.com/pcp-go/pcp/internal/pcpconf"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/pmdago"
	"github.com/pcp-go/pcp/pmda/pmdalinux"
	"github.com/pcp-go/pcp/pmda/pmdammv"
	"github.com/pcp-go/pcp/pmda/pmdaproc"
)

// Embedded returns the agents that need no configuration: the metrics of the kernel and of
// processes, on Linux, those of the Go run time of this program, those that other programs write to
// MMV files, and an example. The kernel decides which processes a client may see.
func Embedded() ([]*pmda.Agent, error) {
	mmv := pmdammv.New(pmdammv.Options{Dir: filepath.Join(new(pcpconf.Conf).Get("PCP_TMP_DIR"), pmdammv.Name)})
	agents := []*pmda.Agent{pmdago.New(pmdago.Options{}), simple.New(""), mmv}
	for _, open := range []func() (*pmda.Agent, error){
		func() (*pmda.Agent, error) { return pmdalinux.New(pmdalinux.Options{}) },
		func() (*pmda.Agent, error) { return pmdaproc.New(nil) },
	} {
		switch a, err := open(); {
		case err == nil:
			agents = append(agents, a)
		case !errors.Is(err, errors.ErrUnsupported):
			return nil, err
		}
	}
	return agents, nil
}
