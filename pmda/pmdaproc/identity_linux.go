package pmdaproc

import (
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// An identity switches to the rights of other users. It changes only the calling thread, which must
// be locked to its goroutine: the functions of package syscall change all threads.
type identity struct{}

// allows reports whether the agent can act with the rights of a user and group, and whether it has
// to switch to them. An agent that cannot switch serves only its own user.
func (identity) allows(uid, gid int) (allowed, switches bool) {
	if uid == unix.Geteuid() && gid == unix.Getegid() {
		return true, false
	}
	return unix.Geteuid() == 0 && uint64(uid) < noID && uint64(gid) < noID, true
}

// noID means that an ID does not change.
const noID = 1<<32 - 1

// runAs calls f with the rights of a user and group. It returns false, without a call of f, if it
// cannot switch.
func (identity) runAs(uid, gid int, f func()) (called bool) {
	var failure any
	onOtherThread(func() (back bool) {
		defer func() { failure = recover() }()
		called, back = switched(uid, gid, f)
		return back
	})
	if failure != nil {
		panic(failure)
	}
	return called
}

// onOtherThread calls f on a thread that runs nothing else. It is not the program's first thread,
// because the rights of that one appear to be those of the program. Unless f returns true the
// thread ends.
func onOtherThread(f func() bool) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if unix.Gettid() == ownPID {
			onOtherThread(f)
			runtime.UnlockOSThread()
		} else if f() {
			runtime.UnlockOSThread()
		}
	}()
	<-done
}

// switched calls f on this thread with the rights of a user and group, if it can. back reports
// whether the thread has its own rights again.
func switched(uid, gid int, f func()) (called, back bool) {
	groups, err := unix.Getgroups()
	euid, egid := unix.Geteuid(), unix.Getegid()
	if err != nil || setgroups(nil) != 0 {
		return false, true
	}
	if setresgid(-1, gid) != 0 || setresuid(-1, uid) != 0 {
		return false, false
	}
	f()
	return true, setresuid(-1, euid) == 0 && setresgid(-1, egid) == 0 && setgroups(groups) == 0
}

// setgroups sets the supplementary groups of this thread.
func setgroups(groups []int) syscall.Errno {
	list := make([]uint32, len(groups)+1) // never empty, for its address
	for i, g := range groups {
		list[i] = uint32(g)
	}
	_, _, err := syscall.RawSyscall(sysSetgroups, uintptr(len(groups)), uintptr(unsafe.Pointer(&list[0])), 0)
	return err
}

// setresuid sets the real and effective user of this thread. The saved user stays, so that the
// thread can switch back.
func setresuid(real, effective int) syscall.Errno {
	_, _, err := syscall.RawSyscall(sysSetresuid, uintptr(uint32(real)), uintptr(uint32(effective)), uintptr(uint32(noID)))
	return err
}

// setresgid sets the real and effective group of this thread.
func setresgid(real, effective int) syscall.Errno {
	_, _, err := syscall.RawSyscall(sysSetresgid, uintptr(uint32(real)), uintptr(uint32(effective)), uintptr(uint32(noID)))
	return err
}

// isOwn reports whether a user is the agent's.
func (identity) isOwn(uid int) bool { return uid == unix.Geteuid() }
