// Pmdammv exports the metrics of programs that write them to MMV files. It replaces PCP's agent of
// the same name, under pmcd and over a pipe. The package pmda/pmdammv is the agent, which
// examples/pmcd contains.
//
//	go build ./examples/pmdammv
//	install -b pmdammv /var/lib/pcp/pmdas/mmv/
//
// Replace the line in /etc/pcp/pmcd/pmcd.conf that begins with mmv by this one and restart pmcd:
//
//	mmv	70	pipe	binary	/var/lib/pcp/pmdas/mmv/pmdammv
//
// For a collector without PCP, --install writes the agent's name space into a directory called mmv,
// as in README.md for the agent cache. The files are those of $PCP_TMP_DIR/mmv, so programs and the
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
