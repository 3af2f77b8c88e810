package retention

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockOffset is that of the byte that is locked. It is beyond the text, which others may read.
const lockOffset = 1 << 30

// lockFile locks a file until it is closed.
func lockFile(f *os.File) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &windows.Overlapped{Offset: lockOffset})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrLocked
	}
	return err
}
