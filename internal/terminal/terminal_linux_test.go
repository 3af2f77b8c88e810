package terminal

import (
	"bytes"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pcp-go/pcp/internal/pty"
)

func TestTerminal(t *testing.T) {
	user, program := pty.Open(t)
	pty.Resize(t, program, 40, 5)
	before, err := unix.IoctlGetTermios(int(program.Fd()), getTermios)
	if err != nil {
		t.Fatal(err)
	}
	term, err := Open(program, program)
	if err != nil {
		t.Fatal(err)
	}
	defer term.Close()
	shown := pty.Watch(t, user)
	shown.Await(enter)
	if w, h := term.Size(); w != 40 || h != 5 {
		t.Errorf("size %d x %d", w, h)
	}

	lines := [][]byte{[]byte("one"), []byte("two")}
	draw := func(want string) {
		t.Helper()
		if err := term.Draw(lines); err != nil {
			t.Fatal(err)
		}
		if before := shown.Await(want); before != "" {
			t.Errorf("drawn %q before %q", before, want)
		}
	}
	draw("\x1b[0m\x1b[2J\x1b[1;1Hone\x1b[0m\x1b[K\x1b[2;1Htwo\x1b[0m\x1b[K")
	lines[1] = []byte("2")
	draw("\x1b[2;1H2\x1b[0m\x1b[K") // only what has changed
	pty.Resize(t, program, 30, 4)
	lines = append(lines, bytes.Fields([]byte("a b c d e f"))...) // more than there is room for
	draw("\x1b[0m\x1b[2J\x1b[1;1Hone\x1b[0m\x1b[K\x1b[2;1H2\x1b[0m\x1b[K\x1b[3;1Ha\x1b[0m\x1b[K\x1b[4;1Hb\x1b[0m\x1b[K")

	for _, k := range []struct {
		sent string
		want Key
	}{{"q", 'q'}, {"\x1b[A", KeyUp}, {"\x1b", KeyEscape}, {"\x03", KeyInterrupt}} {
		shown.Type(k.sent)
		if got := <-term.Keys(); got != k.want {
			t.Errorf("%q is key %d, want %d", k.sent, got, k.want)
		}
	}

	if err := term.Close(); err != nil {
		t.Error(err)
	}
	shown.Await(leave)
	if _, ok := <-term.Keys(); ok {
		t.Error("a key after Close")
	}
	if after, err := unix.IoctlGetTermios(int(program.Fd()), getTermios); err != nil || *after != *before {
		t.Errorf("after Close %v, want %v; %v", after, before, err)
	}
	if err := term.Close(); err != nil {
		t.Error(err)
	}
	term.Redraw()
	if draw, suspend := term.Draw(lines), term.Suspend(); draw != os.ErrClosed || suspend != os.ErrClosed {
		t.Errorf("after Close Draw: %v, Suspend: %v", draw, suspend)
	}
	if after, err := unix.IoctlGetTermios(int(program.Fd()), getTermios); err != nil || *after != *before {
		t.Errorf("after Suspend %v, want %v; %v", after, before, err)
	}
}

// TestCloseOnPanic: a panic is in the end what it was, on a terminal that is as it was.
func TestCloseOnPanic(t *testing.T) {
	user, program := pty.Open(t)
	term, err := Open(program, program)
	if err != nil {
		t.Fatal(err)
	}
	defer term.Close()
	func() {
		defer func() {
			if got := recover(); got != "broken" {
				t.Errorf("panic %v", got)
			}
		}()
		defer term.CloseOnPanic()
		panic("broken")
	}()
	pty.Watch(t, user).Await(leave)
	func() { defer term.CloseOnPanic() }()
}

// TestHangup: when the terminal goes, there are no more keys.
func TestHangup(t *testing.T) {
	user, program := pty.Open(t)
	pty.Resize(t, program, 40, 5)
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

// TestNoTerminal checks that a file is not a terminal.
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
