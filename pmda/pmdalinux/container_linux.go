package pmdalinux

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda/internal/hanging"
)

// viewOf returns where the files of a container are, given a process of it. The error is EPERM if
// the process does not exist or if the agent may not look into it.
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
	var err error
	if v.start, err = startOf(pid); err != nil {
		return v, unix.EPERM
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

// startOf returns the start time of a process in clock ticks. A later process may have the same ID
// but not the same start time.
func startOf(pid int) (uint64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 20 {
		return 0, fs.ErrInvalid
	}
	return strconv.ParseUint(fields[19], 10, 64)
}

// check reports whether the process is still the same one. If it has ended, the error is that of
// viewOf.
func (v *containerView) check() error {
	if !v.host.isMachine() {
		return nil
	}
	if start, err := startOf(v.pid); err != nil || start != v.start {
		return unix.EPERM
	}
	return nil
}

// openSys opens a file below /sys of the container. path is a result of containerView.path. Every
// directory on the way must be the kernel's, because the container may have mounted links or pipes
// over it. The path of /sys may also be on a file system that replies late or never. openSys then
// waits some time before it tries again.
func (l *linux) openSys(path string) (*os.File, error) {
	v := l.view
	dir := fmt.Sprintf("/proc/%d/root/sys", v.pid)
	rest, ok := strings.CutPrefix(path, dir+"/")
	if !ok || !v.host.isMachine() {
		return os.Open(path)
	}
	began := time.Now()
	if began.UnixNano() < l.sysSlowUntil.Load() {
		return nil, pdu.ErrAgain
	}
	at, err := hanging.Do(context.Background(), &v.host.calls, *v, "sys", func() int { return openSysDir(dir) }, closeSysDir)
	if now := time.Now(); now.Sub(began) > sysSlow {
		l.sysSlowUntil.Store(now.Add(recheckAfter).UnixNano())
	}
	if err != nil {
		return nil, err
	}
	if at < 0 {
		return nil, fs.ErrNotExist
	}
	defer closeSysDir(at)
	fd, err := unix.Openat2(at, rest, &unix.OpenHow{
		Flags: unix.O_RDONLY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_XDEV | unix.RESOLVE_NO_MAGICLINKS,
	})
	if err != nil { // kernels before 5.6 cannot do it
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// sysSlow is longer than the kernel needs to open /sys.
const sysSlow = 100 * time.Millisecond

// openSysDir opens /sys of a container. It returns a negative number unless /sys is the kernel's.
func openSysDir(dir string) int {
	at, err := unix.Open(dir, unix.O_PATH|unix.O_NOFOLLOW|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	var s unix.Statfs_t
	if err := unix.Fstatfs(at, &s); err != nil || uint32(s.Type) != unix.SYSFS_MAGIC {
		unix.Close(at)
		return -1
	}
	return at
}

func closeSysDir(at int) {
	if at >= 0 {
		unix.Close(at)
	}
}

func (v *containerView) namespace(name string) string {
	return fmt.Sprintf("/proc/%d/ns/%s", v.pid, name)
}

// inNamespace calls f on a thread in a namespace of the container, net or uts.
func (v *containerView) inNamespace(name string, f func() error) error {
	kind := map[string]int{"net": unix.CLONE_NEWNET, "uts": unix.CLONE_NEWUTS}[name]
	var err error
	onOtherThread(func() (back bool) {
		back, err = inNamespace(v.namespace(name), "/proc/thread-self/ns/"+name, kind, f)
		return back
	})
	return err
}

// inNamespace calls f in a namespace. back reports whether the thread has returned to its own
// namespace.
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

// onOtherThread calls f on a thread that runs nothing else. It is not the program's first thread,
// because /proc/self shows the namespaces of that one. Unless f returns true the thread ends.
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
