package pmdalinux

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// Domain is the number of PCP's Linux agent.
const Domain pdu.Domain = 60

// Options say where an agent looks. The zero Options are this machine.
type Options struct {
	// Root is the directory that has proc and sys in it. Empty means "/".
	Root string
}

// New makes the agent. The error is errors.ErrUnsupported on systems other than
// Linux, unless a Root is given.
func New(o Options) (*pmda.Agent, error) {
	if o.Root == "" {
		if runtime.GOOS != "linux" {
			return nil, errors.ErrUnsupported
		}
		o.Root = "/"
	}
	l := &linux{Agent: &pmda.Agent{Name: "linux", Domain: Domain}, root: o.Root}
	for _, add := range []func(){
		l.addLoad,
		l.addProcessors,
		l.addInterrupts,
		l.addMemory,
		l.addDisks,
		l.addFilesystems,
		l.addInterfaces,
	} {
		add()
	}
	return l.Agent, l.Err()
}

// linux is an agent in the making.
type linux struct {
	*pmda.Agent
	root string
}

// path is where a file is that other systems have at "/"+name.
func (l *linux) path(name string) string { return filepath.Join(l.root, filepath.FromSlash(name)) }

// source makes a group that reads a file and has it parsed. The text is valid
// until parse returns.
func (l *linux) source(name string, parse func(text []byte) error) *pmda.Group {
	f := file{path: l.path(name)}
	return l.Group(func(context.Context, *pmda.Request) error {
		text, err := f.read()
		if err != nil {
			return absent(err)
		}
		return parse(text)
	})
}

// single is the Value of a metric that has one, found by its group.
func single[T pdu.Scalar](v *T) func(context.Context, *pmda.Request, pdu.Instance) (T, error) {
	return func(context.Context, *pmda.Request, pdu.Instance) (T, error) { return *v, nil }
}
