package mmv

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pcp-go/pcp/internal/pcptest"
)

var update = flag.Bool("update", false, "have the C library write the files in testdata")

func TestRecord(t *testing.T) {
	if !*update {
		t.Skip("only with -update")
	}
	for name, script := range recordedShapes() {
		b, err := os.ReadFile(writeC(t, script))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join("testdata", name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// mmvdump returns the path of PCP's mmvdump.
func mmvdump(t testing.TB) string {
	t.Helper()
	path := filepath.Join(pcptest.Conf("PCP_PMDAS_DIR"), "mmv", "mmvdump")
	pcptest.Need(t, path)
	return path
}

// errCrash says that mmvdump was ended by a signal.
var errCrash = errors.New("mmvdump has crashed")

// dumpC is what PCP's mmvdump prints of a file.
func dumpC(t testing.TB, tool, path string) (text string, status int, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), tool, path)
	cmd.Env = pcptest.Env()
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		if exit.ExitCode() < 0 {
			return "", 0, errCrash
		}
		return string(out), exit.ExitCode(), nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(out), 0, nil
}

// dumpGo is what Dump prints of it.
func dumpGo(t testing.TB, path string, image []byte) (text string, status int) {
	t.Helper()
	var b bytes.Buffer
	good, err := Dump(&b, path, bytes.NewReader(image), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if !good {
		status = 1
	}
	return b.String(), status
}

// inProgress is the value of an interval in progress, which the time of the dump is a part of.
var inProgress = regexp.MustCompile(` = -?\d+ (\(value=-?\d+/extra=-)`)

// compareDumps fails the test unless both print the same. It reports whether mmvdump has not
// crashed.
func compareDumps(t *testing.T, tool, path string) bool {
	t.Helper()
	image, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want, wantStatus, err := dumpC(t, tool, path)
	got, status := dumpGo(t, path, image)
	if err != nil {
		return false
	}
	want, got = inProgress.ReplaceAllString(want, " = N $1"), inProgress.ReplaceAllString(got, " = N $1")
	if diff := cmp.Diff(strings.SplitAfter(want, "\n"), strings.SplitAfter(got, "\n")); diff != "" {
		t.Errorf("Dump (-C +Go):\n%s", diff)
	}
	if status != wantStatus {
		t.Errorf("exit status %d, C: %d", status, wantStatus)
	}
	return true
}

// TestDumpShapes: Dump prints what mmvdump prints, of all that the C library writes.
func TestDumpShapes(t *testing.T) {
	t.Parallel()
	tool := mmvdump(t)
	for _, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			if !compareDumps(t, tool, writeC(t, s.script)) {
				t.Error(errCrash)
			}
		})
	}
}

// TestDumpTestsuite: so it is with the files of the programs of PCP's test-suite: with
// PCP_INTEROP=require, of all.
func TestDumpTestsuite(t *testing.T) {
	tool := mmvdump(t)
	const src = "/var/lib/pcp/testsuite/src"
	pcptest.Need(t, "gcc", "pcp/mmv_stats.h", src)
	runs := []string{"mmv_genstats g1", "mmv_help h1", "mmv_instances dogs", "mmv_instances cats", "mmv_instances mice",
		"mmv_nostats n1", "mmv_simple s1", "mmv2_genstats g2", "mmv2_instances dogs2", "mmv2_instances film2", "mmv2_nostats n2",
		"mmv2_simple s2", "mmv3_genstats g3", "mmv3_labels l3", "mmv3_nostats n3", "mmv3_simple s3"}
	if !thorough() {
		runs = []string{"mmv_genstats g1", "mmv2_instances dogs2", "mmv3_labels l3"}
	}
	for _, run := range runs {
		name, file, _ := strings.Cut(run, " ")
		t.Run(run, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, "mmv"), 0o755); err != nil {
				t.Fatal(err)
			}
			program := pcptest.BuildC(t, filepath.Join(src, name+".c"), "-w", "-lpcp_mmv", "-lpcp")
			pcptest.Run(t, []string{"PCP_TMP_DIR=" + dir}, "", program, file)
			if !compareDumps(t, tool, filepath.Join(dir, "mmv", file)) {
				t.Error(errCrash)
			}
		})
	}
}

// TestDumpOtherWriters: and with the files that the test-suite has of Parfait, in Java, and of the
// Python bindings.
func TestDumpOtherWriters(t *testing.T) {
	tool := mmvdump(t)
	flaws := map[string]int{"large-parfait": 1} // a metric has item 1024
	for _, name := range []string{"large-parfait", "KeyboardReader", "pytest"} {
		packed := "/var/lib/pcp/testsuite/mmv/" + name + ".xz"
		pcptest.Need(t, "xz", packed)
		text, _, _ := pcptest.Run(t, nil, "", "xz", "-dc", packed)
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if !compareDumps(t, tool, path) {
			t.Errorf("%s: %v", name, errCrash)
		}
		f, err := Open(path)
		if err != nil {
			t.Error(err)
			continue
		}
		defer f.Close()
		if f.Flaws != flaws[name] || len(f.Metrics) == 0 {
			t.Errorf("%s: %d metrics, %d flaws: %v", name, len(f.Metrics), f.Flaws, f.Problems)
		}
	}
}

// TestDumpCorrupt: and with files that have a flaw, where mmvdump does not crash.
func TestDumpCorrupt(t *testing.T) {
	t.Parallel()
	tool := mmvdump(t)
	compared := 0
	list := interopCorruptions(t)
	for _, c := range list {
		t.Run(c.file+" "+c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(path, c.image, 0o644); err != nil {
				t.Fatal(err)
			}
			if c.name == "100000 strings" {
				t.Skip("mmvdump prints what is in its memory after the file")
			}
			if compareDumps(t, tool, path) {
				compared++
			}
		})
	}
	if compared < len(list)/2 {
		t.Errorf("mmvdump printed only %d of the files", compared)
	}
}

// TestDumpErrors: the error is that of the writer or of the source.
func TestDumpErrors(t *testing.T) {
	image := recorded(t, "v1.mmv")
	if _, err := Dump(failingWriter{}, "", bytes.NewReader(image), time.Now()); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Dump to a closed pipe: %v", err)
	}
	if _, err := Dump(io.Discard, "", huge{}, time.Now()); err == nil || !strings.Contains(err.Error(), "limit") {
		t.Errorf("Dump of a huge file: %v", err)
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// huge is a source that is too long. It cannot be read.
type huge struct{}

func (huge) Size() int64                       { return maxFile + 1 }
func (huge) ReadAt([]byte, int64) (int, error) { panic("read") }
