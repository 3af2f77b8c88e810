package filesys

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockOffset is the offset of the locked byte. It is beyond the text, so that others can read the
// text.
const lockOffset = 1 << 30

// Lock locks a file until it is closed. The error is locked if another program has locked it.
func Lock(f *os.File, locked error) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &windows.Overlapped{Offset: lockOffset})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return locked
	}
	return err
}
