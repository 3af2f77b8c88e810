// Pmtop shows on a full screen how busy a host is: its processors, memory, disks and network
// interfaces, and any other metrics, live or from an archive.
//
//	pmtop -h web1                          # press h for help, q to quit
//	pmtop -a 20261123 -S @09:00 -t 1min    # an archive; the cursor keys move in time
//	pmtop disk.dm 'kernel.all.load[5]'     # with more metrics
//	pmtop -b -s 3 | less                   # as text
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/examples/internal/pmtop"
)

func main() {
	pcptool.LimitMemory()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	c := pmtop.New()
	err := c.Run(ctx, os.Args[1:])
	stop()
	os.Exit(c.Report(err))
}
