package mmv

// A ProcessCheck says whether agents check that the process of a file still lives, and ignore the
// file otherwise.
type ProcessCheck int

const (
	// ProcessAuto has agents check if they see the process under its own process id. On Linux
	// this holds in the PID name space of the host, which the number in /proc/self/ns/pid
	// distinguishes from those of containers. In containers agents do not check. If /proc hides
	// processes from other users (hidepid), agents take them for dead: use ProcessOff.
	ProcessAuto ProcessCheck = iota

	// ProcessOn has agents check. Close removes the file.
	ProcessOn

	// ProcessOff has agents serve the file, with its last values, until it is removed or replaced.
	// Close leaves it.
	ProcessOff
)

// on reports whether the flag is set.
func (p ProcessCheck) on() bool { return p == ProcessOn || p == ProcessAuto && hostPIDs() }
