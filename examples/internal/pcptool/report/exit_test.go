package report

import (
	"errors"
	"io/fs"
	"syscall"
	"testing"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
)

// TestOutputError checks pmrep's message about an output that cannot be written.
func TestOutputError(t *testing.T) {
	c := &Command{}
	err := c.Exit(&fs.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.ENOSPC})
	exit, ok := errors.AsType[*pcptool.ExitError](err)
	if !ok || exit.Message != "[Errno 28] No space left on device\n" || exit.Status != 1 {
		t.Errorf("%#v", err)
	}
}
