//go:build !unix

package collector

import "os"

// exitStatus returns how a process ended, in the bits of pmcd.agent.status.
func exitStatus(p *os.ProcessState) int { return p.ExitCode() & 0xff << statusExitShift }
