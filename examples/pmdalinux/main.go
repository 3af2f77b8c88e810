// Pmdalinux exports the statistics of the Linux kernel. It replaces PCP's agent of the same name,
// under pmcd and over a pipe. The package pmda/pmdalinux is the agent, which examples/pmcd
// contains.
//
//	go build ./examples/pmdalinux
//	install -b pmdalinux /var/lib/pcp/pmdas/linux/    # then restart pmcd
//
// The environment variable LINUX_STATSPATH names a directory to read instead of "/", with /proc and
// /sys of another machine. The IDs of disks, interfaces and other instances are kept in the files
// of PCP's agent, so that they stay the same when one agent replaces the other. Only clients of the
// root user see files that only that user may read. With the option -A all clients see them.
//
// A client that requests a container gets the network, the file systems and the host name of the
// container. PCP's agent pmdaroot tells the process of the container.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/pcp-go/pcp/internal/pcpconf"
	"github.com/pcp-go/pcp/internal/pmdaroot"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/pmdalinux"
)

func main() {
	var everybody bool
	a, err := linux(func(c *pmda.Client) bool { return everybody || c.UID == 0 })
	if err != nil {
		fmt.Fprintln(os.Stderr, "pmdalinux:", err)
		os.Exit(1)
	}
	a.ClientAttributes = true // trusts looks at them
	// PCP's agent also remains the root user without -U, because other users cannot read some
	// files.
	d := pmda.Daemon{Agent: a, Log: "linux.log", User: "root", PipeOnly: true, Options: []pmda.Option{{
		Short: 'A', Long: "no-access-checks", Help: "show what only the root user may read to everybody",
		Set: func(string) error { everybody = true; return nil },
	}}}
	d.Main()
}

func linux(trusts func(*pmda.Client) bool) (*pmda.Agent, error) {
	conf, err := pcpconf.Load("")
	if err != nil {
		return nil, err
	}
	return pmdalinux.New(pmdalinux.Options{
		Root:     os.Getenv("LINUX_STATSPATH"),
		StateDir: filepath.Join(conf.Get("PCP_VAR_DIR"), "config", "pmda"),
		Trusts:   trusts,

		ContainerProcess: pmdaroot.NewClient(filepath.Join(conf.Get("PCP_VAR_DIR"), "pmcd", "root.socket")).ProcessID,
	})
}
