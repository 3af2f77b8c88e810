// Pmevent prints the event records of one metric, as they come or as they were in an archive. It is
// pmval by another name, as in PCP: options, output and exit status are those of pmevent(1).
package main

import (
	"os"

	"github.com/pcp-go/pcp/examples/internal/pmval"
)

func main() { os.Exit(pmval.Main("pmevent")) }
