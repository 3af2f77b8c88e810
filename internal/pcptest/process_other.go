//go:build !linux

package pcptest

import (
	"os"
	"os/exec"
	"time"
)

// The real PCP is driven on Linux alone. Elsewhere the kit runs the Go programs, which start no
// processes.

type identity struct{}

func dieWithParent(*exec.Cmd) {}

func terminate(p *os.Process) {
	if p.Signal(os.Interrupt) != nil {
		p.Kill()
	}
}

func descendants(int) []identity { return nil }

func awaitEnd(identity, time.Duration) {}

func alive(int) bool { return true }
