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

// A lock gives exclusive use of a directory. It excludes maintainers of this package by a locked
// file, which the system unlocks when their process ends in any way, and PCP's scripts by the file
// "lock".
type lock struct {
	f     *os.File
	pcp   string // path of the file "lock"
	stop  chan struct{}
	alive sync.WaitGroup
}

const (
	lockName      = "lock"            // in both directories
	recordingName = "recording"       // in the directory for work
	lockMark      = "retention, pid " // what ours begins with
	// lockAge is how old a lock must be for PCP's scripts to regard it as left by a crash.
	lockAge = 30 * time.Minute
	// lockTouch is how often a lock shows that it is not such a one.
	lockTouch = lockAge / 10
)

// acquire makes a directory for work, and locks it and the directory. The error is ErrLocked if
// another maintainer has locked either.
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

// openLocked makes a directory for work and locks a file there until it is closed. With the error
// ErrLocked it returns the file of the process that has locked it. With other errors, the file may
// be nil.
func openLocked(work, name string) (*os.File, error) {
	if err := os.Mkdir(work, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	if info, err := os.Lstat(work); err != nil || !info.IsDir() { // a link would lead elsewhere, where files would be removed
		return nil, errors.Join(err, &fs.PathError{Op: "mkdir", Path: work, Err: fs.ErrExist})
	}
	f, err := os.OpenFile(filepath.Join(work, name), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	return f, filesys.Lock(f, ErrLocked)
}

// acquireRecording locks a directory for one Record until the file is closed or the process ends in
// any way. The file has the process. The error wraps ErrLocked if there is another Record.
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

// maxPID is how many digits the number of a process has at most.
const maxPID = 20

// A recordingError says who records into a directory.
type recordingError struct{ dir, pid string }

func (e *recordingError) Error() string {
	return fmt.Sprintf("retention: another logger, process %s, records into %s: choose another directory, or end that logger", e.pid, e.dir)
}

// Unwrap returns ErrLocked.
func (e *recordingError) Unwrap() error { return ErrLocked }

// exclude creates the file "lock", and replaces one that a crash has left.
func (l *lock) exclude() error {
	for range 2 {
		f, err := os.OpenFile(l.pcp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err == nil {
			// The file is a valid lock even without the mark, which cannot be written to a full
			// disk.
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
			continue // it has just gone
		}
		if err != nil {
			return err
		}
		// Ours is of a process that has ended: it would hold the other lock.
		if !strings.HasPrefix(string(text), lockMark) && time.Since(info.ModTime()) < lockAge {
			return ErrLocked
		}
		if err := os.Remove(l.pcp); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return ErrLocked
}

// touch keeps the lock from looking like one that a crash has left.
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
