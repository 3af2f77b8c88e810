//go:build unix && !linux

package handover

import "os/exec"

// startByRoot returns ErrNoRoot, because pmdaroot exists on Linux only.
func startByRoot(RunAsRoot, *exec.Cmd) (child, error) { return nil, ErrNoRoot }
