package pmdaproc

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// Domain is the domain of PCP's process agent.
const Domain pdu.Domain = 3

// Options configure New. The zero value reads this machine. The fields may be changed until the
// agent serves, for example by the options of a program.
type Options struct {
	// Root is the directory that has proc and sys in it. Empty means "/".
	Root string
	// Hertz is the number of kernel clock ticks per second. 0 means 100.
	Hertz int
	// PageSize is the size of a memory page in bytes. 0 means that of this machine.
	PageSize int
	// Threads also lists threads for clients without their own setting. A client changes its
	// setting with a store into proc.control.perclient.threads. Root and the agent's own user
	// change the setting of all clients with a store into proc.control.all.threads.
	Threads bool
	// Cgroup is the directory of a control group. Clients that have not named another group get
	// only the processes of this group. Empty means no limit.
	Cgroup string
	// NoAccessChecks shows every client what the agent can see. Otherwise clients see what the
	// kernel shows to their user and group. Clients whose user and group are unknown see only
	// totals.
	NoAccessChecks bool
	// AccessConfig is the name of a file with users that may see processes although their user ID
	// is unknown, such as users of other hosts after a login to the collector. PCP 7 uses
	// /etc/pcp/proc/access.conf. The line "allowed: joe, sue" names the users. They see what the
	// agent sees; with the line "mapped: true" they see what the local users of the same names see.
	// The file is read once, at the first request. It may be missing. Empty means no file.
	AccessConfig string
	// HotprocConfig is the name of the file with the condition for hotproc, such as
	// /var/lib/pcp/pmdas/proc/hotproc.conf. The file may be missing. Empty means no file.
	HotprocConfig string
	// AccountingFile is the file of the kernel's process accounting. Empty means
	// /var/log/account/pacct or /var/account/pacct.
	AccountingFile string
	// PrivateAccounting is the file for the kernel's records if the agent switches process
	// accounting on, such as /var/lib/pcp/pmcd/pacct. It is used if root stores 1 into
	// acct.control.enable_acct and the kernel does not already write records. Empty means that the
	// agent never switches process accounting on.
	PrivateAccounting string
	// ContainerCgroup returns the name of a container's control group, for clients that request the
	// container. Nil means that no container is known.
	ContainerCgroup func(ctx context.Context, name string) (string, error)
}

// New returns an agent. It keeps o, which may be nil. The agent is safe for concurrent use. The
// error is errors.ErrUnsupported on systems other than Linux, unless Root is set.
func New(o *Options) (*pmda.Agent, error) {
	if o == nil {
		o = new(Options)
	}
	if o.Root == "" && runtime.GOOS != "linux" {
		return nil, errors.ErrUnsupported
	}
	p := newProc(o)
	p.add()
	return p.Agent, p.Err()
}

func newProc(o *Options) *proc {
	p := &proc{
		Agent:   &pmda.Agent{Name: "proc", Domain: Domain, ClientAttributes: true},
		Options: o,
	}
	p.groups.list = p.listGroup
	p.allowed = sync.OnceValue(p.loadAllowed)
	p.Use(func(next pmda.Handler) pmda.Handler { return handler{next, p} })
	p.OnEndClient(p.clients.end)
	return p
}

// add adds all metrics. A fetch locks and refreshes its groups in the order of their creation.
func (p *proc) add() {
	for _, add := range []func(){
		p.addTables,
		p.addProcesses,
		p.addRunQueue,
		p.addControl,
		p.addHotproc,
		p.addCgroups,
		p.addAccounting,
	} {
		add()
	}
}

// proc is the agent during its construction and the data that its parts share.
type proc struct {
	*pmda.Agent
	*Options
	clients  clients
	identity identity
	allowed  func() allowedUsers
	users    nameCache // of users and groups
	ttys     ttyNames
	keptOpen atomic.Int64 // files of processes that stay open
	groups   groupReads
	trees    cgroupTrees

	processes *table // of all processes
	hot       *table // of those in hotList
	hotList   *hotList
}

// path returns the path of a file that is at "/"+name with the root "/".
func (p *proc) path(name string) string {
	return filepath.Join(cmp.Or(p.Root, "/"), filepath.FromSlash(name))
}

// hertz returns the number of clock ticks per second. It is 100 on all machines that Go supports.
func (p *proc) hertz() uint64 { return uint64(max(0, cmp.Or(p.Hertz, 100))) }

// pages converts a number of memory pages to KB.
func (p *proc) pages(n uint64) uint64 { return n * uint64(max(0, cmp.Or(p.PageSize, pageSize))) / 1024 }

// allThreads reports whether threads are listed for clients without a setting.
func (p *proc) allThreads() bool {
	if set := p.clients.threads.Load(); set != nil {
		return *set
	}
	return p.Threads
}
