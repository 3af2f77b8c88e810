package pcptool

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/pcp-go/pcp/internal/pcpconf"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmns"
)

// LocalAgents are the agents of local contexts: agents in the tool's own process, which this
// package does not know. Package dso makes them of Go code.
type LocalAgents interface {
	// Edit changes them as the argument of -K says. The text of its error is that of
	// pmSpecLocalPMDA(3).
	Edit(spec string) error
	// Open opens a context on them. names returns the names of metrics, or an error without names.
	// derived are derived metrics and may be nil.
	Open(names func() (*pmns.Tree, error), derived *pmapi.Derived) (*pmapi.Context, error)
}

func (c *Command) setLocal(string) error {
	c.given.local = true
	c.checkLocal('L')
	return nil
}

func (c *Command) setSpecLocal(spec string) error {
	if c.Local == nil {
		c.checkLocal('K')
		return nil
	}
	if err := c.Local.Edit(spec); err != nil {
		return fmt.Errorf("pmSpecLocalPMDA failed: %w", err)
	}
	return nil
}

// checkLocal refuses local contexts to a tool that has the option, but no agents. Others ignore
// what the environment says of them.
func (c *Command) checkLocal(letter byte) {
	if c.Local == nil && c.hasLetter(letter) {
		c.addUnsupported("local contexts")
	}
}

// openLocal opens a context on the agents in this process.
func (c *Command) openLocal() (*pmapi.Context, error) {
	if c.Local == nil {
		return nil, c.unsupportedError("local contexts")
	}
	names := c.defaultNames
	if t := c.Names(); t != nil {
		names = func() (*pmns.Tree, error) { return t, nil }
	}
	pc, err := c.Local.Open(names, c.Derived())
	if err == nil {
		return pc, nil
	}
	what := c.LocalError
	if what == "" {
		what = "Cannot make standalone connection on localhost"
	}
	return nil, &ExitError{Status: 1, Message: fmt.Sprintf("%s: %s: %v\n", c.Name, what, pdu.FromError(err)), Err: err}
}

// defaultNames loads the default name space file, and reports it on Stderr if that fails.
func (c *Command) defaultNames() (*pmns.Tree, error) {
	file := os.Getenv("PMNS_DEFAULT")
	if file == "" {
		conf, err := pcpconf.Load("")
		if err != nil {
			return nil, err
		}
		file = filepath.Join(conf.Get("PCP_VAR_DIR"), "pmns", "root")
	}
	t, err := pmns.Load(file)
	if err != nil {
		c.printRedirected(namesReport(file, err))
	}
	return t, err
}
