// Simple is an agent that shows most features of agents, the counterpart of PCP's pmdasimple:
// values that a client can set, two instance domains, help texts and labels. One instance domain
// follows a file. The package examples/internal/simple is the agent, which also runs inside a
// collector.
//
//	go build ./examples/simple
//	./simple -i 2078                 # wait for a collector
//	dbpmda                           # or try it by hand: open pipe ./simple
package main

import (
	"cmp"
	"os"
	"path/filepath"

	"github.com/pcp-go/pcp/examples/internal/simple"
	"github.com/pcp-go/pcp/pmda"
)

func main() {
	dir := filepath.Join(cmp.Or(os.Getenv("PCP_PMDAS_DIR"), "/var/lib/pcp/pmdas"), "simple")
	d := pmda.Daemon{Agent: simple.New(filepath.Join(dir, "simple.conf")), Log: "simple.log", HelpPath: filepath.Join(dir, "help"),
		Files: []pmda.InstallFile{{Name: "simple.conf", Data: []byte("sec,min,hour\n")}}}
	d.Main()
}
