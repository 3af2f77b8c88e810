package pmdalinux

import (
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"

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
	return v, nil
}

// openSys opens a file below /sys of the container, whose path is that of path. All of the way there has to be the kernel's, since
// what the container has put over it may be links to anywhere, or pipes.
func (v *containerView) openSys(path string) (*os.File, error) {
	dir := fmt.Sprintf("/proc/%d/root/sys", v.pid)
	rest, ok := strings.CutPrefix(path, dir+"/")
	if !ok || !v.host.isMachine() {
		return os.Open(path)
	}
	at, err := unix.Open(dir, unix.O_PATH|unix.O_NOFOLLOW|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(at)
	var s unix.Statfs_t
	if err := unix.Fstatfs(at, &s); err != nil || uint32(s.Type) != unix.SYSFS_MAGIC {
		return nil, fs.ErrNotExist
	}
	fd, err := unix.Openat2(at, rest, &unix.OpenHow{
		Flags: unix.O_RDONLY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_XDEV | unix.RESOLVE_NO_MAGICLINKS,
	})
	if err != nil { // kernels before 5.6 cannot do it
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
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
