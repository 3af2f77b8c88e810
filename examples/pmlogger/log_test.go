package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// The log of the run before is kept, since it says why that has ended.
func TestLogBefore(t *testing.T) {
	program := pcptest.Build(t, "./examples/pmlogger")
	log := filepath.Join(t.TempDir(), "n.log")
	for _, name := range []string{"first", "second"} {
		pcptest.Run(t, nil, "", program, "-c", filepath.Join(t.TempDir(), name), "-h", "localhost:1", "-l", log, filepath.Join(t.TempDir(), "a"))
	}
	now, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(log + ".prev")
	if err != nil || !strings.Contains(string(before), "Log finished") || !strings.Contains(string(now), "Log finished") {
		t.Errorf("before: %q, %v; now: %q", before, err, now)
	}
}
