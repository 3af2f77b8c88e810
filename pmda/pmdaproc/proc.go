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

// Domain is the number of PCP's agent of processes.
const Domain pdu.Domain = 3

// Options configure New. The zero value reads this machine. The fields may change until the agent
// serves, as a program's options say.
type Options struct {
	// Root is the directory that has proc and sys in it. Empty means "/".
	Root string
	// Hertz is how many clock ticks the kernel counts in a second, 0 for the usual 100.
	Hertz int
	// PageSize is the length of a page of memory in bytes, 0 for that of this machine.
	PageSize int
	// Threads has the threads of processes listed too, for clients that have not said
	// otherwise. A client changes it for itself by a store into proc.control.perclient.threads; the root user, or the
	// agent's own, for all by one into proc.control.all.threads.
	Threads bool
	// Cgroup limits the list of processes to those of a control group, whose directory it
	// is, for clients that have not named another one. Empty means no limit.
	Cgroup string
	// NoAccessChecks shows every client what the agent itself may see. Otherwise clients
	// see what the kernel shows to their user and group, and those of whom these are not
	// known see sums alone.
	NoAccessChecks bool
	// AccessConfig is the file with the names of users who see single processes although their user ID is not known, such as
	// those who have logged in to the collector from other hosts; /etc/pcp/proc/access.conf has it since PCP 7. A line
	// "allowed: joe, sue" names them: they see what the agent itself sees, or with the line "mapped: true" what the local users of
	// these names see. It is read once, at the first request. There need not be such a file. Empty means none.
	AccessConfig string
	// HotprocConfig is the file with the condition for hotproc, such as
	// /var/lib/pcp/pmdas/proc/hotproc.conf. There need not be such a file. Empty means none.
	HotprocConfig string
	// AccountingFile is where the kernel writes records of processes that have ended, if it is none
	// of the usual places, /var/log/account/pacct and /var/account/pacct.
	AccountingFile string
	// PrivateAccounting is a file for such records of the agent's own, such as
	// /var/lib/pcp/pmcd/pacct, for when the root user stores 1 into acct.control.enable_acct and
	// the kernel writes none. Empty means that the agent never switches process accounting on.
	PrivateAccounting string
	// ContainerCgroup returns the name of the control group of a container, for clients that
	// ask for one. If it is nil no container is known.
	ContainerCgroup func(ctx context.Context, name string) (string, error)
}

// New makes the agent. The error is errors.ErrUnsupported on systems other than
// Linux, unless a Root is given. It keeps o, which may be nil.
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

// add adds all metrics. A fetch locks and refreshes the groups that it needs in the
// order in which they were made.
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

// proc is the agent while it is made, and what its parts share.
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
	hot       *table // of those that hotList has
	hotList   *hotList
}

// path is the path of a file that is at "/"+name if the root is "/".
func (p *proc) path(name string) string {
	return filepath.Join(cmp.Or(p.Root, "/"), filepath.FromSlash(name))
}

// hertz is how many clock ticks there are in a second. It is 100 on all machines that Go knows.
func (p *proc) hertz() uint64 { return uint64(max(0, cmp.Or(p.Hertz, 100))) }

// pages is the length of pages of memory in KB.
func (p *proc) pages(n uint64) uint64 { return n * uint64(max(0, cmp.Or(p.PageSize, pageSize))) / 1024 }

// allThreads is whether threads are listed for clients that have not said otherwise.
func (p *proc) allThreads() bool {
	if set := p.clients.threads.Load(); set != nil {
		return *set
	}
	return p.Threads
}
