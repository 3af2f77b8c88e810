// Pcp-iostat prints how busy disks are: requests, bytes and times, of each disk in each interval.
// Options, output and exit status are those of pcp-iostat of PCP, which "pcp iostat" runs.
package main

import "github.com/pcp-go/pcp/examples/internal/pmiostat"

func main() { pmiostat.Main("pcp-iostat") }
