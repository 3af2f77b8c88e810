package archive_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/internal/session"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

// left makes a closed archive of n records in a directory and changes one of its files.
func left(t *testing.T, version, n int, suffix string, change func([]byte) []byte) (base string) {
	t.Helper()
	base = filepath.Join(t.TempDir(), "a")
	w, _, err := resumeOrCreate(base, version)
	if err != nil {
		t.Fatal(err)
	}
	writeAll(t, w, 0, n)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if suffix != "" {
		b, err := os.ReadFile(base + suffix)
		if err == nil {
			err = os.WriteFile(base+suffix, change(b), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return base
}

// TestAppendCutsTail truncates a file at any place or fills its end with zeros. Append continues
// the archive.
func TestAppendCutsTail(t *testing.T) {
	for _, version := range []int{2, 3} {
		for _, suffix := range []string{".meta", ".index", ".0", ""} {
			for cut := 0; cut < 400; cut += 1 + cut/3 {
				for _, zeroes := range []bool{false, true} {
					base := left(t, version, 8, suffix, func(b []byte) []byte {
						b = b[:max(len(b)-cut, 0)]
						if zeroes {
							b = append(b, make([]byte, 50)...)
						}
						return b
					})
					w, next, err := resumeOrCreate(base, version)
					if err != nil {
						t.Fatalf("version %d without %d bytes of %s: %v", version, cut, suffix, err)
					}
					writeAll(t, w, next, 3)
					if err := w.Close(); err != nil {
						t.Fatal(err)
					}
					if suffix == ".meta" && cut > 0 { // what was described is lost, but what comes is there
						continue
					}
					checkLeft(t, base)
				}
			}
		}
	}
}

// TestAppendRefuses checks that Append does not change an archive that it cannot continue.
func TestAppendRefuses(t *testing.T) {
	middle := func(b []byte) []byte {
		b[len(b)/2] ^= 0xff
		b[len(b)/2+1] ^= 0xff
		b[len(b)/2+2] ^= 0xff
		return b
	}
	for _, test := range []struct {
		name, suffix string
		change       func([]byte) []byte
		want         error
	}{
		{"label of another archive", ".0", func(b []byte) []byte { b[24]++; return b }, pdu.ErrLabel},
		{"index of another archive", ".index", func(b []byte) []byte { b[24]++; return b }, pdu.ErrLabel},
		{"bad label", ".meta", func(b []byte) []byte { b[5]++; return b }, pdu.ErrLabel},
		{"metadata without a label", ".meta", func([]byte) []byte { return nil }, pdu.ErrNoData},
		{"length of a record", ".0", func(b []byte) []byte { b[132+3]++; return b }, pdu.ErrLogRec},
		{"length of a metadata record", ".meta", func(b []byte) []byte { b[132+3]++; return b }, pdu.ErrLogRec},
		{"middle of the metadata", ".meta", middle, nil},
	} {
		base := left(t, 2, 20, test.suffix, test.change)
		before := sizes(t, base)
		_, err := archive.WriterOptions{}.Append(base)
		if !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
		if after := sizes(t, base); after != before && err != nil {
			t.Errorf("%s: %d bytes before, %d after", test.name, before, after)
		}
	}
	base := left(t, 2, 3, "", nil)
	if err := os.Rename(base+".0", base+".0.xz"); err != nil {
		t.Fatal(err)
	}
	if _, err := (archive.WriterOptions{}).Append(base); !errors.Is(err, pdu.ErrLogFile) {
		t.Errorf("compressed: %v", err)
	}
	if err := os.Remove(base + ".meta"); err != nil {
		t.Fatal(err)
	}
	if _, err := (archive.WriterOptions{}).Append(base); !errors.Is(err, pdu.ErrLogFile) {
		t.Errorf("no metadata: %v", err)
	}
	if _, err := (archive.WriterOptions{}).Append(base + "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no archive: %v", err)
	}
}

// TestAppendWithoutVolume continues an archive whose volume never got its name. Append removes that
// temporary file, but no other.
func TestAppendWithoutVolume(t *testing.T) {
	base := left(t, 3, 3, "", nil)
	foreign := base + ".0.copy.tmp" // nothing that a writer makes
	err := errors.Join(os.Rename(base+".0", base+".0.00c0ffee.tmp"), os.WriteFile(foreign, nil, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	w, next, err := resumeOrCreate(base, 3)
	if err != nil || next != 0 {
		t.Fatal(next, err)
	}
	writeAll(t, w, 0, 3)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	checkLeft(t, base)
	if stray, _ := filepath.Glob(base + "*.tmp"); len(stray) != 1 || stray[0] != foreign {
		t.Errorf("left over: %v, want %v", stray, foreign)
	}
}

// TestInteropSession checks that the first and last record of a session are those of pmlogger.
func TestInteropSession(t *testing.T) {
	pcptest.Need(t, "pmdumplog", suite+"/omnibus_v3.meta")
	s := session.Session{Host: "bozo-vm", Port: 4331, Archive: "/tmp/a", PMCD: 1 << 40, Seqnum: 7}
	w := created(t, archive.WriterOptions{})
	err := errors.Join(s.WritePrologue(w, at(0)), w.WriteMetric(valueMetric), s.WriteEpilogue(w, at(1)), w.Close())
	if err != nil {
		t.Fatal(err)
	}
	checkWithC(t, w.Base())
	theirs, _, _ := pcptest.Run(t, nil, "", "pmdumplog", "-d", suite+"/omnibus_v3")
	ours, _, _ := pcptest.Run(t, nil, "", "pmdumplog", "-d", w.Base())
	for metric := range strings.SplitSeq(ours, "PMID: ") {
		if strings.Contains(metric, "(pmcd.") && !strings.Contains(theirs, strings.TrimSpace(metric)) {
			t.Errorf("descriptor %s is none of\n%s", metric, theirs)
		}
	}
	pid := w.Label().PID
	dump, _, _ := pcptest.Run(t, nil, "", "pmdumplog", "-Z", "UTC", "-mt", w.Base())
	for _, line := range []string{
		fmt.Sprintf(`inst [%d or "%d"] value "bozo-vm"`, pid, pid), fmt.Sprintf(`inst [%d or "%d"] value 4331`, pid, pid),
		fmt.Sprintf(`inst [%d or "%d"] value "/tmp/a"`, pid, pid), "(pmcd.pid): value 1099511627776", "(pmcd.seqnum): value 7",
	} {
		if n := strings.Count(dump, line); n != 2 {
			t.Errorf("%d times %q in\n%s", n, line, dump)
		}
	}
	if entries := opened(t, w).Archives()[0].Index(); len(entries) != 2 || !entries[1].Time.Equal(at(1)) {
		t.Errorf("index %v", entries)
	}
}
