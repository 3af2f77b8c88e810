// Pmlogsummary prints statistics of the numbers in an archive: the average of each metric and
// instance, and more on request.
//
//	pmlogsummary 20261123                     # time averages; those of counters are rates
//	pmlogsummary -a 20261123 kernel.all.load  # all statistics of a metric
//	pmlogsummary -HF -B 10 20261123 disk.dev  # histograms for a spreadsheet
package main

import "github.com/pcp-go/pcp/examples/internal/pmlogsummary"

func main() { pmlogsummary.Main() }
