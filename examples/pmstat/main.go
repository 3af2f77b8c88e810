// Pmstat prints how busy hosts are, one line for each sample: load, memory, swapping, disks and
// processors. Options, output and exit status are those of pmstat(1) of PCP.
package main

import "github.com/pcp-go/pcp/examples/internal/pmstat"

func main() { pmstat.Main() }
