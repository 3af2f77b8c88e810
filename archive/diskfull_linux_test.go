package archive_test

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/internal/pcptest"
)

var fulls = flag.Int("sizes", 6, "for how many sizes of files to have a full disk")

// fullEnv is the environment variable with the base name for the process that runs
// TestWriterFullChild.
const fullEnv = "ARCHIVE_TEST_FULL"

// directEnv is set if that process writes with WriterOptions.Direct.
const directEnv = "ARCHIVE_TEST_DIRECT"

// TestWriterFullChild writes an archive under a limit for the size of files. It repeats the failed
// calls after the limit is lifted.
func TestWriterFullChild(t *testing.T) {
	base := os.Getenv(fullEnv)
	if base == "" {
		t.Skip("runs as a process of TestWriterFull")
	}
	signal.Ignore(syscall.SIGXFSZ) // so that writing fails
	w, err := archive.WriterOptions{Label: archive.Label{Host: "web1", TimeZone: "UTC"}, IndexEvery: 300, Direct: os.Getenv(directEnv) != ""}.Create(base)
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

// allow limits the size of files, like a full disk.
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

// TestWriterFull writes to a full disk. The files are a valid archive, and nothing is lost once
// there is space again.
func TestWriterFull(t *testing.T) {
	for _, direct := range []string{"", "yes"} {
		t.Run("direct="+direct, func(t *testing.T) { testWriterFull(t, direct) })
	}
}

func testWriterFull(t *testing.T, direct string) {
	base := filepath.Join(t.TempDir(), "a")
	cmd := exec.Command(os.Args[0], "-test.run=^TestWriterFullChild$")
	cmd.Env = append(os.Environ(), fullEnv+"="+base, directEnv+"="+direct)
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

// fullEndEnv is the environment variable with the size, version and base name for the process that
// runs TestWriterFullEndChild.
const fullEndEnv = "ARCHIVE_TEST_FULL_END"

// TestWriterFullEndChild writes an archive until a file reaches a size, and then exits.
func TestWriterFullEndChild(t *testing.T) {
	var size uint64
	var version int
	var base string
	if n, _ := fmt.Sscan(os.Getenv(fullEndEnv), &size, &version, &base); n != 3 {
		t.Skip("runs as a process of TestWriterFullEnds")
	}
	signal.Ignore(syscall.SIGXFSZ)
	w, next, err := resumeOrCreate(base, version)
	if err != nil {
		t.Fatal(err)
	}
	allow(t, size)
	for err == nil {
		writeAllBy(t, w, next, 1, func(write func() error) {
			if err == nil {
				err = write()
			}
		})
		next++
	}
	if !errors.Is(err, syscall.EFBIG) {
		t.Fatal(err)
	}
	_ = w.Close() // it may fail, or not
	allow(t, 1<<30)
	fmt.Println("full")
}

// TestWriterFullEnds checks that a writer that stopped on a full disk leaves an archive from its
// start to some record, and that the next writer continues it.
func TestWriterFullEnds(t *testing.T) {
	fullEnds(t, func(string) {})
}

// TestInteropWriterFullEnds is like TestWriterFullEnds with C programs as readers.
func TestInteropWriterFullEnds(t *testing.T) {
	pcptest.Need(t, "pmlogcheck")
	fullEnds(t, func(base string) { checkWithC(t, base) })
}

func fullEnds(t *testing.T, check func(base string)) {
	for n := range *fulls {
		version, base, size := 2+n%2, filepath.Join(t.TempDir(), "a"), rand.IntN(30_000)
		cmd := exec.Command(os.Args[0], "-test.run=^TestWriterFullEndChild$")
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %d %s", fullEndEnv, size, version, base))
		if out, err := cmd.CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "full\n") {
			t.Fatalf("%v: %s", err, out)
		}
		if _, err := os.Stat(base + ".0"); errors.Is(err, fs.ErrNotExist) {
			continue // before the first data record
		}
		checkLeft(t, base)
		check(base)
		w, next, err := resumeOrCreate(base, version)
		if err != nil {
			t.Fatal(err)
		}
		writeAll(t, w, next, 3)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		checkLeft(t, base)
		check(base)
	}
}
