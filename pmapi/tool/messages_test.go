package tool

import (
	"os"
	"path/filepath"
	"testing"
)

func TestDeliver(t *testing.T) {
	file := filepath.Join(t.TempDir(), "messages")
	t.Setenv("PCP_STDERR", file)
	deliver("pmx", nil)
	if _, err := os.Stat(file); err == nil {
		t.Error("without a message there is a file")
	}
	deliver("pmx", []byte("pmx: one\n"))
	deliver("pmx", []byte("pmx: two\n"))
	got, err := os.ReadFile(file)
	if want := "pmx: one\npmx: two\n"; string(got) != want || err != nil {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}
