package retention

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// A lock excludes others from a directory: maintainers of this package by a file that the system unlocks when they end in whatever
// way, and PCP's scripts by the file "lock".
type lock struct {
	f     *os.File
	pcp   string // path of the file "lock"
	stop  chan struct{}
	alive sync.WaitGroup
}

const (
	lockName = "lock"            // in both directories
	lockMark = "retention, pid " // what ours begins with
	// lockAge is after what time PCP's scripts take a lock for one that a crash has left.
	lockAge = 30 * time.Minute
	// lockTouch is how often a lock shows that it is not such a one.
	lockTouch = lockAge / 10
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
	l := &lock{f: f, pcp: filepath.Join(dir, lockName), stop: make(chan struct{})}
	if err := lockFile(f); err != nil {
		f.Close()
		return nil, err
	}
	if err := l.exclude(); err != nil {
		f.Close()
		return nil, err
	}
	l.alive.Go(l.touch)
	return l, nil
}

// exclude makes the file "lock", in the place of one that a crash has left.
func (l *lock) exclude() error {
	for range 2 {
		f, err := os.OpenFile(l.pcp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err == nil {
			// Without the mark, as on a full disk that is to be tidied up, it is a lock all the same.
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

// touch shows others that the lock is not one that a crash has left, as long as it is held.
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
