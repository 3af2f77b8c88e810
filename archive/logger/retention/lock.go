package retention

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/pcp-go/pcp/internal/filesys"
)

// A lock gives exclusive use of a directory. A locked file excludes other maintainers of this
// package; the system unlocks it when the process ends. The file "lock" excludes PCP's scripts.
type lock struct {
	f     *os.File
	pcp   string // path of the file "lock"
	stop  chan struct{}
	alive sync.WaitGroup
}

const (
	lockName      = "lock"            // in both directories
	recordingName = "recording"       // in the work directory
	lockMark      = "retention, pid " // start of our file "lock"
	// lockAge is how old a lock must be for PCP's scripts to ignore it as left by a crash.
	lockAge = 30 * time.Minute
	// lockTouch is the time between touches, which keep a lock younger than lockAge.
	lockTouch = lockAge / 10
)

// acquire creates the work directory, and locks it and dir. The error is ErrLocked if another
// maintainer has locked either.
func acquire(dir, work string) (*lock, error) {
	f, err := openLocked(work, lockName)
	if err != nil {
		if f != nil {
			f.Close()
		}
		return nil, err
	}
	l := &lock{f: f, pcp: filepath.Join(dir, lockName), stop: make(chan struct{})}
	if err := l.exclude(); err != nil {
		f.Close()
		return nil, err
	}
	l.alive.Go(l.touch)
	return l, nil
}

// openLocked creates the work directory and locks a file in it until the file is closed. With the
// error ErrLocked it returns the file that another process has locked. With other errors the file
// may be nil.
func openLocked(work, name string) (*os.File, error) {
	if err := os.Mkdir(work, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	if info, err := os.Lstat(work); err != nil || !info.IsDir() { // do not follow a link and remove files elsewhere
		return nil, errors.Join(err, &fs.PathError{Op: "mkdir", Path: work, Err: fs.ErrExist})
	}
	f, err := os.OpenFile(filepath.Join(work, name), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	return f, filesys.Lock(f, ErrLocked)
}

// acquireRecording locks a directory for one Record until the file is closed or the process ends.
// The file has the process ID. The error wraps ErrLocked if there is another Record.
func acquireRecording(dir string) (*os.File, error) {
	f, err := openLocked(filepath.Join(dir, workName), recordingName)
	if err == nil {
		if err = f.Truncate(0); err == nil {
			_, err = fmt.Fprintf(f, "%d\n", os.Getpid())
		}
		if err == nil {
			return f, nil
		}
	}
	if f != nil {
		defer f.Close()
	}
	if errors.Is(err, ErrLocked) {
		if abs, absErr := filepath.Abs(dir); absErr == nil {
			dir = abs
		}
		text := make([]byte, maxPID)
		n, _ := f.Read(text)
		pid := strings.TrimSpace(string(text[:n]))
		err = &recordingError{dir, cmp.Or(pid, "unknown")}
	}
	return nil, err
}

// maxPID is the maximum number of digits of a process ID.
const maxPID = 20

// A recordingError says which process records into a directory.
type recordingError struct{ dir, pid string }

func (e *recordingError) Error() string {
	return fmt.Sprintf("retention: another logger, process %s, records into %s: choose another directory, or end that logger", e.pid, e.dir)
}

// Unwrap returns ErrLocked.
func (e *recordingError) Unwrap() error { return ErrLocked }

// exclude creates the file "lock", or replaces one left by a crash.
func (l *lock) exclude() error {
	for range 2 {
		f, err := os.OpenFile(l.pcp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err == nil {
			// Even without the mark, as on a full disk, the file is a valid lock.
			_, _ = fmt.Fprintf(f, "%s%d\n", lockMark, os.Getpid())
			_ = f.Close()
			return nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		info, err := os.Lstat(l.pcp)
		var text []byte
		if err == nil && info.Mode().IsRegular() {
			text, err = os.ReadFile(l.pcp)
		}
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was just removed
		}
		if err != nil {
			return err
		}
		// A file of ours is stale: a running process would hold the other lock.
		if !strings.HasPrefix(string(text), lockMark) && time.Since(info.ModTime()) < lockAge {
			return ErrLocked
		}
		if err := os.Remove(l.pcp); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return ErrLocked
}

// touch keeps the lock from looking like one left by a crash.
func (l *lock) touch() {
	tick := time.NewTicker(lockTouch)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			_ = os.Chtimes(l.pcp, now, now)
		case <-l.stop:
			return
		}
	}
}

func (l *lock) release() error {
	close(l.stop)
	l.alive.Wait()
	return errors.Join(os.Remove(l.pcp), l.f.Close())
}
