package daemonfile

import (
	"fmt"
	"net"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// listenAs listens with the umask of the socket and the rights of a user, if not nil. Both hold for
// its thread alone, which ends with it, so that what other goroutines create meanwhile is as
// always.
func (s Socket) listenAs(user *User) (l net.Listener, err error) {
	onThread(func() {
		if unix.Unshare(unix.CLONE_FS) != nil {
			// A container may forbid it. Then the umask is that of the whole process for a moment.
			processUmask.Lock()
			defer processUmask.Unlock()
			defer unix.Umask(unix.Umask(s.umask()))
		} else {
			unix.Umask(s.umask())
		}
		if user != nil {
			err = user.useRights()
		}
		if err == nil {
			l, err = net.Listen("unix", s.Path)
		}
	})
	return l, err
}

// useRights has this thread use files as the user.
func (u *User) useRights() error {
	unix.SetfsgidRetGid(u.GID)
	unix.SetfsuidRetUid(u.UID)
	// They tell of no failure; this is how to read them.
	gid, _ := unix.SetfsgidRetGid(-1)
	uid, _ := unix.SetfsuidRetUid(-1)
	if gid != u.GID || uid != u.UID {
		return fmt.Errorf("use files as user %d of group %d: %w", u.UID, u.GID, unix.EPERM)
	}
	return nil
}

var processUmask sync.Mutex

// onThread runs a function on a thread that ends with it. It is never the first thread, which shows
// its umask and directory as those of the process.
func onThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // until the goroutine ends, and the thread with it
		if unix.Gettid() != unix.Getpid() {
			f()
			return
		}
		defer runtime.UnlockOSThread()
		onThread(f) // on another, since this one is locked
	}()
	<-done
}
