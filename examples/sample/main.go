// Sample is the agent that PCP's tools and tests rely on, the counterpart of PCP's pmdasample:
// metrics of every type and kind of instance domain, values that clients set, errors on demand,
// events and dynamic names. The package examples/internal/sample is the agent, which also runs
// inside a collector.
//
//	go build ./examples/sample
//	./sample -i 2029                 # wait for a collector
//	dbpmda                           # or try it by hand: open pipe ./sample
package main

import (
	"cmp"
	"os"
	"path/filepath"

	"github.com/pcp-go/pcp/examples/internal/sample"
	"github.com/pcp-go/pcp/pmda"
)

func main() {
	dir := filepath.Join(cmp.Or(os.Getenv("PCP_PMDAS_DIR"), "/var/lib/pcp/pmdas"), "sample")
	a := sample.New(sample.Options{Dir: dir, Unavailable: "/tmp/sample.unavail", Stop: func() { os.Exit(0) }})
	d := pmda.Daemon{Agent: a, Log: "sample.log"}
	d.Main()
}
