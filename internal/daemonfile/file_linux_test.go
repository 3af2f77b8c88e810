package daemonfile_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pcp-go/pcp/internal/daemonfile"
)

// TestTerminal: a log may be a terminal, which stays where it is.
func TestTerminal(t *testing.T) {
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer keyboard.Close()
	n, err := unix.IoctlGetInt(int(keyboard.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(keyboard.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Skip(err)
	}
	path := fmt.Sprintf("/dev/pts/%d", n)
	before, err := os.Lstat(path)
	if err != nil {
		t.Skip(err)
	}
	l, err := daemonfile.OpenLog(path, "pmdax")
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 1000)
	if n, err := keyboard.Read(b); err != nil || !strings.HasPrefix(string(b[:n]), "Log for pmdax on ") {
		t.Errorf("on the terminal: %q, %v", b[:n], err)
	}
	if err := l.Finish(); err != nil {
		t.Error(err)
	}
	if after, err := os.Lstat(path); err != nil || !os.SameFile(before, after) || after.Mode() != before.Mode() {
		t.Errorf("it was %v, is %v, %v", before.Mode(), after, err)
	}
}
