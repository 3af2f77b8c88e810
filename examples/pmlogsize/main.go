// Pmlogsize shows what an archive's bytes are used for: which metrics, instance domains, labels and
// texts.
//
//	pmlogsize 20261123             # of each file
//	pmlogsize -d -x 90 20261123.0  # and the metrics with most of the bytes
//	pmlogsize -r 20261123          # and the share of values that have not changed
package main

import "github.com/pcp-go/pcp/examples/internal/pmlogsize"

func main() { pmlogsize.Main() }
