//go:build !unix

package collector

import "os"

// exitStatus is how a process ended, in the bits of pmcd.agent.status.
func exitStatus(p *os.ProcessState) int { return p.ExitCode() & 0xff << statusExitShift }

// temporary reports whether accepting may succeed again.
func temporary(error) bool { return false }

// outOfDescriptors reports whether accepting failed for want of descriptors.
func outOfDescriptors(error) bool { return false }
