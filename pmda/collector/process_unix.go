//go:build unix

package collector

import (
	"errors"
	"os"
	"syscall"
)

// exitStatus is how a process ended, in the bits of pmcd.agent.status.
func exitStatus(p *os.ProcessState) int {
	w, ok := p.Sys().(syscall.WaitStatus)
	switch {
	case !ok:
		return 0
	case w.Signaled():
		return int(w.Signal()) << statusSigShift
	}
	return w.ExitStatus() & 0xff << statusExitShift
}

// outOfDescriptors reports whether accepting failed for want of descriptors.
func outOfDescriptors(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// temporary reports whether accepting may succeed again.
func temporary(err error) bool {
	for _, e := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM,
		syscall.ECONNABORTED, syscall.EINTR, syscall.EPROTO} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
