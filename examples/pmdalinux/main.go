// Pmdalinux exports what the Linux kernel tells, as PCP's agent of that name does
// and in its place: under pmcd, over a pipe. The package pmda/pmdalinux is the
// agent, which examples/pmcd has inside.
//
//	go build ./examples/pmdalinux
//	install -b pmdalinux /var/lib/pcp/pmdas/linux/    # then restart pmcd
//
// The environment variable LINUX_STATSPATH names a directory to look into instead
// of "/", for /proc and /sys of another machine.
package main

import (
	"fmt"
	"os"

	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/pmdalinux"
)

func main() {
	a, err := pmdalinux.New(pmdalinux.Options{Root: os.Getenv("LINUX_STATSPATH")})
	if err != nil {
		fmt.Fprintln(os.Stderr, "pmdalinux:", err)
		os.Exit(1)
	}
	d := pmda.Daemon{Agent: a, Log: "linux.log", PipeOnly: true, Options: []pmda.Option{{
		Short: 'A', Long: "no-access-checks", Help: "accepted for the sake of old command lines: there are no such checks",
		Set: func(string) error { return nil },
	}}}
	d.Main()
}
