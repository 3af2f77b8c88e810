// Pmdumplog prints the contents of an archive: its label, metrics, instance domains, labels, help
// texts, index and values.
//
//	pmdumplog -L 20261123                    # the host, the start and the end
//	pmdumplog 20261123 kernel.all.load       # the values of a metric
//	pmdumplog -a 20261123                    # all but labels and help texts
package main

import "github.com/pcp-go/pcp/examples/internal/pmdumplog"

func main() { pmdumplog.Main() }
