// Pmafm lists and checks the archives of a folio made by mkaf(1), and runs PCP's tools on them.
// Commands and output are those of pmafm(1) of PCP.
package main

import "github.com/pcp-go/pcp/examples/internal/pmafm"

func main() { pmafm.Main() }
