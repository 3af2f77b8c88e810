// Pmdaproc exports the statistics of processes and control groups, as PCP's agent of that
// name does and in its place: under pmcd, over a pipe. The package pmda/pmdaproc is the agent.
//
//	go build ./examples/pmdaproc
//	install -b pmdaproc /var/lib/pcp/pmdas/proc/    # then restart pmcd
//
// A client sees of processes what the kernel shows to its user, for which the agent has to run as
// the root user; others serve their own user. Clients of whom the user is not known, such as those
// on other hosts, see sums alone. With the option -A all see what the agent sees; the file
// proc/access.conf in PCP's directory of configurations names users who do ("allowed: joe, sue"),
// or who see what local users of these names see ("mapped: true").
//
// A client that asks for a container gets that one's processes and control groups. Its control
// group is what PCP's agent pmdaroot says; without that, and for containers that it does not know,
// there are no values.
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
	// The root user may see all, and what each client may see besides.
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

// number is a number in the environment, 0 for what is none.
func number(name string) int {
	n, _ := strconv.Atoi(os.Getenv(name))
	return n
}
