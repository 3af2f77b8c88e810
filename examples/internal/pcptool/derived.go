package pcptool

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// setDerived loads definitions of derived metrics, from files and directories with colons between.
func (c *Command) setDerived(paths string) error {
	if err := c.LoadDerived(paths); err != nil {
		return fmt.Errorf("pmLoadDerivedConfig failed: %w", pdu.FromError(err))
	}
	return nil
}

// LoadDerived loads the definitions of derived metrics in files and directories, separated by
// colons, in addition to those that the environment names. It prints errors in a file on Stderr,
// and returns the error of a path that cannot be read. It is the counterpart of
// pmLoadDerivedConfig(3).
func (c *Command) LoadDerived(paths string) error {
	d := c.Derived()
	var failed error
	for path := range strings.SplitSeq(paths, ":") {
		_, err := d.Load(path)
		if failed = c.reportDerived(err); failed != nil {
			return failed
		}
	}
	return nil
}

// Derived are the derived metrics of all contexts: those that the environment names, those of
// LoadDerived, and those that the caller defines.
func (c *Command) Derived() *pmapi.Derived {
	if c.given.derived == nil {
		c.given.derived = new(pmapi.Derived)
		_ = c.reportDerived(c.given.derived.LoadEnv()) // a path of the environment that cannot be read is none
		c.given.derived.Refused = func(e *pmapi.DerivedError) {
			fmt.Fprintf(c.stderr(), "Semantic error: derived metric %s: %s: %s\n", terminal.EscapeName(e.Name), terminal.Escape(e.Part), e.Message)
		}
	}
	return c.given.derived
}

// reportDerived prints the errors in files of definitions. It returns the error of a file that
// cannot be read.
func (c *Command) reportDerived(err error) (failed error) {
	var each func(err error)
	each = func(err error) {
		if list, ok := err.(interface{ Unwrap() []error }); ok {
			for _, err := range list.Unwrap() {
				each(err)
			}
			return
		}
		if _, ok := errors.AsType[*fs.PathError](err); ok {
			failed = err
			return
		}
		c.printRedirected(err.Error() + "\n")
	}
	if err != nil {
		each(err)
	}
	return failed
}
