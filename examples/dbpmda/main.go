// Dbpmda tests an agent by hand or from a script. It plays the collector's part towards one agent
// at a time, which it starts, connects to, or runs itself. It is the counterpart of PCP's dbpmda.
//
//	dbpmda -n /var/lib/pcp/pmdas/simple/root     # then: open pipe ./pmdasimple
//	dbpmda -n root -ie <script                   # with prompts and commands in the output
//
// The command help lists the commands.
package main

import "github.com/pcp-go/pcp/examples/internal/dbpmda"

func main() { dbpmda.Main() }
