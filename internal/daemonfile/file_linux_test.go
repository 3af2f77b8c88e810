package daemonfile_test

import (
	"os"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/internal/daemonfile"
	"github.com/pcp-go/pcp/internal/pty"
)

// TestTerminal: a log may be a terminal, which stays where it is.
func TestTerminal(t *testing.T) {
	keyboard, terminal := pty.Open(t)
	path := terminal.Name()
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
