//go:build unix

package daemonfile_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pcp-go/pcp/internal/daemonfile"
	"github.com/pcp-go/pcp/internal/pcptest"
)

// A victim is a file that only its owner may use and no other user may change.
type victim struct{ path string }

const secret = "secret\n"

func newVictim(t *testing.T) victim {
	t.Helper()
	v := victim{filepath.Join(t.TempDir(), "victim")}
	if err := os.WriteFile(v.path, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	return v
}

// check reports what has happened to it.
func (v victim) check(t *testing.T) {
	t.Helper()
	st, err := os.Stat(v.path)
	if err != nil {
		t.Fatal(err)
	}
	if st.Mode() != 0o600 || int(st.Sys().(*syscall.Stat_t).Uid) != os.Geteuid() {
		t.Errorf("the file of somebody else has mode %v and owner %d", st.Mode(), st.Sys().(*syscall.Stat_t).Uid)
	}
	if b, err := os.ReadFile(v.path); err != nil || string(b) != secret {
		t.Errorf("the file of somebody else holds %q, %v", b, err)
	}
}

// plant puts links to the victim in the place of a file over and over, until the test ends. In its
// turns it leaves room for the file, or exchanges it.
func (v victim) plant(t *testing.T, path string) {
	var wg sync.WaitGroup
	done := make(chan struct{})
	wg.Go(func() {
		for link := path + ".link"; ; {
			select {
			case <-done:
				return
			default:
			}
			os.Symlink(v.path, path)
			os.Remove(path)
			os.Symlink(v.path, link)
			os.Rename(link, path)
			os.Remove(path)
		}
	})
	t.Cleanup(func() {
		close(done)
		wg.Wait()
	})
}

// withUmask runs a function with a umask of the process.
func withUmask(mask int, f func()) {
	defer unix.Umask(unix.Umask(mask))
	f()
}

// TestCreateInPlace creates a file where something else is.
func TestCreateInPlace(t *testing.T) {
	for _, tt := range []struct {
		name string
		make func(path string, v victim) error
		err  error
	}{
		{"nothing", func(string, victim) error { return nil }, nil},
		{"file", func(path string, v victim) error { return os.WriteFile(path, []byte("old"), 0o600) }, nil},
		{"link", func(path string, v victim) error { return os.Symlink(v.path, path) }, nil},
		{"link that leads nowhere", func(path string, v victim) error { return os.Symlink(v.path+"x", path) }, nil},
		{"hard link", func(path string, v victim) error { return os.Link(v.path, path) }, nil},
		{"FIFO", func(path string, v victim) error { return unix.Mkfifo(path, 0o666) }, nil},
		{"socket", func(path string, v victim) error {
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
			if err == nil {
				l.SetUnlinkOnClose(false)
				l.Close()
			}
			return err
		}, nil},
		{"directory", func(path string, v victim) error { return os.Mkdir(path, 0o755) }, syscall.EISDIR},
	} {
		for name, create := range map[string]func(string) (*os.File, error){
			"Create": func(path string) (*os.File, error) {
				f, err := daemonfile.Create(path)
				if err != nil {
					return nil, err
				}
				return f.File, nil
			},
			"Rotate": daemonfile.Rotate,
		} {
			t.Run(name+"/"+tt.name, func(t *testing.T) {
				v := newVictim(t)
				for _, mask := range []int{0, 0o077} {
					path := filepath.Join(filepath.Dir(v.path), "file")
					if err := tt.make(path, v); err != nil {
						t.Fatal(err)
					}
					old, _ := os.Lstat(path)
					var f *os.File
					var err error
					withUmask(mask, func() { f, err = create(path) })
					if !errors.Is(err, tt.err) || (err == nil) != (tt.err == nil) {
						t.Fatalf("error %v, want %v", err, tt.err)
					}
					v.check(t)
					now, lerr := os.Lstat(path)
					if lerr != nil {
						t.Fatal(lerr)
					}
					if err != nil {
						if !os.SameFile(old, now) {
							t.Error("it was exchanged")
						}
						return
					}
					if st, err := f.Stat(); err != nil || !os.SameFile(st, now) || now.Mode() != 0o644 {
						t.Errorf("new file: %v, %v", now.Mode(), err)
					}
					prev, err := os.Lstat(path + ".prev")
					if kept := err == nil && os.SameFile(prev, old); kept != (name == "Rotate" && old != nil) {
						t.Errorf("the older file is kept: %v", kept)
					}
					f.Close()
					os.Remove(path)
					os.Remove(path + ".prev")
				}
			})
		}
	}
}

// TestPlanted creates files while another process plants links to another file in their place.
func TestPlanted(t *testing.T) {
	const tries = 500
	for name, create := range map[string]func(string) error{
		"Create": func(path string) error {
			f, err := daemonfile.Create(path)
			if err != nil {
				return err
			}
			f.WriteString("1234")
			f.Remove()
			return f.Close()
		},
		"OpenLog": func(path string) error {
			l, err := daemonfile.OpenLog(path, "pmdax")
			if err != nil {
				return err
			}
			return l.Finish()
		},
		"Listen": func(path string) error {
			l, _, err := daemonfile.Socket{Path: path, Mode: 0o666}.Listen()
			if err != nil {
				return nil // it may be refused
			}
			return l.Close()
		},
		"Listen for a user": func(path string) error {
			l, _, err := daemonfile.Socket{Path: path, Mode: 0o660, User: &daemonfile.User{UID: 65534, GID: 65534}}.Listen()
			if err != nil {
				return nil
			}
			return l.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVictim(t)
			dir := t.TempDir()
			if err := os.Chmod(dir, 0o777); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "file")
			v.plant(t, path)
			failed := 0
			for range tries {
				if err := create(path); err != nil {
					failed++
				}
			}
			v.check(t)
			if failed > tries/10 {
				t.Errorf("%d of %d files were not created", failed, tries)
			}
		})
	}
}

// TestRemove removes a file but not its successor.
func TestRemove(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pid")
	a, err := daemonfile.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := daemonfile.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := a.Remove(); err != nil {
		t.Error(err)
	}
	if st, err := os.Lstat(path); err != nil {
		t.Errorf("the successor was removed: %v, %v", st, err)
	}
	if err := b.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it stays: %v", err)
	}
	if err := b.Remove(); err != nil {
		t.Errorf("removed twice: %v", err)
	}
}

// TestDevice: a device stays where it is, and so does a link to one if no other user can have made
// it. A daemon that root starts with -l /dev/null would otherwise remove /dev/null for all
// processes.
func TestDevice(t *testing.T) {
	for _, tt := range []struct {
		name string
		mode fs.FileMode // of the directory of the link
		link bool        // it stays
	}{{"own directory", 0o755, true}, {"directory of others", 0o777, false}} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Chmod(dir, tt.mode); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "null")
			if err := os.Symlink(os.DevNull, path); err != nil {
				t.Fatal(err)
			}
			l, err := daemonfile.OpenLog(path, "pmdax")
			if err != nil {
				t.Fatal(err)
			}
			if text, err := l.Text(); err != nil || (len(text) == 0) != tt.link {
				t.Errorf("the log holds %q, %v", text, err)
			}
			if err := l.Finish(); err != nil {
				t.Error(err)
			}
			now, err := os.Lstat(path)
			if err != nil || now.Mode()&fs.ModeSymlink != 0 != tt.link {
				t.Errorf("it is %v, %v", now, err)
			}
		})
	}
	if st, err := os.Stat(os.DevNull); err != nil || st.Mode()&fs.ModeCharDevice == 0 {
		t.Fatalf("%s: %v, %v", os.DevNull, st, err)
	}
}

// TestPipe: a log may be a link to a pipe, such as /dev/stdout. Without a reader it fails at once.
func TestPipe(t *testing.T) {
	dir := t.TempDir()
	fifo, link := filepath.Join(dir, "fifo"), filepath.Join(dir, "link")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(fifo, link); err != nil {
		t.Fatal(err)
	}
	if f, err := daemonfile.Rotate(link); !errors.Is(err, syscall.ENXIO) {
		t.Errorf("without a reader: %v, %v", f, err)
	}
	r, err := os.OpenFile(fifo, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	f, err := daemonfile.Rotate(link)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("x"); err != nil {
		t.Error(err)
	}
	b := make([]byte, 2)
	if n, err := r.Read(b); n != 1 || err != nil {
		t.Errorf("read %q, %v", b[:n], err)
	}
	// A FIFO for a directory is no directory, but does not wait either.
	if f, err := daemonfile.Rotate(filepath.Join(fifo, "log")); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("below a FIFO: %v, %v", f, err)
	}
}

// TestOthersDirectory: a user who cannot create files in a directory empties its own log there, and
// nothing else.
func TestOthersDirectory(t *testing.T) {
	const file = "DAEMONFILE_TEST_FILE"
	if path := os.Getenv(file); path != "" { // as that user
		l, err := daemonfile.OpenLog(path, "pmdax")
		if err == nil {
			err = l.Finish()
		}
		if errors.Is(err, fs.ErrPermission) {
			os.Exit(3)
		} else if err != nil {
			t.Fatal(err)
		}
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	const id = 65534
	program := testProgram(t)
	for _, tt := range []struct {
		name   string
		owner  int
		links  int
		status int
	}{{"own file", id, 1, 0}, {"file of others", 0, 1, 3}, {"file with another name", id, 2, 3}} {
		t.Run(tt.name, func(t *testing.T) {
			dir := pcptest.ShortDir(t)
			path := filepath.Join(dir, "log")
			if err := errors.Join(os.WriteFile(path, []byte("old"), 0o666), os.Chmod(path, 0o666), os.Chown(path, tt.owner, -1)); err != nil {
				t.Fatal(err)
			}
			if tt.links == 2 {
				if err := os.Link(path, path+"2"); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command(program, "-test.run=^TestOthersDirectory$")
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), file+"="+path)
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: id, Gid: id}}
			out, _ := cmd.CombinedOutput()
			if status := cmd.ProcessState.ExitCode(); status != tt.status {
				t.Errorf("exit status %d, want %d\n%s", status, tt.status, out)
			}
			b, err := os.ReadFile(path)
			if emptied := !strings.HasPrefix(string(b), "old"); err != nil || emptied != (tt.status == 0) {
				t.Errorf("it holds %q, %v", b, err)
			}
		})
	}
}

// testProgram is this program where another user can start it.
func testProgram(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(pcptest.ShortDir(t), "test")
	if err := os.WriteFile(program, b, 0o755); err != nil {
		t.Fatal(err)
	}
	return program
}
