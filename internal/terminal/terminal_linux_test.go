package terminal

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// openPair opens a pseudo-terminal: what the user has, and what the program has.
func openPair(t *testing.T, width, height uint16) (user, program *os.File) {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no pseudo-terminals: ", err)
	}
	t.Cleanup(func() { user.Close() })
	if err := unix.IoctlSetPointerInt(int(user.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Skip("no pseudo-terminals: ", err)
	}
	n, err := unix.IoctlGetInt(int(user.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo-terminals: ", err)
	}
	t.Cleanup(func() { program.Close() })
	setSize(t, program, width, height)
	return user, program
}

func setSize(t *testing.T, f *os.File, width, height uint16) {
	t.Helper()
	if err := unix.IoctlSetWinsize(int(f.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: height, Col: width}); err != nil {
		t.Fatal(err)
	}
}

// await reads what the terminal is sent up to a text.
func await(t *testing.T, user *os.File, end string) string {
	t.Helper()
	watchdog := time.AfterFunc(time.Minute, func() { panic("the terminal is not sent " + strconv.Quote(end)) })
	defer watchdog.Stop()
	var got strings.Builder
	buf := make([]byte, 1)
	for !strings.HasSuffix(got.String(), end) {
		if _, err := user.Read(buf); err != nil {
			t.Fatalf("%v after %q", err, got.String())
		}
		got.Write(buf)
	}
	return got.String()
}

func TestTerminal(t *testing.T) {
	user, program := openPair(t, 40, 5)
	before, err := unix.IoctlGetTermios(int(program.Fd()), getTermios)
	if err != nil {
		t.Fatal(err)
	}
	term, err := Open(program, program)
	if err != nil {
		t.Fatal(err)
	}
	defer term.Close()
	await(t, user, enter)
	if w, h := term.Size(); w != 40 || h != 5 {
		t.Errorf("size %d x %d", w, h)
	}

	lines := [][]byte{[]byte("one"), []byte("two")}
	draw := func(want string) {
		t.Helper()
		if err := term.Draw(lines); err != nil {
			t.Fatal(err)
		}
		if got := await(t, user, want); !strings.HasSuffix(got, want) {
			t.Errorf("drawn %q, want %q", got, want)
		}
	}
	draw("\x1b[1;1Hone\x1b[0m\x1b[K\x1b[2;1Htwo\x1b[0m\x1b[K")
	lines[1] = []byte("2")
	draw("\x1b[2;1H2\x1b[0m\x1b[K") // only what has changed
	setSize(t, program, 30, 4)
	lines = append(lines, bytes.Fields([]byte("a b c d e f"))...) // more than there is room for
	draw("\x1b[0m\x1b[2J\x1b[1;1Hone\x1b[0m\x1b[K\x1b[2;1H2\x1b[0m\x1b[K\x1b[3;1Ha\x1b[0m\x1b[K\x1b[4;1Hb\x1b[0m\x1b[K")

	for _, k := range []struct {
		sent string
		want Key
	}{{"q", 'q'}, {"\x1b[A", KeyUp}, {"\x03", KeyInterrupt}} {
		if _, err := user.WriteString(k.sent); err != nil {
			t.Fatal(err)
		}
		if got := <-term.Keys(); got != k.want {
			t.Errorf("%q is key %d, want %d", k.sent, got, k.want)
		}
	}

	if err := term.Close(); err != nil {
		t.Error(err)
	}
	await(t, user, leave)
	if _, ok := <-term.Keys(); ok {
		t.Error("a key after Close")
	}
	if after, err := unix.IoctlGetTermios(int(program.Fd()), getTermios); err != nil || *after != *before {
		t.Errorf("after Close %v, want %v; %v", after, before, err)
	}
	if err := term.Close(); err != nil {
		t.Error(err)
	}
}

// TestHangup: when the terminal goes, there are no more keys.
func TestHangup(t *testing.T) {
	user, program := openPair(t, 40, 5)
	term, err := Open(program, program)
	if err != nil {
		t.Fatal(err)
	}
	defer term.Close()
	user.Close()
	if key, ok := <-term.Keys(); ok {
		t.Errorf("key %d", key)
	}
}

// TestNoTerminal: a file is none.
func TestNoTerminal(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if Is(f) {
		t.Error("a file is a terminal")
	}
	if _, err := Open(f, f); err == nil {
		t.Error("a file was opened")
	}
}
