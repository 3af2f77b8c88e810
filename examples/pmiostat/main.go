// Pmiostat prints how busy disks are: requests, bytes and times, of each disk in each interval.
// Options, output and exit status are those of pmiostat of PCP.
package main

import "github.com/pcp-go/pcp/examples/internal/pmiostat"

func main() { pmiostat.Main("pmiostat") }
