package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/mmv"
)

// result is the outcome of a program.
type result struct {
	stdout, stderr string
	status         int
}

// both runs C's mmvdump and ours, with what stands for their own path in messages replaced by
// "mmvdump".
func both(t *testing.T, env []string, args ...string) (c, ours result) {
	t.Helper()
	tool := filepath.Join(pcptest.Conf("PCP_PMDAS_DIR"), "mmv", "mmvdump")
	pcptest.Need(t, tool)
	run := func(program string) result {
		out, errs, status := pcptest.Run(t, env, "", append([]string{program}, args...)...)
		return result{out, strings.ReplaceAll(errs, program, "mmvdump"), status}
	}
	return run(tool), run(pcptest.Build(t, "./examples/mmvdump"))
}

// sample has libpcp_mmv write a file.
func sample(t *testing.T, path string) {
	t.Helper()
	pcptest.WriteMMV(t, "file|"+path+"|11|2\nindom|5|colours|\ninstance|5|1|red\nmetric|hits|1|1|1|00100000|5|Hits|\n"+
		"metric|state|2|6|4|0|0||\nstart\nset|hits|red|7\nstring|state||idle\n")
}

// TestAlike: the same output, errors and exit status as C's mmvdump.
func TestAlike(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "mmv"), 0o755); err != nil {
		t.Fatal(err)
	}
	path := func(name string) string { return filepath.Join(dir, "mmv", name) }
	sample(t, path("test"))
	image, err := os.ReadFile(path("test"))
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"empty": nil, "short": image[:30], "cut": image[:500],
		"text": []byte(strings.Repeat("x", 100))} {
		if err := os.WriteFile(path(name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"PCP_TMP_DIR=" + dir}
	for name, args := range map[string][]string{
		"file":                {path("test")},
		"no argument":         {},
		"two arguments":       {"a", "b"},
		"no file":             {path("none")},
		"directory":           {dir},
		"below a file":        {path("test") + "/x"},
		"empty":               {path("empty")},
		"short":               {path("short")},
		"cut":                 {path("cut")},
		"text":                {path("text")},
		"relative name":       {"./none"},
		"name like an option": {"-x"},
	} {
		t.Run(name, func(t *testing.T) {
			c, ours := both(t, env, args...)
			if c != ours {
				t.Errorf("%+v, C: %+v", ours, c)
			}
		})
	}
}

// TestNotPermitted: a file that may not be read is an error.
func TestNotPermitted(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read every file")
	}
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0); err != nil {
		t.Fatal(err)
	}
	if c, ours := both(t, nil, path); c != ours {
		t.Errorf("%+v, C: %+v", ours, c)
	}
}

// TestAcme: the file of PCP's demonstration program looks alike.
func TestAcme(t *testing.T) {
	program := pcptest.BuildC(t, "/usr/share/pcp/demos/mmv/acme.c", "-w", "-lpcp_mmv", "-lpcp")
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "mmv"), 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "mmv", "acme")
	cmd := exec.Command(program)
	cmd.Env = append(pcptest.Env(), "PCP_TMP_DIR="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitForValues(t, path)
	cmd.Process.Kill()
	cmd.Wait()
	c, ours := both(t, nil, path)
	if c != ours || c.status != 0 {
		t.Errorf("%+v, C: %+v", ours, c)
	}
	if !strings.Contains(ours.stdout, `products.count[0 or "Anvils"] = `) {
		t.Error(ours.stdout)
	}
}

// waitForValues waits until acme has counted something. The file remains when the program ends.
func waitForValues(t *testing.T, path string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		f, err := mmv.Open(path)
		if err != nil {
			continue
		}
		s, err := f.Snapshot(time.Now())
		f.Close()
		if err != nil {
			continue
		}
		for _, product := range []string{"Anvils", "Rockets", "Giant_Rubber_Bands"} {
			if v, ok := s.Lookup("products.count", product); ok && v.String() != "0" {
				return
			}
		}
	}
	t.Fatalf("%s has no values", path)
}

// TestOutput checks that output writes to a file as it is, and that errors go to standard error.
func TestOutput(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if output(f) != f {
		t.Error("a file is not printed to as it is")
	}
	var out, errs bytes.Buffer
	if status := run([]string{"mmvdump", filepath.Join(t.TempDir(), "none")}, &out, &errs); status != 1 || out.Len() != 0 ||
		!strings.HasSuffix(errs.String(), ": No such file or directory\n") {
		t.Errorf("status %d, %q, %q", status, out.String(), errs.String())
	}
}
