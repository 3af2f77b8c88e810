package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// oneArchiveOf is how many archives there are for each that the usual test compares.
const oneArchiveOf = 3

// TestInteropArchiveFiles compares the archives of -o archive with those of the real pmrep byte by
// byte, except for the process in the labels, and checks ours with pmlogcheck. Labels (-m) are left
// out because the real pmrep gives those of instances and clusters no identifier.
func TestInteropArchiveFiles(t *testing.T) {
	const archives = "/var/lib/pcp/testsuite/archives/"
	pcptest.Need(t, "pmrep", "pmlogcheck", archives)
	t.Setenv("PATH", "/usr/bin"+string(filepath.ListSeparator)+os.Getenv("PATH")) // for the Python of the system
	ours := pcptest.Build(t, "./examples/pmrep")
	for i, line := range []string{
		"pcp-zeroconf -t 10 -s 10 --include-texts kernel.all disk.dev network.interface.in",
		"20130706 -t 1min -s 4 kernel.all.load",
		"pcp-zeroconf -t 10 -s 6 :vmstat",
		"pcp-zeroconf -u -t 5 -T +60s kernel.all.load disk.dev.total",
		"20130706 -t 1min -s 4 disk.dev.read disk.dev.write hinv.ncpu",
		"pcp-zeroconf -t 5 -s 30 -T +60s mem.util.free",
		"pcp-zeroconf -t 5 -T +60s kernel.all.load disk.dev.total",
		"20130706 -Z Europe/Helsinki -t 1min -s 4 kernel.all.load",
		"pcp-zeroconf -r -i sda -t 5 -s 5 disk.dev.read_bytes,,,MB",
		"pcp-zeroconf -t 5 -s 5 -e x.y=kernel.all.nprocs*2 x.y kernel.all.nprocs",
		"pcp-zeroconf -s 3 no.such.metric",
		"20130706 -z -t 1min -s 4 kernel.all.load",
	} {
		if !*allLines && i%oneArchiveOf != 0 {
			continue
		}
		t.Run(line, func(t *testing.T) {
			args := strings.Fields(line)
			args[0] = archives + args[0]
			args = append([]string{"-o", "archive", "-F", "recorded", "-a"}, args...)
			dir := t.TempDir()
			want, got := recorded(t, t.TempDir(), "pmrep", args), recorded(t, dir, ours, args)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("pmrep %s (-PCP +ours):\n%s", strings.Join(args, " "), diff)
			}
			if len(got) == 3 {
				return // no archive
			}
			if out, errs, status := pcptest.RunIn(t, dir, nil, "", "pmlogcheck", "recorded"); out+errs != "" || status != 0 {
				t.Errorf("pmlogcheck of ours: status %d\n%s%s", status, out, errs)
			}
		})
	}
}

// recorded runs a pmrep that writes the archive "recorded" in a directory, and returns what it says
// and the files, without the process of the labels.
func recorded(t *testing.T, dir, program string, args []string) map[string]string {
	t.Helper()
	stdout, stderr, status := pcptest.RunIn(t, dir, nil, "", append([]string{program}, args...)...)
	all := map[string]string{"stdout": stdout, "stderr": stderr, "status": strconv.Itoa(status)}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if len(b) > 12 {
			copy(b[8:12], bytes.Repeat([]byte{0}, 4))
		}
		all[filepath.Base(file)] = string(b)
	}
	return all
}
