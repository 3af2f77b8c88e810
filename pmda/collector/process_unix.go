//go:build unix

package collector

import (
	"os"
	"syscall"
)

// exitStatus returns how a process ended, in the bits of pmcd.agent.status.
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
