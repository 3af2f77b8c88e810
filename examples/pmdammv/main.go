// Pmdammv exports the metrics of programs that write them to MMV files, as PCP's agent of that name
// does and in its place: under pmcd, over a pipe. The package pmda/pmdammv is the agent, which
// examples/pmcd has inside.
//
//	go build ./examples/pmdammv
//	install -b pmdammv /var/lib/pcp/pmdas/mmv/
//
// and in /etc/pcp/pmcd/pmcd.conf, in place of the line that begins with mmv, after which pmcd is to
// be restarted:
//
//	mmv	70	pipe	binary	/var/lib/pcp/pmdas/mmv/pmdammv
//
// A collector without a PCP gets it with a name space from --install, in a directory called mmv, as
// in README.md for the agent cache. The files are those of $PCP_TMP_DIR/mmv, for which program and
// agent must have the same PCP_TMP_DIR.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/pcp-go/pcp/internal/pcpconf"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/pmdammv"
)

func main() {
	conf, err := pcpconf.Load("")
	if err != nil {
		fmt.Fprintln(os.Stderr, "pmdammv:", err)
		os.Exit(1)
	}
	d := pmda.Daemon{
		Agent: pmdammv.New(pmdammv.Options{Dir: filepath.Join(conf.Get("PCP_TMP_DIR"), pmdammv.Name)}),
		Log:   "mmv.log", PipeOnly: true,
	}
	d.Main()
}
