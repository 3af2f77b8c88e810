//go:build !linux

package pcptest

import "runtime"

// residentMemory and peakMemory return the memory that this process has taken from the system.
func residentMemory() int { return peakMemory() }

func peakMemory() int {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.Sys)
}

func resetPeak() {}
