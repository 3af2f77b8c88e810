package daemonfile_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/pcp-go/pcp/internal/daemonfile"
	"github.com/pcp-go/pcp/internal/pcptest"
)

// TestListenAlone: the umask of a socket is not that of the files which other goroutines create
// meanwhile, nor are they another user's.
func TestListenAlone(t *testing.T) {
	can := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread has left the others
		can <- unix.Unshare(unix.CLONE_FS)
	}()
	if err := <-can; err != nil {
		t.Skip("no thread may have an umask of its own:", err)
	}
	dir := pcptest.ShortDir(t)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		path := filepath.Join(dir, "file")
		var want fs.FileMode
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			default:
			}
			f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
			if err != nil {
				t.Error(err)
				return
			}
			st, err := f.Stat()
			f.Close()
			os.Remove(path)
			if err != nil {
				t.Error(err)
				return
			}
			if n == 0 {
				want = st.Mode()
			}
			if st.Mode() != want || int(st.Sys().(*syscall.Stat_t).Uid) != os.Geteuid() {
				t.Errorf("file %d: mode %v, want %v; user %d", n, st.Mode(), want, st.Sys().(*syscall.Stat_t).Uid)
				return
			}
		}
	})
	for range 200 {
		l, _ := listen(t, daemonfile.Socket{Path: filepath.Join(dir, "s"), Mode: 0o600, User: &daemonfile.User{UID: 65534, GID: 65534}})
		l.Close()
	}
	close(done)
	wg.Wait()
}

const withoutUnshare = "DAEMONFILE_TEST_WITHOUT_UNSHARE"

// TestListenWithoutUnshare runs TestListen in a process that may not call unshare(2), as in some
// containers.
func TestListenWithoutUnshare(t *testing.T) {
	if os.Getenv(withoutUnshare) != "" {
		if err := unix.Unshare(unix.CLONE_FS); err != unix.EPERM {
			t.Fatalf("unshare: %v", err)
		}
		TestListen(t)
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^TestListenWithoutUnshare$")
	cmd.Env = append(os.Environ(), withoutUnshare+"=1")
	var out []byte
	var skip error
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // for good: the filter stays with the thread, and goes to its child
		if skip = refuseUnshare(); skip == nil {
			out, err = cmd.CombinedOutput()
		}
	}()
	<-done
	if skip != nil {
		t.Skip("no filters for system calls:", skip)
	}
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// refuseUnshare has unshare(2) fail with EPERM on this thread and in its children.
func refuseUnshare() error {
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the number of the system call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_UNSHARE, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
}
