package main

import (
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/examples/internal/toolcmp"
	"github.com/pcp-go/pcp/internal/pcptest"
)

var all = flag.Bool("all", false, "compare the checks of all archives of PCP's test suite, which takes minutes, and not only of short ones")

const testSuite = "/var/lib/pcp/testsuite/"

// TestInteropArchives compares what PCP's tool and ours find in archives.
func TestInteropArchives(t *testing.T) {
	options := []string{"-vl"}
	if *all {
		options = append(options, "", "-w", "-mv", "-vz -S 3sec -T -2sec", "-lZ EST-10 -T 5sec", "-w -S 20sec -T 5min",
			"-vwn /var/lib/pcp/pmns/root")
	}
	const times = "ours compares the times of the metadata with those of the data, as PCP 7 does"
	toolcmp.Archives(t, "pmlogcheck", options, *all, map[string]string{
		"* badarchives/badlog-4":  times,
		"* badarchives/badmeta-6": times,
	})
}

// TestInteropOptions compares what PCP's tool and ours print with each option, and of errors.
func TestInteropOptions(t *testing.T) {
	toolcmp.Lines(t, "pmlogcheck",
		"pmlogcheck archives/ok-foo",
		"pmlogcheck -l archives/ok-foo",
		"pmlogcheck -m archives/wrap",
		"pmlogcheck -n /nonexistent archives/ok-foo",
		"pmlogcheck -n /var/lib/pcp/pmns/root archives/ok-foo",
		"pmlogcheck -S 2sec -T 5sec -v archives/wrap",
		"pmlogcheck -S @foo archives/ok-foo",
		"pmlogcheck -S 20sec -v archives/ok-mv-foo",
		"pmlogcheck -S 3sec -v archives/pcp-mpstat3",
		"pmlogcheck -v archives/mark-bug",
		"pmlogcheck -vv archives/wrap",
		"pmlogcheck -w archives/wrap",
		"pmlogcheck -z -l archives/ok-foo",
		"pmlogcheck -Z EST-10 -l archives/wrap",
		"pmlogcheck -z -Z UTC archives/ok-foo",
		"pmlogcheck -D foo archives/ok-foo",
		"pmlogcheck -l -T '' archives/ok-foo",
		"pmlogcheck -V archives/ok-foo",
		"pmlogcheck '-?'",
		"pmlogcheck --label --metadataonly --verbose --nowrap --timezone=UTC --start=1sec --finish=5sec archives/wrap",
		"pmlogcheck",
		"pmlogcheck archives/nonexistent",
		"pmlogcheck -v archives/ok-noti-interp.meta",
		"pmlogcheck -v archives/ok-mv-foo.1",
		"pmlogcheck -v archives/ok-mv-foo.7",
		"pmlogcheck -v archives/20190628.04.03.0.xz",
		"pmlogcheck archives/ok-foo,archives/ok-bar",
		"pmlogcheck -v archives",
		"pmlogcheck archives/chartqa1",
		"pmlogcheck -v archives/bug-1044",
		"pmlogcheck archives/multi-corrupted/20150508.11.50",
	)
}

// TestInteropDirectory compares how PCP's tool and ours look for the files of an archive. The order
// of "." and ".." is that of a directory, which ours does not have.
func TestInteropDirectory(t *testing.T) {
	pcptest.Need(t, "pmlogcheck", testSuite+"archives")
	dir := t.TempDir()
	copyArchive(t, dir, "x")
	for _, name := range []string{"x.foo", "x.0.foo", "x.1x", "x.", "x.0.gz.xz", "y.0", "xx.0", "y.foo", "x", "x.meta.0", "x.0.0",
		"x.index.1", "x.xz", "x.meta.bad"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	ours := pcptest.Build(t, "./examples/pmlogcheck")
	for _, arg := range []string{"x", "x.0", "./x.index", "x.7", "x.0.gz.xz", "x.0.foo", "x.meta.bad", dir + "/x.meta", "y", "z", "nonexistent/x"} {
		run := func(program string) []string {
			stdout, stderr, status := pcptest.RunIn(t, dir, nil, "", program, "-vvv", arg)
			lines := strings.Split(fmt.Sprintf("%s%sexit status: %d", stdout, stderr, status), "\n")
			slices.Sort(lines)
			return lines
		}
		if diff := cmp.Diff(run("pmlogcheck"), run(ours)); diff != "" {
			t.Errorf("%s (-PCP +ours):\n%s", arg, diff)
		}
	}
}

// copyArchive copies PCP's test archive ok-foo, which has a volume 0 with 9 records of 152, then
// 212 and last 208 bytes.
func copyArchive(t *testing.T, dir, name string) {
	t.Helper()
	for _, suffix := range []string{".0", ".index", ".meta"} {
		b, err := os.ReadFile(testSuite + "archives/ok-foo" + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name+suffix), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// TestInteropDamage compares what PCP's tool and ours find in archives that are damaged at one
// place.
func TestInteropDamage(t *testing.T) {
	pcptest.Need(t, "pmlogcheck", testSuite+"archives")
	ours := pcptest.Build(t, "./examples/pmlogcheck")
	compare := func(what string, change func(dir string)) {
		dir := t.TempDir()
		copyArchive(t, dir, "a")
		change(dir)
		run := func(program string) []string {
			stdout, stderr, status := pcptest.RunIn(t, dir, nil, "", program, "-v", "a")
			return strings.Split(fmt.Sprintf("%s%sexit status: %d", stdout, stderr, status), "\n")
		}
		want, got := run("pmlogcheck"), run(ours)
		// The files are in the order of the directory, which is the same for both.
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-PCP +ours):\n%s", what, diff)
		}
	}
	const label = 132
	for _, suffix := range []string{".0", ".index", ".meta"} {
		for _, damage := range []struct {
			what   string
			offset int64
			words  []int32
		}{
			{"magic", 4, []int32{0x12345602}}, {"version", 4, []int32{0x50052609}}, {"other version", 4, []int32{0x50052603}},
			{"pid", 8, []int32{77}}, {"start", 12, []int32{5}}, {"volume", 20, []int32{5}}, {"host", 24, []int32{0x61620000}},
			{"negative length", 0, []int32{-5}}, {"short length", 0, []int32{4}}, {"long length", 0, []int32{200}},
			{"trailer", 128, []int32{133}}, {"negative trailer", 128, []int32{-1}}, {"no trailer", 128, []int32{0}},
			{"record of negative length", label, []int32{-7}}, {"short record", label, []int32{5}}, {"type 0", label + 4, []int32{0}},
			{"type 2", label + 4, []int32{2}}, {"type 9", label + 4, []int32{9}}, {"too many", 932, []int32{50}},
			{"number of values", 940, []int32{5000}}, {"error", 940, []int32{-12351}}, {"form", 944, []int32{9}},
			{"another form", 944, []int32{1}}, {"garbage", 144, []int32{50}}, {"mark", 296, []int32{0}}, {"metric", 936, []int32{0x1234567}}, {"instance", 948, []int32{77}},
			{"negative", label, []int32{-1, -1, -1, -1, -1}}, {"nanoseconds", label, []int32{902428472, 2000000, 0, label, label}},
			{"no such volume", 152, []int32{902428473, 248687, 1, 350, 284}},
			{"back", 152, []int32{902428473, 248687, 0, 140, 140, 902428473, 248687, 0, 139, 139}},
		} {
			compare(damage.what+" in "+suffix, func(dir string) { overwrite(t, dir+"/a"+suffix, damage.offset, damage.words) })
		}
		for _, size := range []int64{0, 3, 4, 40, 130, label, 140, 171, 849} {
			compare(fmt.Sprintf("%d bytes of %s", size, suffix), func(dir string) {
				if err := os.Truncate(dir+"/a"+suffix, size); err != nil {
					t.Fatal(err)
				}
			})
		}
		compare("no "+suffix, func(dir string) {
			if err := os.Remove(dir + "/a" + suffix); err != nil {
				t.Fatal(err)
			}
		})
		compare(suffix+" of version 3", func(dir string) {
			b, err := os.ReadFile(testSuite + "archives/omnibus_v3" + suffix)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(dir+"/a"+suffix, b, 0o666); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// overwrite changes words of a file, unless it ends before them.
func overwrite(t *testing.T, path string, offset int64, words []int32) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i, word := range words {
		if at := offset + 4*int64(i); at+4 <= int64(len(b)) {
			binary.BigEndian.PutUint32(b[at:], uint32(word))
		}
	}
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
}
