package pmdaproc

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// setAccounting makes the kernel write to a file when a process ends. An empty path ends
// accounting.
func setAccounting(path string) error {
	if path != "" {
		return unix.Acct(path)
	}
	if _, _, err := syscall.Syscall(unix.SYS_ACCT, 0, 0, 0); err != 0 {
		return err
	}
	return nil
}
