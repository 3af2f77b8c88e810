// Pminfo prints information about metrics: their names, descriptors, help texts, labels and values.
//
//	pminfo                           # the names of all metrics
//	pminfo -dT kernel.all.load       # the descriptor and the help text of one
//	pminfo -h web1 -f kernel.all     # values of several, on another host
//	pminfo -a 20261123 -O @10:30 -f kernel.all   # in an archive, at half past ten
package main

import "github.com/pcp-go/pcp/examples/internal/pminfo"

func main() { pminfo.Main() }
