// Pmevent prints the event records of one metric, live or from an archive. It is pmval under
// another name, as in PCP: options, output and exit status are those of pmevent(1).
package main

import (
	"os"

	"github.com/pcp-go/pcp/examples/internal/pmval"
)

func main() { os.Exit(pmval.Main("pmevent")) }
