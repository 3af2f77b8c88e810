package mmv

// A ProcessCheck says whether agents look if the process of a file still lives, and leave the file
// out if not.
type ProcessCheck int

const (
	// ProcessAuto has agents look where they can: if this process has the same id for them as for
	// itself. On Linux that is so in the PID name space of the host, which is told from others,
	// those of containers, by its number in /proc/self/ns/pid. An agent in the same container could
	// look, too; that cannot be found out. Where /proc hides processes from other users (hidepid),
	// agents take them for dead: ProcessOff is right there.
	ProcessAuto ProcessCheck = iota

	// ProcessOn has agents look. Close removes the file.
	ProcessOn

	// ProcessOff has agents serve the file, with its last values, until it is removed or replaced.
	// Close leaves it.
	ProcessOff
)

// on reports whether the flag is set.
func (p ProcessCheck) on() bool { return p == ProcessOn || p == ProcessAuto && hostPIDs() }
