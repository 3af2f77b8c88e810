package pcptest

import (
	"bytes"
	"fmt"
	"os"
)

// residentMemory and peakMemory return the memory of this process in bytes: now, and the most since
// resetPeak.
func residentMemory() int { return memoryStatus("VmRSS") }
func peakMemory() int     { return memoryStatus("VmHWM") }

// resetPeak begins the peak anew.
func resetPeak() { _ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }

// memoryStatus returns a size of /proc/self/status in bytes, 0 if it is not there.
func memoryStatus(field string) int {
	text, _ := os.ReadFile("/proc/self/status")
	for line := range bytes.Lines(text) {
		kb := 0
		if n, _ := fmt.Sscanf(string(line), field+": %d kB", &kb); n == 1 {
			return kb << 10
		}
	}
	return 0
}
