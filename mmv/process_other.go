//go:build !linux

package mmv

// hostPIDs returns true, because this system has no other PID name spaces.
func hostPIDs() bool { return true }
