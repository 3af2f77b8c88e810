package archive_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

var repairAll = flag.Bool("repairs", false, "damage archives at every byte, and not only at some")

// damaged makes an archive of two volumes and replaces the content of one file by change. If that
// returns nil, the file is removed.
func damaged(t *testing.T, version int, suffix string, change func([]byte) []byte) (base string) {
	t.Helper()
	dir := fastDir(t)
	base = filepath.Join(dir, "a")
	for name, b := range sound(t, version) {
		if name == suffix {
			if b = change(bytes.Clone(b)); b == nil {
				continue
			}
		}
		if err := os.WriteFile(base+name, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return base
}

var soundArchives = map[int]map[string][]byte{}

// sound returns the files of an archive of writeAll with 12 records.
func sound(t *testing.T, version int) map[string][]byte {
	t.Helper()
	if soundArchives[version] == nil {
		w := created(t, archive.WriterOptions{Label: archive.Label{Version: version, Host: "web1", TimeZone: "UTC", Start: at(0), PID: 7}, VolumeRecords: 8, IndexEvery: 1000})
		writeAll(t, w, 0, 12)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		files := map[string][]byte{}
		for _, suffix := range []string{".0", ".1", ".meta", ".index"} {
			b, err := os.ReadFile(w.Base() + suffix)
			if err != nil {
				t.Fatal(err)
			}
			files[suffix] = b
		}
		soundArchives[version] = files
	}
	return soundArchives[version]
}

// recordsAt returns the bytes of the data records of an archive by their time, including marks.
func recordsAt(t *testing.T, base string) map[time.Time]string {
	t.Helper()
	s, err := archive.Open(t.Context(), base)
	if err != nil {
		t.Fatalf("%s: %v", base, err)
	}
	defer s.Close()
	found := map[time.Time]string{}
	for r, err := range s.Records() {
		if err != nil {
			t.Fatal(err)
		}
		if r.Kind == archive.KindResult || r.Kind == archive.KindMark {
			found[r.Time] = string(r.Raw)
		}
	}
	return found
}

// repaired repairs an archive. It checks that a second repair has nothing to do, and that a writer
// can continue the archive.
func repaired(t *testing.T, what, base string) []archive.RepairedFile {
	t.Helper()
	report, err := archive.RepairOptions{}.Repair(t.Context(), base)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	again, err := archive.RepairOptions{}.Repair(t.Context(), base)
	if err != nil || len(again) > 0 {
		t.Fatalf("%s: repaired again: %v %+v", what, err, again)
	}
	return report
}

// goesOn appends a record.
func goesOn(t *testing.T, what, base string) {
	t.Helper()
	w, err := archive.WriterOptions{}.Append(base)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if err := w.WriteMark(w.Last().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestRepairTruncated truncates a file at any place. All records before that stay.
func TestRepairTruncated(t *testing.T) {
	for _, version := range []int{2, 3} {
		whole := recordsAt(t, damaged(t, version, "", nil))
		for _, suffix := range []string{".0", ".1", ".meta", ".index"} {
			b := sound(t, version)[suffix]
			step := 211
			if *repairAll {
				step = 1
			}
			for cut := 0; cut < len(b); cut += step {
				what := fmt.Sprintf("version %d, %d of %d bytes of %s", version, cut, len(b), suffix)
				base := damaged(t, version, suffix, func(b []byte) []byte { return b[:cut] })
				report, err := archive.RepairOptions{}.Repair(t.Context(), base)
				if err != nil {
					if suffix == ".meta" && errors.Is(err, pdu.ErrLogRec) && strings.Contains(err.Error(), "no metric") ||
						suffix == ".meta" && strings.Contains(err.Error(), "no data record") {
						continue // of whole descriptors, none is left
					}
					t.Fatalf("%s: %v", what, err)
				}
				checkCut(t, what, base, suffix, cut, b, whole, report)
			}
		}
	}
}

// checkCut checks a repaired archive after one of its files was truncated.
func checkCut(t *testing.T, what, base, suffix string, cut int, b []byte, whole map[time.Time]string, report []archive.RepairedFile) {
	t.Helper()
	kept, lost := recordsAt(t, base), 0
	for when, raw := range whole {
		switch got, ok := kept[when]; {
		case !ok:
			lost++
		case got != raw && suffix != ".meta":
			t.Fatalf("%s: record of %v is another one", what, when)
		}
	}
	switch suffix {
	case ".index":
		if lost > 0 {
			t.Fatalf("%s: %d records lost", what, lost)
		}
	case ".0", ".1":
		want := 0
		for when, raw := range whole {
			if at := bytes.Index(b, []byte(raw)); at >= 0 && at+len(raw) > cut {
				want++
			} else if _, ok := kept[when]; !ok {
				t.Fatalf("%s: record of %v is gone", what, when)
			}
		}
		if lost != want {
			t.Fatalf("%s: %d records lost, want %d", what, lost, want)
		}
	}
	for _, f := range report {
		if b, err := os.ReadFile(f.Path); err == nil && int64(len(b)) != f.NewSize || err != nil && f.NewSize > 0 {
			t.Fatalf("%s: %s has %d bytes, report says %d", what, f.Path, len(b), f.NewSize)
		}
		if f.Size > 0 {
			if b, err := os.ReadFile(f.Kept); err != nil || int64(len(b)) != f.Size {
				t.Fatalf("%s: %s: %v, %d bytes, want %d", what, f.Kept, err, len(b), f.Size)
			}
		}
	}
	again, err := archive.RepairOptions{}.Repair(t.Context(), base)
	if err != nil || len(again) > 0 {
		t.Fatalf("%s: repaired again: %v %+v", what, err, again)
	}
	goesOn(t, what, base)
}

// TestRepairMiddle damages the middle of a file. Repair removes the damaged part and keeps the
// records after it.
func TestRepairMiddle(t *testing.T) {
	for _, version := range []int{2, 3} {
		whole := recordsAt(t, damaged(t, version, "", nil))
		r := rand.New(rand.NewPCG(1, uint64(version)))
		for n := range 30 {
			suffix := []string{".0", ".1"}[n%2]
			b := sound(t, version)[suffix]
			from := r.IntN(len(b))
			to := min(len(b), from+1+r.IntN(300))
			what := fmt.Sprintf("version %d, bytes %d to %d of %s", version, from, to, suffix)
			base := damaged(t, version, suffix, func(b []byte) []byte {
				if n%3 == 0 {
					return slices.Delete(b, from, to)
				}
				for i := from; i < to; i++ {
					b[i] = byte(n % 3 * 0x7f)
				}
				return b
			})
			repaired(t, what, base)
			kept := recordsAt(t, base)
			for when, raw := range whole {
				at := bytes.Index(b, []byte(raw))
				if touched := at >= 0 && at < to && at+len(raw) > from; !touched && kept[when] != raw {
					t.Fatalf("%s: record of %v, of bytes %d to %d, is gone or another one", what, when, at, at+len(raw))
				}
			}
			goesOn(t, what, base)
		}
	}
}

// TestRepairReport checks the report for other damage.
func TestRepairReport(t *testing.T) {
	label := int((&archive.Label{Version: 3}).Len())
	remove := func([]byte) []byte { return nil }
	for _, test := range []struct {
		name, suffix string
		change       func([]byte) []byte
		want         string // of each file: suffix, problem, records, bytes
	}{
		{"sound", "", nil, ""},
		{"no index", ".index", remove, ".index: the archive has no index: Missing PCP archive log file; 0 records, 0 bytes\n"},
		{"last volume", ".1", remove, ".index: no record at offset 808 of volume 1: Corrupted record in a PCP archive log; 0 records, 0 bytes\n"},
		{"first volume", ".0", remove, ".index: no record at offset 808 of volume 0: Corrupted record in a PCP archive log; 0 records, 0 bytes\n"},
		{"no label of a volume", ".0", func(b []byte) []byte { return b[label:] }, ".0: label magic is 0x6553f100, want 0x50052600: Illegal label record at start of a PCP archive log file; 0 records, 0 bytes\n"},
		{"zero label of a volume", ".1", func(b []byte) []byte { clear(b[:label]); return b }, ".1: label magic is 0x0, want 0x50052600: Illegal label record at start of a PCP archive log file; 0 records, 0 bytes\n"},
		{"zero label of metadata", ".meta", func(b []byte) []byte { clear(b[:label]); return b }, ".meta: label magic is 0x0, want 0x50052600: Illegal label record at start of a PCP archive log file; 0 records, 0 bytes\n"},
		{"zero label of index", ".index", func(b []byte) []byte { clear(b[:label]); return b }, ".index: label magic is 0x0, want 0x50052600: Illegal label record at start of a PCP archive log file; 0 records, 0 bytes\n"},
		{"index of another archive", ".index", func(b []byte) []byte { b[11]++; return b }, ".index: label of process 8, host \"web1\": another archive than that of volume 0, of process 7, host \"web1\": Illegal label record at start of a PCP archive log file; 0 records, 0 bytes\n"},
		{"zeroes", ".1", func(b []byte) []byte { return append(b, make([]byte, 100)...) }, ".1: record of 0 bytes, want at least 24: Corrupted record in a PCP archive log; 0 records, 100 bytes\n"},
		{"nothing but a label", ".1", func(b []byte) []byte { return b[:label+3] }, ".1: 3 bytes at the end of the file: Corrupted record in a PCP archive log; 0 records, 3 bytes\n.index: no record at offset 808 of volume 1: Corrupted record in a PCP archive log; 0 records, 0 bytes\n"},
	} {
		base := damaged(t, 3, test.suffix, test.change)
		report := repaired(t, test.name, base)
		var b strings.Builder
		for _, f := range report {
			e, ok := errors.AsType[*archive.Error](f.Problem)
			if !ok {
				t.Fatalf("%s: %v", test.name, f.Problem)
			}
			fmt.Fprintf(&b, "%s: %v; %d records, %d bytes\n", strings.TrimPrefix(f.Path, base), e.Err, f.Records, f.Bytes)
		}
		diff(t, test.name, b.String(), test.want)
		goesOn(t, test.name, base)
	}
}

// TestRepairRefuses checks that archives that cannot be repaired do not change.
func TestRepairRefuses(t *testing.T) {
	for _, test := range []struct {
		name, suffix string
		change       func([]byte) []byte
		err          error
	}{
		{"no metadata", ".meta", func([]byte) []byte { return nil }, pdu.ErrLogFile},
		{"no descriptor", ".meta", func(b []byte) []byte { return b[:900] }, pdu.ErrLogRec},
		{"volume of another archive", ".1", func(b []byte) []byte { b[11]++; return b }, pdu.ErrLabel},
	} {
		base := damaged(t, 3, test.suffix, test.change)
		before := contents(t, filepath.Dir(base))
		if _, err := (archive.RepairOptions{}).Repair(t.Context(), base); !errors.Is(err, test.err) {
			t.Errorf("%s: %v, want %v", test.name, err, test.err)
		}
		diff(t, test.name, contents(t, filepath.Dir(base)), before)
	}
	if _, err := (archive.RepairOptions{}).Repair(t.Context(), filepath.Join(t.TempDir(), "a")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no archive: %v", err)
	}
}

// TestRepairOptions checks that nothing changes with DryRun and that no damaged file is kept with
// Discard.
func TestRepairOptions(t *testing.T) {
	base := damaged(t, 2, ".0", func(b []byte) []byte { return b[:len(b)-1] })
	before := contents(t, filepath.Dir(base))
	report, err := archive.RepairOptions{DryRun: true}.Repair(t.Context(), base)
	if err != nil || len(report) != 1 {
		t.Fatalf("%v %+v", err, report)
	}
	diff(t, "dry run", contents(t, filepath.Dir(base)), before)
	if _, err := (archive.RepairOptions{Discard: true}).Repair(t.Context(), base); err != nil {
		t.Fatal(err)
	}
	if after := contents(t, filepath.Dir(base)); len(after) != 4 {
		t.Errorf("%d files", len(after))
	}
}

// TestRepairKeepsAll checks that Repair does not replace damaged files that it kept earlier.
func TestRepairKeepsAll(t *testing.T) {
	base := damaged(t, 2, ".0", func(b []byte) []byte { return b[:len(b)-1] })
	names := []string{base + ".0.damaged"}
	for n := 2; n <= 1000; n++ {
		names = append(names, fmt.Sprintf("%s.0.damaged%d", base, n))
	}
	for _, name := range names {
		if err := os.WriteFile(name, []byte("kept"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := (archive.RepairOptions{}).Repair(t.Context(), base); !errors.Is(err, fs.ErrExist) {
		t.Errorf("error %v", err)
	}
	for _, name := range names {
		if b, err := os.ReadFile(name); err != nil || string(b) != "kept" {
			t.Errorf("%s: %.10q, %v", name, b, err)
		}
	}
}

func TestInteropRepair(t *testing.T) {
	pcptest.Need(t, "pmlogcheck")
	r := rand.New(rand.NewPCG(3, 4))
	n := 12
	if *repairAll {
		n = 1000
	}
	for range n {
		version, suffix := 2+r.IntN(2), []string{".0", ".1", ".meta", ".index"}[r.IntN(4)]
		size := len(sound(t, version)[suffix])
		cut, hole := r.IntN(size), r.IntN(2)*r.IntN(300)
		base := damaged(t, version, suffix, func(b []byte) []byte {
			if hole > 0 {
				return slices.Delete(b, cut, min(cut+hole, size))
			}
			return b[:cut]
		})
		if _, err := (archive.RepairOptions{}).Repair(t.Context(), base); err != nil {
			continue // TestRepairTruncated looks at that
		}
		out, stderr, status := pcptest.Run(t, nil, "", "pmlogcheck", "-w", base)
		if status != 0 || out+stderr != "" {
			t.Errorf("pmlogcheck, version %d, %s without %d bytes at %d: %d %s%s", version, suffix, hole, cut, status, out, stderr)
		}
	}
}

// unsound are archives without an index, or with one that does not lead to records.
var unsound = []string{"binning", "ok-noti-interp", "pcp-mpstat3"}

// TestInteropRepairSound checks that intact archives of PCP's test suite do not change.
func TestInteropRepairSound(t *testing.T) {
	for i, base := range suiteArchives(t, 200_000) {
		if i%10 != 0 && !*repairAll {
			continue
		}
		report, err := archive.RepairOptions{DryRun: true}.Repair(t.Context(), base)
		if err != nil {
			t.Errorf("%s: %v", base, err)
			continue
		}
		for _, f := range report {
			if !slices.Contains(unsound, filepath.Base(base)) {
				t.Errorf("%s: %v", base, f.Problem)
			}
		}
	}
}

// fastDir returns a directory in memory, if the system has one, because Repair waits for the disk.
func fastDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "pcp-repair")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func FuzzRepair(f *testing.F) {
	var suffixes = []string{".0", ".meta", ".index"}
	for i, suffix := range suffixes {
		b, err := os.ReadFile("testdata/v3" + suffix)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(byte(i), b)
		f.Add(byte(i), b[:len(b)-5])
	}
	f.Fuzz(func(t *testing.T, which byte, b []byte) {
		base := filepath.Join(fastDir(t), "a")
		for i, suffix := range suffixes {
			data := b
			if i != int(which)%len(suffixes) {
				var err error
				if data, err = os.ReadFile("testdata/v3" + suffix); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(base+suffix, data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := (archive.RepairOptions{Discard: true}).Repair(t.Context(), base); err != nil {
			return
		}
		s, err := archive.Options{AnyFeature: true}.Open(t.Context(), base)
		if err != nil {
			t.Fatalf("repaired: %v", err)
		}
		defer s.Close()
		for r, err := range s.Records() {
			if err == nil {
				err = decodeRecord(r)
			}
			if err != nil {
				t.Fatalf("repaired: %v", err)
			}
		}
		again, err := archive.RepairOptions{DryRun: true}.Repair(t.Context(), base)
		if err != nil || len(again) > 0 {
			t.Fatalf("repaired again: %v %+v", err, again)
		}
	})
}

// This example repairs an archive whose writer was killed while it wrote a record.
func ExampleRepairOptions_Repair() {
	dir, err := os.MkdirTemp("", "archives")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	for _, suffix := range []string{".0", ".meta"} { // and the index is missing
		b, err := os.ReadFile("testdata/v3" + suffix)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "web1"+suffix), b[:len(b)-10], 0o644)
		}
		if err != nil {
			panic(err)
		}
	}
	report, err := archive.RepairOptions{}.Repair(context.Background(), filepath.Join(dir, "web1"))
	if err != nil {
		panic(err)
	}
	for _, f := range report {
		fmt.Println(filepath.Base(f.Path), "from", f.Size, "to", f.NewSize, "bytes")
	}
	// Output:
	// web1.meta from 3296 to 3221 bytes
	// web1.0 from 2390 to 2024 bytes
	// web1.index from 0 to 872 bytes
}

// contents returns the names and contents of the files in a directory.
func contents(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprintf("%s=%s", e.Name(), b))
	}
	return list
}
