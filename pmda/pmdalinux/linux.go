package pmdalinux

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/hanging"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// Domain is the domain of PCP's Linux agent.
const Domain pdu.Domain = 60

// Options configure New. The zero value reads this machine.
type Options struct {
	// Root is the directory that has proc and sys in it. Empty means "/".
	Root string
	// StateDir is the directory that keeps the IDs of disks, interfaces and other instances, so
	// that they are the same after a restart. Its files have names such as 60.1, as those of the C
	// agent in /var/lib/pcp/config/pmda. Empty means that the IDs are not kept.
	StateDir string
	// Trusts reports whether a client may see the metrics tty and mem.slabinfo, which come from
	// files that only root may read. Other clients see no values of them. Nil trusts clients on
	// this machine with the user ID 0.
	Trusts func(*pmda.Client) bool
	// ContainerProcess returns the ID of a process of a container, for clients that request the
	// container. It returns 0 or less if the container does not run. Nil means that no container
	// is known: the error is pdu.ErrNoContainer.
	ContainerProcess func(ctx context.Context, name string) (pid int, err error)
}

// trustsRoot is the default of Options.Trusts.
func trustsRoot(c *pmda.Client) bool { return c != nil && c.UID == 0 }

// New returns an agent, which is safe for concurrent use. The error is errors.ErrUnsupported on
// systems other than Linux, unless Root is set.
func New(o Options) (*pmda.Agent, error) {
	if o.Root == "" {
		if runtime.GOOS != "linux" {
			return nil, errors.ErrUnsupported
		}
		o.Root = "/"
	}
	l := newLinux(o)
	l.add()
	l.addContainers(o.ContainerProcess)
	return l.Agent, l.Err()
}

func newLinux(o Options) *linux {
	if o.Trusts == nil {
		o.Trusts = trustsRoot
	}
	return &linux{
		Agent:   &pmda.Agent{Name: "linux", Domain: Domain, ClientAttributes: o.ContainerProcess != nil},
		domains: map[pmda.SerialID]*pmda.InDom{},
		root:    o.Root, stateDir: o.StateDir, trusts: o.Trusts, statfs: (*usage).statfs,
	}
}

// add adds all metrics. A fetch locks and refreshes its groups in the order of their creation. The
// groups of file systems come first, so that a fetch that waits for a file system holds no lock
// that other fetches need.
func (l *linux) add() {
	for _, add := range []func(){
		l.addFilesystems,
		l.addLoad,
		l.addProcessors,
		l.addInterrupts,
		l.addMemory,
		l.addDisks,
		l.addInterfaces,
		l.addNFS,
		l.addSerialPorts,
		l.addKernelEvents,
	} {
		add()
	}
}

// linux is the agent during its construction.
type linux struct {
	*pmda.Agent
	root, stateDir string
	trusts         func(*pmda.Client) bool
	openFiles      atomic.Int64                      // of devices
	statfs         func(u *usage, path []byte) error // (*usage).statfs, except in tests

	// The instance domains that subjects share; addProcessors makes them.
	cpus  *pmda.InDom // of processors: the ID is the kernel's number
	nodes *pmda.InDom // of nodes

	domains map[pmda.SerialID]*pmda.InDom // all, by their serials
	view    *containerView                // the container whose files are read; nil for the machine

	calls        hanging.Calls[containerView, string] // for file systems of containers, which may not reply
	sysSlowUntil atomic.Int64                         // when a container's /sys may be opened again, in nanoseconds since 1970
}

// keptIDs are the serials of the instance domains whose IDs the C agent keeps.
var keptIDs = []int{1, 3, 4, 10, 11, 12, 17, 24, 25, 28, 32, 36, 38, 40, 41, 42}

// Attach is Agent.Attach. It also sets the file that keeps the IDs.
func (l *linux) Attach(d *pmda.InDom) error {
	isThis := func(serial int) bool { return pmda.InDomSerial(serial) == d.Serial }
	if i := slices.IndexFunc(keptIDs, isThis); i >= 0 && l.stateDir != "" {
		d.File = filepath.Join(l.stateDir, fmt.Sprintf("%d.%d", Domain, keptIDs[i]))
	}
	l.domains[d.Serial] = d
	return l.Agent.Attach(d)
}

// path returns the path of a file that is at "/"+name with the root "/".
func (l *linux) path(name string) string {
	if l.view != nil {
		name = l.view.path(name)
	}
	return filepath.Join(l.root, filepath.FromSlash(name))
}

// isMachine reports whether system calls describe the same machine as the files.
func (l *linux) isMachine() bool {
	return l.view == nil && filepath.Join(l.root) == string(filepath.Separator)
}

// fileGroup makes a group that reads a file and parses it. The text is valid until parse returns.
// Without the file its metrics are not supported.
func (l *linux) fileGroup(name string, parse func(text []byte) error) *pmda.Group {
	f := l.file(name)
	return l.Group(func(context.Context, *pmda.Request) error {
		text, err := f.Read()
		if err != nil {
			return absent(err)
		}
		return parse(text)
	})
}

// keyedFile makes a file of named numbers and the group that reads it.
func (l *linux) keyedFile(name string) (*procfile.KeyedFile, *pmda.Group) {
	f := &procfile.KeyedFile{File: l.file(name)}
	return f, l.Group(func(context.Context, *pmda.Request) error { return absent(f.Read()) })
}

// optionalFileGroup is fileGroup for a file that lists things: without the file, parse gets an
// empty text, which lists nothing.
func (l *linux) optionalFileGroup(name string, parse func(text []byte) error) *pmda.Group {
	return l.Group(l.readOptional(name, parse))
}

// readOptional makes the Refresh of an optionalFileGroup.
func (l *linux) readOptional(name string, parse func(text []byte) error) func(context.Context, *pmda.Request) error {
	f := l.file(name)
	return func(context.Context, *pmda.Request) error {
		text, err := f.Read()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return parse(text)
	}
}

// restrictedFileGroup is optionalFileGroup for a file that only the root user may read. It is read
// only for trusted clients. Its metrics use restrictedValues.
func (l *linux) restrictedFileGroup(name string, parse func(text []byte) error) *pmda.Group {
	read := l.readOptional(name, parse)
	return l.Group(func(ctx context.Context, r *pmda.Request) error {
		if !l.trusts(r.Client) {
			return nil
		}
		return read(ctx, r)
	})
}

// restrictedValues makes Values that are empty for clients that are not trusted.
func restrictedValues[T pdu.Scalar](l *linux, values func(context.Context, *pmda.Request, *pmda.Values[T]) error) func(context.Context, *pmda.Request, *pmda.Values[T]) error {
	return func(ctx context.Context, r *pmda.Request, s *pmda.Values[T]) error {
		if !l.trusts(r.Client) {
			return nil
		}
		return values(ctx, r, s)
	}
}

// valueOf makes the Value of a metric that is a variable, which its group sets.
func valueOf[T pdu.Scalar](v *T) func(context.Context, *pmda.Request, pdu.Instance) (T, error) {
	return func(context.Context, *pmda.Request, pdu.Instance) (T, error) { return *v, nil }
}
