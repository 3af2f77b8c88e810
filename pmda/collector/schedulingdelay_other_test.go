//go:build unix && !linux

package collector

// pin keeps the thread on a processor where the system can.
func pin(int) {}
