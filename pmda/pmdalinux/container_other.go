//go:build !linux

package pmdalinux

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// viewOf returns where the files of a container are, below a Root.
func (l *linux) viewOf(pid int) (containerView, error) {
	if _, err := os.Stat(l.path(fmt.Sprint("proc/", pid))); err != nil || pid <= 0 {
		return containerView{}, syscall.EPERM
	}
	return containerView{host: l, pid: pid}, nil
}

// check does nothing except on Linux.
func (*containerView) check() error { return nil }

// inNamespace works only on Linux.
func (*containerView) inNamespace(string, func() error) error { return errors.ErrUnsupported }

// openSys opens a file below /sys of the container.
func (*linux) openSys(path string) (*os.File, error) { return os.Open(path) }
