package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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

// A terminal is one with a dbpmda, and what it has shown since the last await.
type terminal struct {
	t     *testing.T
	cmd   *exec.Cmd
	user  *os.File
	shown string
}

// startTerminal starts a program at a terminal.
func startTerminal(t *testing.T, program string) *terminal {
	t.Helper()
	user, other := openTerminal(t)
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/root", []byte("root { a }\na { b 1:2:3 }\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-n", "root")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "TERM=dumb")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = other, other, other
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	watchdog := time.AfterFunc(time.Minute, func() { cmd.Process.Kill(); other.Close(); user.Close() })
	t.Cleanup(func() { watchdog.Stop(); cmd.Process.Kill() })
	return &terminal{t: t, cmd: cmd, user: user}
}

// await reads up to a text, and returns what was shown before.
func (m *terminal) await(text string) (before string) {
	m.t.Helper()
	buf := make([]byte, 4096)
	for !strings.Contains(m.shown, text) {
		n, err := m.user.Read(buf)
		m.shown += string(buf[:n])
		if err != nil {
			m.t.Fatalf("%v; %q is shown, want %q", err, m.shown, text)
		}
	}
	before, m.shown, _ = strings.Cut(m.shown, text)
	return before
}

// TestTerminal types at a terminal, which has a prompt without any option, and edits lines.
func TestTerminal(t *testing.T) {
	m := startTerminal(t, pcptest.Build(t, "./examples/dbpmda"))
	m.await(prompt)
	io.WriteString(m.user, "gettdesc\x7f\x7f\x7f\x7f\x7fdesc on\n") // with the erase character
	m.await(prompt)
	io.WriteString(m.user, "status\n")
	m.await("Getdesc:                on\r\n")
	m.await(prompt)
	io.WriteString(m.user, "desc a.b\n")
	m.await("desc a.b\r\nWarning: No PMDA currently opened\r\ndbpmda> ")
	io.WriteString(m.user, "\x04") // end of file
	if err := m.cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	m.await("\r\n")
}

// TestInteropTerminal types the same at PCP's program, which edits lines itself, and at ours: what they show is the same.
func TestInteropTerminal(t *testing.T) {
	pcptest.Need(t, "dbpmda")
	lines := []string{"status", "foo", "", "  foo bar", "desc nosuch", "desc a.b", "desc 1", "fetch a.b @", "open pipe nosuch", "store 1 \"abc", "def\"",
		"getdesc on", "timer on", "status", "help", "fetch a.b, 1.2.4, x", "# nothing", "debug pdu", "status"}
	transcript := func(program string) (shown []string) {
		m := startTerminal(t, program)
		shown = append(shown, m.await(prompt))
		for _, line := range lines {
			io.WriteString(m.user, line+"\n")
			shown = append(shown, strings.ReplaceAll(m.await(prompt), "\r", ""))
		}
		io.WriteString(m.user, "quit\n")
		if err := m.cmd.Wait(); err != nil {
			t.Error(err)
		}
		return shown
	}
	if diff := cmp.Diff(transcript(pcptest.Tool(t, "dbpmda")), transcript(pcptest.Build(t, "./examples/dbpmda"))); diff != "" {
		t.Errorf("shown (-C +Go):\n%s", diff)
	}
}
