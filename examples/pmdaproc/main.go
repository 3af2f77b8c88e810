// Pmdaproc exports the statistics of processes and control groups. It replaces PCP's agent of the
// same name, under pmcd and over a pipe. The package pmda/pmdaproc is the agent.
//
//	go build ./examples/pmdaproc
//	install -b pmdaproc /var/lib/pcp/pmdas/proc/    # then restart pmcd
//
// A client sees what the kernel shows to the client's user. For that the agent must run as the root
// user. An agent of another user serves only that user. Clients with an unknown user, such as those
// on other hosts, see only sums. With the option -A all clients see what the agent sees. The file
// proc/access.conf in PCP's configuration directory names users who also do ("allowed: joe, sue"),
// or lets remote users see what local users with the same names see ("mapped: true").
//
// A client that asks for a container gets the processes and control groups of the container. PCP's
// agent pmdaroot tells the container's control group. Without it, and for containers that it does
// not know, there are no values.
//
// The condition for hotproc is in the file hotproc.conf in PCP's directory for the agent.
//
// The environment:
//
//	PROC_STATSPATH  a directory to look into instead of "/", for /proc of another machine
//	PROC_HERTZ      clock ticks in a second there, 100 if it is not set
//	PROC_PAGESIZE   bytes in a page of memory there
//	PROC_THREADS    1 is -L
//	PROC_ACCESS     a number other than 0 is -A
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/pcp-go/pcp/internal/pcpconf"
	"github.com/pcp-go/pcp/internal/pmdaroot"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/pmdaproc"
)

func main() {
	conf, err := pcpconf.Load("")
	if err != nil {
		fmt.Fprintln(os.Stderr, "pmdaproc:", err)
		os.Exit(1)
	}
	o := &pmdaproc.Options{
		Root:           os.Getenv("PROC_STATSPATH"),
		Hertz:          number("PROC_HERTZ"),
		PageSize:       number("PROC_PAGESIZE"),
		Threads:        number("PROC_THREADS") != 0,
		NoAccessChecks: number("PROC_ACCESS") != 0,
		AccessConfig:   filepath.Join(conf.Get("PCP_SYSCONF_DIR"), "proc", "access.conf"),
		HotprocConfig:  filepath.Join(conf.Get("PCP_PMDAS_DIR"), "proc", "hotproc.conf"),

		AccountingFile:    conf.Get("PCP_PACCT_SYSTEM_PATH"),
		PrivateAccounting: filepath.Join(conf.Get("PCP_VAR_DIR"), "pmcd", "pacct"),

		ContainerCgroup: pmdaroot.NewClient(filepath.Join(conf.Get("PCP_VAR_DIR"), "pmcd", "root.socket")).CgroupName,
	}
	a, err := pmdaproc.New(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "pmdaproc:", err)
		os.Exit(1)
	}
	// Only the root user sees everything and can switch to the rights of each client.
	d := pmda.Daemon{Agent: a, Log: "proc.log", User: "root", PipeOnly: true, Options: []pmda.Option{
		{Short: 'A', Long: "no-access-checks", Help: "show all clients what the agent sees",
			Set: func(string) error { o.NoAccessChecks = true; return nil }},
		{Short: 'L', Long: "with-threads", Help: "list threads among the processes",
			Set: func(string) error { o.Threads = true; return nil }},
		{Short: 'r', Long: "from-cgroup", Arg: "NAME", Help: "list only the processes of a control group, by its directory",
			Set: func(dir string) error { o.Cgroup = dir; return nil }},
	}}
	d.Main()
}

// number returns a number in the environment, 0 if the variable is not a number.
func number(name string) int {
	n, _ := strconv.Atoi(os.Getenv(name))
	return n
}
