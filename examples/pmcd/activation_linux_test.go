package main

import (
	"bytes"
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

// TestSocketActivation serves on sockets of the service manager alone, says so to it, and leaves the file of the unix socket.
func TestSocketActivation(t *testing.T) {
	dir := pcptest.ShortDir(t)
	tcp, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "socket")
	unix, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	var files []*os.File
	for _, l := range []net.Listener{tcp, unix} {
		f, err := l.(interface{ File() (*os.File, error) }).File()
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		defer l.Close()
		files = append(files, f)
	}
	for name, text := range map[string]string{"conf": "x 250 pipe binary /bin/true\n", "names": "root { }\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// A shell knows the identifier of the process that it becomes.
	cmd := exec.Command("/bin/sh", "-c", `LISTEN_PID=$$ exec "$0" "$@"`, pcptest.Build(t, "./examples/pmcd"), "-c", "conf", "-n", "names", "-l", "-", "-p", "1", "-s", "/nosuch/socket")
	var log bytes.Buffer
	cmd.Dir, cmd.ExtraFiles, cmd.Stderr = dir, files, &log
	cmd.Env = append(pcptest.Env(), "LISTEN_FDS=2", "NOTIFY_SOCKET="+manager.LocalAddr().String(), "PCP_RUN_DIR="+dir, "PCP_TMP_DIR="+dir, "PMCD_ROOT_AGENT=0")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	manager.SetReadDeadline(time.Now().Add(time.Minute))
	b := make([]byte, 100)
	n, err := manager.Read(b)
	if want := fmt.Sprintf("READY=1\nMAINPID=%d", cmd.Process.Pid); string(b[:n]) != want {
		t.Errorf("notified %q, %v; want %q", b[:n], err, want)
	}
	for network, address := range map[string]string{"tcp": tcp.Addr().String(), "unix": socket} {
		c, err := net.Dial(network, address)
		if err != nil {
			t.Fatal(err)
		}
		c.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := io.ReadFull(c, make([]byte, 20)); err != nil {
			t.Errorf("%s: no greeting: %v", network, err)
		}
		c.Close()
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(socket); err != nil {
		t.Errorf("the socket of the service manager: %v", err)
	}
	_, port, _ := net.SplitHostPort(tcp.Addr().String())
	want := fmt.Sprintf("unix   %s\n", socket)
	if s := log.String(); !strings.Contains(s, want) || !strings.Contains(s, port+" inet   127.0.0.1\n") || strings.Contains(s, "  err ") {
		t.Errorf("log:\n%s", s)
	}
}

// TestBadActivation: what cannot be served on is an error, and sockets of another process are left alone.
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
