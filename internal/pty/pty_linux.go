package pty

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Open opens a pseudo-terminal. It returns the user's end, which types and sees the output, and the
// terminal of the program. It skips the test if the system lacks pseudo-terminals.
func Open(t testing.TB) (user, terminal *os.File) {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
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

// Resize gives a terminal another size.
func Resize(t testing.TB, terminal *os.File, width, height uint16) {
	t.Helper()
	if err := unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: height, Col: width}); err != nil {
		t.Fatal(err)
	}
}

// A Session is a program on a terminal.
type Session struct {
	Cmd  *exec.Cmd
	User *os.File // what is typed is written to it

	t     testing.TB
	shown string // since the last Await
}

// most limits how long a program may take for expected output, and in all.
const most = 2 * time.Minute

// Start starts a program on a terminal of 100 columns and 30 lines. It is killed at the end of the
// test.
func Start(t testing.TB, cmd *exec.Cmd) *Session {
	t.Helper()
	user, terminal := Open(t)
	Resize(t, terminal, 100, 30)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	watchdog := time.AfterFunc(most, func() { cmd.Process.Kill(); terminal.Close(); user.Close() })
	t.Cleanup(func() { watchdog.Stop(); cmd.Process.Kill() })
	return &Session{Cmd: cmd, User: user, t: t}
}

// Watch is a Session of the test itself, without a program.
func Watch(t testing.TB, user *os.File) *Session {
	watchdog := time.AfterFunc(most, func() { user.Close() })
	t.Cleanup(func() { watchdog.Stop() })
	return &Session{User: user, t: t}
}

// Type types a text.
func (s *Session) Type(text string) {
	s.t.Helper()
	if _, err := s.User.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

// Await reads up to a text, and returns what was shown before it.
func (s *Session) Await(text string) (before string) {
	s.t.Helper()
	buf := make([]byte, 4096)
	for !strings.Contains(s.shown, text) {
		n, err := s.User.Read(buf)
		s.shown += string(buf[:n])
		if err != nil {
			s.t.Fatalf("%v; %q is shown, want %q", err, s.shown, text)
		}
	}
	before, s.shown, _ = strings.Cut(s.shown, text)
	return before
}
