//go:build unix

package daemonfile_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pcp-go/pcp/internal/daemonfile"
	"github.com/pcp-go/pcp/internal/pcptest"
)

func listen(t *testing.T, s daemonfile.Socket) (l net.Listener, replaced bool) {
	t.Helper()
	l, replaced, err := s.Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, replaced
}

// TestListen follows a socket from its making to its end.
func TestListen(t *testing.T) {
	for _, mask := range []int{0, 0o022, 0o077, 0o777} {
		path := filepath.Join(pcptest.ShortDir(t), "s")
		var l net.Listener
		withUmask(mask, func() {
			l, _ = listen(t, daemonfile.Socket{Path: path, Mode: 0o666})
			if after := unix.Umask(mask); after != mask {
				t.Errorf("umask %03o became %03o", mask, after)
			}
		})
		if st, err := os.Lstat(path); err != nil || st.Mode() != fs.ModeSocket|0o666 {
			t.Errorf("umask %03o: %v, %v", mask, st.Mode(), err)
		}
		if got := l.Addr().String(); got != path {
			t.Errorf("address %s, want %s", got, path)
		}
		if c, err := net.Dial("unix", path); err != nil {
			t.Error(err)
		} else {
			c.Close()
		}
		if _, _, err := (daemonfile.Socket{Path: path, Mode: 0o666}).Listen(); !errors.Is(err, daemonfile.ErrInUse) {
			t.Errorf("a second listener: %v", err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the socket stays: %v", err)
		}
	}
}

// TestListenInPlace listens where something else is: only a dead socket goes.
func TestListenInPlace(t *testing.T) {
	var datagrams *net.UnixConn // one that nobody has would be closed as garbage
	defer func() { datagrams.Close() }()
	for _, tt := range []struct {
		name     string
		make     func(path string, v victim) error
		replaced bool
		err      error
	}{
		{"nothing", func(string, victim) error { return nil }, false, nil},
		{"dead socket", func(path string, v victim) error { return deadSocket(path) }, true, nil},
		{"socket that does not listen", func(path string, v victim) error {
			s, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			if err == nil {
				err = unix.Bind(s, &unix.SockaddrUnix{Name: path})
			}
			return err
		}, false, daemonfile.ErrInUse},
		{"socket for datagrams", func(path string, v victim) (err error) {
			datagrams, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
			return err
		}, false, daemonfile.ErrInUse},
		{"link to a dead socket", func(path string, v victim) error {
			return errors.Join(deadSocket(path+"x"), os.Symlink(path+"x", path))
		}, false, daemonfile.ErrNotSocket},
		{"link to a file", func(path string, v victim) error { return os.Symlink(v.path, path) }, false, daemonfile.ErrNotSocket},
		{"link that leads nowhere", func(path string, v victim) error { return os.Symlink("nowhere", path) }, false, daemonfile.ErrNotSocket},
		{"file", func(path string, v victim) error { return os.WriteFile(path, nil, 0o600) }, false, daemonfile.ErrNotSocket},
		{"FIFO", func(path string, v victim) error { return unix.Mkfifo(path, 0o600) }, false, daemonfile.ErrNotSocket},
		{"empty directory", func(path string, v victim) error { return os.Mkdir(path, 0o700) }, false, daemonfile.ErrNotSocket},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := newVictim(t)
			path := filepath.Join(pcptest.ShortDir(t), "s")
			if err := tt.make(path, v); err != nil {
				t.Fatal(err)
			}
			old, _ := os.Lstat(path)
			l, replaced, err := daemonfile.Socket{Path: path, Mode: 0o666}.Listen()
			if replaced != tt.replaced || !errors.Is(err, tt.err) || (err == nil) != (tt.err == nil) {
				t.Errorf("replaced %v, error %v", replaced, err)
			}
			if err == nil {
				l.Close()
			} else if now, err := os.Lstat(path); err != nil || !os.SameFile(old, now) {
				t.Errorf("it has not stayed: %v, %v", now, err)
			}
			v.check(t)
		})
	}
}

// deadSocket leaves a socket that no process has.
func deadSocket(path string) error {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return err
	}
	l.SetUnlinkOnClose(false)
	return l.Close()
}

// TestListenEnds: a listener leaves alone what is not its socket, and its own if it shall.
func TestListenEnds(t *testing.T) {
	for _, tt := range []struct {
		name      string
		keep      bool
		successor bool
		stays     bool
	}{{"own", false, false, false}, {"kept", true, false, true}, {"successor's", false, true, true}} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(pcptest.ShortDir(t), "s")
			l, _ := listen(t, daemonfile.Socket{Path: path, Mode: 0o600, Keep: tt.keep})
			if tt.successor {
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
				listen(t, daemonfile.Socket{Path: path, Mode: 0o600})
			}
			if err := errors.Join(l.Close()); err != nil {
				t.Error(err)
			}
			if _, err := os.Lstat(path); (err == nil) != tt.stays {
				t.Errorf("after the end: %v", err)
			}
			if err := l.Close(); err == nil {
				t.Error("closed twice")
			}
		})
	}
}

// TestListenForUser: root makes a socket for another user.
func TestListenForUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	const id = 65534 // the user nobody, and somebody without rights elsewhere
	for _, tt := range []struct {
		name  string
		mode  fs.FileMode // of the directory
		owner int
		err   error
	}{
		{"own directory", 0o755, 0, nil},
		{"directory of the user", 0o755, id, nil},
		{"directory of all", 0o1777, 0, nil},
		{"directory of another user", 0o755, 12345, syscall.EACCES},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := pcptest.ShortDir(t)
			if err := errors.Join(os.Chmod(dir, tt.mode), os.Chown(dir, tt.owner, -1)); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "s")
			l, _, err := daemonfile.Socket{Path: path, Mode: 0o660, User: &daemonfile.User{UID: id, GID: id}}.Listen()
			if !errors.Is(err, tt.err) || (err == nil) != (tt.err == nil) {
				t.Fatalf("error %v, want %v", err, tt.err)
			}
			if err != nil {
				return
			}
			defer l.Close()
			st, err := os.Lstat(path)
			if err != nil {
				t.Fatal(err)
			}
			if s := st.Sys().(*syscall.Stat_t); st.Mode() != fs.ModeSocket|0o660 || s.Uid != id || s.Gid != id {
				t.Errorf("mode %v, user %d, group %d", st.Mode(), s.Uid, s.Gid)
			}
		})
	}
}
