//go:build unix && !linux

package collector

// pin does nothing on this system.
func pin(int) {}
