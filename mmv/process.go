package mmv

// A ProcessCheck says whether agents check that the process of a file still lives, and ignore the
// file otherwise.
type ProcessCheck int

const (
	// ProcessAuto is ProcessOff in a container whose process ids are not those of the host, since
	// agents outside could not find the process. Elsewhere it is ProcessOn. If /proc hides
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
