package pmdalinux

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// viewOf says where the files of a container are, by a process of it. The error is EPERM if there is
// no such process, or if the agent has not the rights to look into it.
func (l *linux) viewOf(pid int) (containerView, error) {
	v := containerView{host: l, pid: pid}
	if pid <= 0 {
		return v, unix.EPERM
	}
	if !l.isMachine() {
		v.sys = true
		if _, err := os.Stat(l.path(fmt.Sprint("proc/", pid))); err != nil {
			return v, unix.EPERM
		}
		return v, nil
	}
	for _, name := range []string{"net", "mnt", "uts"} {
		fd, err := unix.Open(v.namespace(name), unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return v, unix.EPERM
		}
		unix.Close(fd)
	}
	v.sys = isSysfs(fmt.Sprintf("/proc/%d/root/sys", pid))
	return v, nil
}

// isSysfs reports whether a directory is the kernel's, rather than files that are a container's, which
// may be links to anywhere or pipes.
func isSysfs(dir string) bool {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_NOFOLLOW|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	var s unix.Statfs_t
	return unix.Fstatfs(fd, &s) == nil && uint32(s.Type) == unix.SYSFS_MAGIC
}

func (v *containerView) namespace(name string) string {
	return fmt.Sprintf("/proc/%d/ns/%s", v.pid, name)
}

// inNamespace calls f on a thread that is in a namespace of the container, net or uts.
func (v *containerView) inNamespace(name string, f func() error) error {
	kind := map[string]int{"net": unix.CLONE_NEWNET, "uts": unix.CLONE_NEWUTS}[name]
	var err error
	onOtherThread(func() (back bool) {
		back, err = inNamespace(v.namespace(name), "/proc/thread-self/ns/"+name, kind, f)
		return back
	})
	return err
}

// inNamespace calls f in a namespace. Back is whether this thread is in its own afterwards.
func inNamespace(path, own string, kind int, f func() error) (back bool, err error) {
	to, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return true, unix.EPERM
	}
	defer unix.Close(to)
	from, err := unix.Open(own, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return true, unix.EPERM
	}
	defer unix.Close(from)
	if err := unix.Setns(to, kind); err != nil {
		return true, unix.EPERM
	}
	defer func() { back = unix.Setns(from, kind) == nil }()
	return false, f()
}

// onOtherThread calls f on a thread that nothing else runs on, and that is not the first one of the
// program: what is in /proc/self would be of its namespaces. Unless f returns true the thread ends.
func onOtherThread(f func() bool) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if unix.Gettid() == os.Getpid() {
			onOtherThread(f)
			runtime.UnlockOSThread()
		} else if f() {
			runtime.UnlockOSThread()
		}
	}()
	<-done
}
