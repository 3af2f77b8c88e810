package main

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// TestSocketPlaces starts the program with a socket where something else is. Only a dead socket
// goes.
func TestSocketPlaces(t *testing.T) {
	leave := func(path string) error {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		if err != nil {
			return err
		}
		l.SetUnlinkOnClose(false)
		return l.Close()
	}
	program := pcptest.Build(t, "./examples/pmcd")
	for _, tt := range []struct {
		name string
		make func(path string) error
		want string // part of the error; empty for a start
	}{
		{"dead socket", leave, ""},
		{"link to a dead socket", func(path string) error { return errors.Join(leave(path+"x"), os.Symlink(path+"x", path)) }, "is not a socket"},
		{"file", func(path string) error { return os.WriteFile(path, nil, 0o644) }, "is not a socket"},
		{"link", func(path string) error { return os.Symlink("nowhere", path) }, "is not a socket"},
		{"empty directory", func(path string) error { return os.Mkdir(path, 0o755) }, "is not a socket"},
		{"FIFO", func(path string) error { return syscall.Mkfifo(path, 0o644) }, "is not a socket"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(pcptest.ShortDir(t), "s")
			if err := tt.make(path); err != nil {
				t.Fatal(err)
			}
			old, err := os.Lstat(path)
			if err != nil {
				t.Fatal(err)
			}
			args := []string{"-p", strconv.Itoa(pcptest.FreePort(t)), "-s", path}
			if tt.want == "" {
				p := pcptest.Start(t, pcptest.Daemon{Path: program, Args: args, Addr: path, Greets: true})
				if st, err := os.Lstat(path); err != nil || st.Mode() != fs.ModeSocket|0o666 {
					t.Errorf("socket: %v, %v", st, err)
				}
				p.Stop()
				if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("it stays: %v", err)
				}
				return
			}
			// It would serve for ever if it replaced what is there.
			_, errs, status := pcptest.Run(t, nil, "", append([]string{"timeout", "20", program}, args...)...)
			if status != 1 || !strings.Contains(errs, tt.want) || !strings.Contains(errs, path) {
				t.Errorf("exit status %d: %s", status, errs)
			}
			if now, err := os.Lstat(path); err != nil || !os.SameFile(old, now) {
				t.Errorf("it was exchanged: %v, %v", now, err)
			}
		})
	}
}

// TestSocketOfSuccessor: a collector whose socket was removed leaves that of the next one alone.
func TestSocketOfSuccessor(t *testing.T) {
	path := filepath.Join(pcptest.ShortDir(t), "s")
	start := func() *pcptest.Process {
		return pcptest.Start(t, pcptest.Daemon{Path: pcptest.Build(t, "./examples/pmcd"), Addr: path, Greets: true,
			Args: []string{"-p", strconv.Itoa(pcptest.FreePort(t)), "-s", path}})
	}
	first := start()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	start()
	first.Stop()
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatalf("the successor cannot be reached: %v", err)
	}
	c.Close()
}

// TestPIDOfSuccessor: a collector leaves the process identifier of the next one alone.
func TestPIDOfSuccessor(t *testing.T) {
	in := install(t)
	if _, errs, status := pcptest.RunIn(t, filepath.Join(in.dir, "log/pmcd"), in.env, "", in.pmcd); status != 0 {
		t.Fatalf("exit status %d: %s", status, errs)
	}
	pid, file := in.pid(t), filepath.Join(in.dir, "run/pmcd.pid")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	in.write(t, "run/pmcd.pid", "1")
	syscall.Kill(pid, syscall.SIGTERM)
	waitGone(t, pid)
	if b, err := os.ReadFile(file); err != nil || string(b) != "1" {
		t.Errorf("%q, %v", b, err)
	}
}

// TestLogPlaces starts the program with logs that are no files; none delays it.
func TestLogPlaces(t *testing.T) {
	for _, tt := range []struct {
		name string
		make func(path string) error
		mode fs.FileMode // type of the log afterwards
	}{
		{"FIFO that nobody reads", func(path string) error { return syscall.Mkfifo(path, 0o644) }, 0},
		{"link to a device", func(path string) error { return os.Symlink(os.DevNull, path) }, fs.ModeSymlink},
		{"link that leads nowhere", func(path string) error { return os.Symlink("nowhere", path) }, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := install(t)
			log := filepath.Join(in.dir, "log/x")
			if err := tt.make(log); err != nil {
				t.Fatal(err)
			}
			port := strconv.Itoa(pcptest.FreePort(t))
			pcptest.Start(t, pcptest.Daemon{Path: in.pmcd, Args: []string{"-f", "-l", log, "-p", port}, Dir: in.dir,
				Env: in.env, Addr: "localhost:" + port, Greets: true})
			if st, err := os.Lstat(log); err != nil || st.Mode().Type() != tt.mode {
				t.Errorf("the log is %v, %v", st, err)
			}
		})
	}
}

// TestModes: with any umask, all users can read the log and the process identifier, and only the
// owner can write them. The same holds for the logs of agents, because they inherit the collector's
// umask.
func TestModes(t *testing.T) {
	for _, mask := range []string{"000", "077"} {
		t.Run(mask, func(t *testing.T) {
			in := install(t)
			_, errs, status := pcptest.RunIn(t, filepath.Join(in.dir, "log/pmcd"), in.env, "", "/bin/sh", "-c", "umask "+mask+"; "+in.pmcd)
			if status != 0 {
				t.Fatalf("exit status %d: %s", status, errs)
			}
			pid := in.pid(t)
			for name, want := range map[string]fs.FileMode{
				"log/pmcd/pmcd.log": 0o644, "log/pmcd/simple.log": 0o644, "run/pmcd.pid": 0o644, "run/pmcd.socket": fs.ModeSocket | 0o666,
			} {
				if st, err := os.Lstat(filepath.Join(in.dir, name)); err != nil || st.Mode() != want {
					t.Errorf("%s: %v, %v; want %v", name, st, err, want)
				}
			}
			process, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
			if err != nil || !strings.Contains(string(process), "\nUmask:\t0022\n") {
				t.Errorf("umask: %v\n%.200s", err, process)
			}
		})
	}
}
