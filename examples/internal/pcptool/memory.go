package pcptool

import (
	"os"
	"runtime/debug"
)

// memoryPercent is how much of the memory that is in use may be garbage. A limit in bytes would
// have the garbage collected all the time once the memory in use exceeds it: a list of three
// million names printed so in 54 seconds, not 12.
const memoryPercent = 25

// LimitMemory makes the garbage collector keep the program's memory near the size in use, because a
// program needs most data from a collector only once. Programs that call it have at most three
// times the longest reply in memory. Call it at the beginning of main. It does nothing if the
// environment variable GOGC is set; GOMEMLIMIT works together with it.
func LimitMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(memoryPercent)
	}
}
