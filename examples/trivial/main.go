// Trivial is an agent with one metric, the counterpart of PCP's pmdatrivial. PCP's agent supports
// only pipes, this one also sockets.
//
//	go build ./examples/trivial
//	sudo ./trivial --install /var/lib/pcp/pmdas/trivial
//	cd /var/lib/pcp/pmdas/trivial && sudo ./Install
package main

import (
	"cmp"
	"os"
	"path/filepath"

	"github.com/pcp-go/pcp/examples/internal/trivial"
	"github.com/pcp-go/pcp/pmda"
)

func main() {
	dir := cmp.Or(os.Getenv("PCP_PMDAS_DIR"), "/var/lib/pcp/pmdas")
	d := pmda.Daemon{Agent: trivial.New(), Log: "trivial.log", HelpPath: filepath.Join(dir, "trivial", "help")}
	d.Main()
}
