// Pmval prints the values of one metric repeatedly, live or from an archive. Options, output and
// exit status are those of pmval(1) of PCP.
package main

import (
	"os"

	"github.com/pcp-go/pcp/examples/internal/pmval"
)

func main() { os.Exit(pmval.Main("pmval")) }
