package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// An activated collector has its sockets from a service manager, which is the test.
type activated struct {
	t       *testing.T
	cmd     *exec.Cmd
	tcp     net.Listener
	socket  string
	manager *net.UnixConn
	log     string
}

// startActivated starts a collector with sockets, and awaits that it serves.
func startActivated(t *testing.T) *activated {
	t.Helper()
	dir := pcptest.ShortDir(t)
	a := &activated{t: t, socket: filepath.Join(dir, "socket"), log: filepath.Join(dir, "log")}
	var err error
	if a.tcp, err = net.Listen("tcp4", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	unix, err := net.Listen("unix", a.socket)
	if err != nil {
		t.Fatal(err)
	}
	if a.manager, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "notify"), Net: "unixgram"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.manager.Close() })
	log, err := os.Create(a.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	var files []*os.File
	for _, l := range []net.Listener{a.tcp, unix} {
		f, err := l.(interface{ File() (*os.File, error) }).File()
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		t.Cleanup(func() { l.Close() })
		files = append(files, f)
	}
	for name, text := range map[string]string{"conf": "x 250 pipe binary /bin/true\n", "names": "root { }\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// A shell knows the identifier of the process that it becomes.
	a.cmd = exec.Command("/bin/sh", "-c", `LISTEN_PID=$$ exec "$0" "$@"`, pcptest.Build(t, "./examples/pmcd"), "-c", "conf", "-n", "names", "-l", "-", "-p", "1", "-s", "/nosuch/socket")
	a.cmd.Dir, a.cmd.ExtraFiles, a.cmd.Stderr = dir, files, log
	a.cmd.Env = append(pcptest.Env(), "LISTEN_FDS=2", "NOTIFY_SOCKET="+a.manager.LocalAddr().String(), "PCP_RUN_DIR="+dir, "PCP_TMP_DIR="+dir, "PMCD_ROOT_AGENT=0")
	if err := a.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.cmd.Process.Kill() })
	a.notified(fmt.Sprintf("READY=1\nMAINPID=%d", a.cmd.Process.Pid))
	return a
}

// next is the next message to the service manager.
func (a *activated) next() string {
	a.t.Helper()
	a.manager.SetReadDeadline(time.Now().Add(time.Minute))
	b := make([]byte, 100)
	n, err := a.manager.Read(b)
	if err != nil {
		a.t.Fatalf("no message to the service manager: %v\n%s", err, a.text())
	}
	return string(b[:n])
}

func (a *activated) notified(want string) {
	a.t.Helper()
	if got := a.next(); got != want {
		a.t.Errorf("notified %q, want %q", got, want)
	}
}

func (a *activated) text() string {
	b, _ := os.ReadFile(a.log)
	return string(b)
}

// greets checks that a collector answers at both sockets.
func (a *activated) greets() {
	a.t.Helper()
	for network, address := range map[string]string{"tcp": a.tcp.Addr().String(), "unix": a.socket} {
		c, err := net.Dial(network, address)
		if err != nil {
			a.t.Fatal(err)
		}
		c.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := io.ReadFull(c, make([]byte, 20)); err != nil {
			a.t.Errorf("%s: no greeting: %v", network, err)
		}
		c.Close()
	}
}

// endsWell checks that the first process has ended, and has left the file of the unix socket.
func (a *activated) endsWell() {
	a.t.Helper()
	if err := a.cmd.Wait(); err != nil {
		a.t.Errorf("%v\n%s", err, a.text())
	}
	if _, err := os.Stat(a.socket); err != nil {
		a.t.Errorf("the socket of the service manager: %v", err)
	}
}

// TestSocketActivation serves on sockets of the service manager alone, says so to it, and leaves
// the file of the unix socket.
func TestSocketActivation(t *testing.T) {
	a := startActivated(t)
	a.greets()
	if err := a.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	a.endsWell()
	_, port, _ := net.SplitHostPort(a.tcp.Addr().String())
	want := fmt.Sprintf("unix   %s\n", a.socket)
	if s := a.text(); !strings.Contains(s, want) || !strings.Contains(s, port+" inet   127.0.0.1\n") || strings.Contains(s, "  err ") {
		t.Errorf("log:\n%s", s)
	}
}

// TestHandoverActivated has processes take the place of a collector that has its sockets from a
// service manager: each serves on the same sockets, whose file is there after the last one, too.
func TestHandoverActivated(t *testing.T) {
	a := startActivated(t)
	pid := a.cmd.Process.Pid
	for i := range 2 {
		if err := syscall.Kill(pid, syscall.SIGUSR2); err != nil {
			t.Fatal(err)
		}
		var next int
		if n, err := fmt.Sscanf(a.next(), "READY=1\nMAINPID=%d", &next); n != 1 || next == pid {
			t.Fatalf("process %d follows %d: %v\n%s", next, pid, err, a.text())
		}
		p, err := os.FindProcess(next)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Kill() }) // not one that has ended already
		a.notified(fmt.Sprintf("MAINPID=%d", next))
		if i == 0 {
			a.endsWell()
		}
		a.greets()
		pid = next
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	a.notified("STOPPING=1")
	wait(t, func() string {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(b), ") Z ") { // whoever inherits it may not wait for it
			return ""
		}
		return fmt.Sprintf("process %d does not end\n%s", pid, a.text())
	})
	if _, err := os.Stat(a.socket); err != nil {
		t.Errorf("the socket of the service manager: %v", err)
	}
	if s := a.text(); strings.Contains(s, "  err ") || strings.Count(s, "unix   "+a.socket+"\n") != 3 || strings.Contains(s, "panic") {
		t.Errorf("log:\n%s", s)
	}
}

// TestBadActivation: what cannot be served on is an error, and sockets of another process are left
// alone.
func TestBadActivation(t *testing.T) {
	program := pcptest.Build(t, "./examples/pmcd")
	for _, tt := range []struct{ name, fds, want string }{
		{"no number", "x", `LISTEN_FDS is "x"`},
		{"too many", "99999999", `LISTEN_FDS is "99999999"`},
		{"no socket", "1", "descriptor 3 of the service manager is no stream socket that listens: "},
	} {
		cmd := exec.Command("/bin/sh", "-c", `LISTEN_PID=$$ exec "$0" "$@"`, program)
		cmd.ExtraFiles = []*os.File{os.Stdin}
		cmd.Env = append(pcptest.Env(), "LISTEN_FDS="+tt.fds)
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), tt.want) {
			t.Errorf("%s: %v\n%s", tt.name, err, out)
		}
	}
	_, errs, status := pcptest.Run(t, []string{"LISTEN_PID=1", "LISTEN_FDS=1"}, "", program, "-p", "0", "-s", "/nosuch/socket")
	if want := "cannot listen on /nosuch/socket"; status != 1 || !strings.Contains(errs, want) {
		t.Errorf("for another process: exit status %d, %s", status, errs)
	}
}
