package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/internal/pty"
)

// TestStartOnTerminal starts a logger without a collector. A user on a terminal sees the log, and a
// program that starts it sees nothing, as of C's pmlogger.
func TestStartOnTerminal(t *testing.T) {
	program := pcptest.Build(t, "./examples/pmlogger")
	dir := t.TempDir()
	args := []string{"-c", "/dev/null", "-h", "localhost:1", "-l", filepath.Join(dir, "log"), filepath.Join(dir, "a")}
	user, terminal := pty.Open(t)
	shown := pty.Watch(t, user)
	cmd := exec.Command(program, args...)
	cmd.Stderr = terminal
	if err := cmd.Run(); err == nil {
		t.Error("no error without a collector")
	}
	got := strings.ReplaceAll(shown.Await("Connection refused"), "\r\n", "\n")
	if want := `pmlogger: nothing is recorded; log file "` + args[5] + "\" contains ...\nLog for pmlogger"; !strings.HasPrefix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if out, err := exec.Command(program, args...).CombinedOutput(); err == nil || len(out) > 0 {
		t.Errorf("%q, %v", out, err)
	}
}
