package retention

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A lock excludes others from a directory: maintainers of this package by a file that the system unlocks when they end in whatever
// way, and PCP's scripts by the file "lock".
type lock struct {
	f   *os.File
	pcp string // path of the file "lock"
}

const (
	lockName = "lock"            // in both directories
	lockMark = "retention, pid " // what ours begins with
	// lockAge is after what time PCP's scripts take a lock for one that a crash has left.
	lockAge = 30 * time.Minute
)

// acquire makes a directory for work, and locks it and the directory. The error is ErrLocked if somebody else has.
func acquire(dir, work string) (*lock, error) {
	if err := os.Mkdir(work, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	if info, err := os.Lstat(work); err != nil || !info.IsDir() { // a link would lead elsewhere, where files would be removed
		return nil, errors.Join(err, &fs.PathError{Op: "mkdir", Path: work, Err: fs.ErrExist})
	}
	f, err := os.OpenFile(filepath.Join(work, lockName), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	l := &lock{f: f, pcp: filepath.Join(dir, lockName)}
	if err := lockFile(f); err != nil {
		f.Close()
		return nil, err
	}
	if err := l.exclude(); err != nil {
		f.Close()
		return nil, err
	}
	return l, nil
}

// exclude makes the file "lock", in the place of one that a crash has left.
func (l *lock) exclude() error {
	for range 2 {
		f, err := os.OpenFile(l.pcp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err == nil {
			_, err = fmt.Fprintf(f, "%s%d\n", lockMark, os.Getpid())
			return errors.Join(err, f.Close())
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

// touch shows that the lock is not one that a crash has left.
func (l *lock) touch() {
	if l != nil {
		now := time.Now()
		_ = os.Chtimes(l.pcp, now, now)
	}
}

func (l *lock) release() error { return errors.Join(os.Remove(l.pcp), l.f.Close()) }
