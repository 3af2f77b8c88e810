package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// openTerminal opens a pseudo-terminal: what is typed and shown, and the terminal of the program.
func openTerminal(t *testing.T) (user, terminal *os.File) {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { user.Close() })
	n, err := unix.IoctlGetInt(int(user.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(user.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { terminal.Close() })
	return user, terminal
}

// TestTerminal types at a terminal, which has a prompt without any option, and edits lines.
func TestTerminal(t *testing.T) {
	program := pcptest.Build(t, "./examples/dbpmda")
	user, terminal := openTerminal(t)
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/root", []byte("root { a }\na { b 1:2:3 }\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-n", "root")
	cmd.Dir = dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	watchdog := time.AfterFunc(time.Minute, func() { cmd.Process.Kill(); terminal.Close(); user.Close() })
	defer watchdog.Stop()
	shown := ""
	await := func(text string) {
		t.Helper()
		buf := make([]byte, 4096)
		for !strings.Contains(shown, text) {
			n, err := user.Read(buf)
			shown += string(buf[:n])
			if err != nil {
				t.Fatalf("%v; %q is shown, want %q", err, shown, text)
			}
		}
		_, shown, _ = strings.Cut(shown, text)
	}
	await("dbpmda> ")
	io.WriteString(user, "gettdesc\x7f\x7f\x7f\x7f\x7fdesc on\n") // with the erase character
	await("dbpmda> ")
	io.WriteString(user, "status\n")
	await("Getdesc:                on\r\n")
	await("dbpmda> ")
	io.WriteString(user, "desc a.b\n")
	await("desc a.b\r\nWarning: No PMDA currently opened\r\ndbpmda> ")
	io.WriteString(user, "\x04") // end of file
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	await("\r\n")
}
