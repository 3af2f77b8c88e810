package archive_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pcp-go/pcp/archive"
)

// fullEnv has the base name for the process that TestWriterFullChild is then.
const fullEnv = "ARCHIVE_TEST_FULL"

// TestWriterFullChild writes an archive while files may not grow beyond a limit, and writes again what
// did not fit when they may.
func TestWriterFullChild(t *testing.T) {
	base := os.Getenv(fullEnv)
	if base == "" {
		t.Skip("runs as a process of TestWriterFull")
	}
	signal.Ignore(syscall.SIGXFSZ) // so that writing fails
	w, err := archive.WriterOptions{Label: archive.Label{Host: "web1", TimeZone: "UTC"}, IndexEvery: 300}.Create(base)
	if err != nil {
		t.Fatal(err)
	}
	limit, failed := uint64(100), 0 // less than a label has
	allow(t, limit)
	writeAllBy(t, w, 0, 60, func(write func() error) {
		for {
			err := write()
			switch {
			case err == nil:
				return
			case !errors.Is(err, syscall.EFBIG):
				t.Fatal(err)
			}
			failed++
			if !w.Last().IsZero() {
				checkLeft(t, base)
			}
			limit += 150
			allow(t, limit)
		}
	})
	entry := archive.IndexEntry{Time: w.Last(), Volume: w.Label().Volume, Meta: 132, Data: 132}
	allow(t, 0)
	if err := w.WriteIndex(entry); err != nil {
		t.Errorf("an entry that the index gets later: %v", err)
	}
	allow(t, 1<<30)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	fmt.Println("failed", failed)
}

// allow limits the size of files, as a disk does that is full.
func allow(t *testing.T, limit uint64) {
	var r syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &r)
	if r.Cur = limit; err == nil {
		err = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A disk that is full leaves an archive, and nothing is lost if there is room again.
func TestWriterFull(t *testing.T) {
	base := filepath.Join(t.TempDir(), "a")
	cmd := exec.Command(os.Args[0], "-test.run=^TestWriterFullChild$")
	cmd.Env = append(os.Environ(), fullEnv+"="+base)
	out, err := cmd.CombinedOutput()
	var failed int
	if n, _ := fmt.Sscanf(string(out), "failed %d\n", &failed); n != 1 || failed < 50 || err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	checkLeft(t, base)
	files, err := os.ReadDir(filepath.Dir(base))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.HasSuffix(f.Name(), ".tmp") {
			t.Errorf("left over: %v", f)
		}
	}
}
