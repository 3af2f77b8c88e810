package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmda/collector"
)

// TestNamesAreFound searches the sources for the full name of every metric that the
// collector has without arguments: it is where the metric is defined, so that it is
// found without knowing how agents put names together. The agent of processes is
// left out: it makes names of parts, since several trees have the same parts.
func TestNamesAreFound(t *testing.T) {
	t.Setenv("PCP_TMP_DIR", t.TempDir()) // without the MMV files of this host
	srv := &collector.Server{}
	defer srv.Close()
	if err := addEmbedded(srv); err != nil {
		t.Fatal(err)
	}
	c, err := pmapi.Local(t.Context(), srv)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	names, err := c.Traverse(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	found := namesIn(t, "../..")
	var missing []string
	for _, name := range names {
		tree, _, _ := strings.Cut(name, ".")
		if !found[name] && !slices.Contains([]string{"acct", "cgroup", "hotproc", "proc"}, tree) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		t.Errorf("%d of %d names are in no source file:\n%s", len(missing), len(names), strings.Join(missing, "\n"))
	}
}

var fullName = regexp.MustCompile(`[A-Za-z]\w*(\.\w+)+`)

// namesIn are what looks like the name of a metric in the Go files below a directory,
// but for those of tests.
func namesIn(t *testing.T, dir string) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, name := range fullName.FindAllString(string(text), -1) {
			all[name] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestInteropGivenNames: with -n pmcd has what the file names, of agents in its process too, and ours the metrics of the collector besides.
func TestInteropGivenNames(t *testing.T) {
	pcptest.Need(t, "pmcd", "pminfo")
	program, ours := asInstalled(t)
	dso := func(name string, domain int) string {
		return fmt.Sprintf("%s %d dso %s_init %s/%s/pmda_%s.so\n", name, domain, name, pcptest.Conf("PCP_PMDAS_DIR"), name, name)
	}
	const names = "root {\n\tsample\n\tmy\n\tmmv 70:*:*\n}\nsample {\n\tlong\n\tcolour 30:0:5\n}\nsample.long {\n\tone 30:0:10\n}\nmy {\n\tten 30:0:11\n}\n"
	var want string
	for i, program := range []string{pcptest.Tool(t, "pmcd"), program} {
		var env []string
		if i > 0 {
			env = ours
		}
		dir, port := pcptest.ShortDir(t), strconv.Itoa(pcptest.FreePort(t))
		socket := filepath.Join(dir, "socket")
		for name, text := range map[string]string{"conf": dso("sample", 30) + dso("mmv", 70), "names": names} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		pcptest.Start(t, pcptest.Daemon{
			Path: program, Dir: dir, Addr: socket, Greets: true, Env: append(slices.Clone(env), "PCP_RUN_DIR="+dir, "PCP_LOG_DIR="+dir, "PCP_TMP_DIR="+dir, "PMCD_ROOT_AGENT=0"),
			Args: append([]string{"-f", "-A", "-i", "127.0.0.1", "-p", port, "-s", socket, "-c", "conf", "-n", "names", "-l", "pmcd.log", "-x", "report"}, giveTime...),
		})
		client := []string{"pminfo", "-h", "unix://" + socket}
		all, _, _ := pcptest.Run(t, []string{"PCP_DERIVED_CONFIG="}, "", client...)
		out, errs, status := pcptest.Run(t, nil, "", append(client, "-fmM", "sample", "my", "mmv")...)
		got := regexp.MustCompile(`(?m)^pmcd\..*\n`).ReplaceAllString(all, "") + fmt.Sprintf("%s%sexit status %d\n", out, errs, status)
		if i == 0 {
			want = got
		} else if diff := cmp.Diff(want, got); diff != "" || !strings.Contains(got, "my.ten") {
			t.Errorf("(-C +Go):\n%s", diff)
		}
	}
}
