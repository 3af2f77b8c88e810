package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pcp-go/pcp/internal/pcptest"
)

// TestLikeDemo runs PCP's acme.c and this program, each beside a pmcd with C's agent: pminfo shows
// the same of both, except for the values, which are those of chance.
func TestLikeDemo(t *testing.T) {
	source := filepath.Join(pcptest.Conf("PCP_DEMOS_DIR"), "mmv", "acme.c")
	pcptest.Need(t, "gcc", "pmcd", "pminfo", "pcp/mmv_stats.h", source)
	demo := pcptest.BuildC(t, source, "-lpcp_mmv", "-lpcp")
	c, ours := shown(t, demo), shown(t, pcptest.Build(t, "./examples/acme"))
	if n := strings.Count(c, "value N"); n != 9 {
		t.Errorf("%d values, want 9:\n%s", n, c)
	}
	if d := cmp.Diff(c, ours); d != "" {
		t.Errorf("pminfo of acme.c's metrics (-) and ours (+):\n%s", d)
	}
}

var value = regexp.MustCompile(`(?m) value \d+$`)

// shown is what pminfo shows of the factory while a program runs, once it has built something of
// everything. The values are N.
func shown(t *testing.T, program string) (text string) {
	t.Helper()
	tmp := t.TempDir()
	if err := os.Mkdir(filepath.Join(tmp, "mmv"), 0o755); err != nil {
		t.Fatal(err)
	}
	env := []string{"PCP_TMP_DIR=" + tmp}
	pcptest.Start(t, pcptest.Daemon{Path: program, Env: env})
	within(t, func() (wrong string) {
		if _, err := os.Stat(filepath.Join(tmp, "mmv", "acme")); err != nil {
			return err.Error()
		}
		return ""
	})
	pmcd := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"mmv"}, Env: env})
	within(t, func() (wrong string) {
		out, errs, status := pcptest.Run(t, nil, "", "pminfo", "-h", pmcd.Host(), "-dfmtT", "mmv.acme")
		if text = out; status != 0 || errs != "" || strings.Contains(out, " value 0\n") {
			return errs + out
		}
		return ""
	})
	return value.ReplaceAllString(text, " value N")
}

// within calls check until it returns "", as long as a busy machine may take.
func within(t *testing.T, check func() (wrong string)) {
	t.Helper()
	wrong := check()
	for end := time.Now().Add(time.Minute); wrong != "" && time.Now().Before(end); wrong = check() {
		time.Sleep(100 * time.Millisecond)
	}
	if wrong != "" {
		t.Error(wrong)
	}
}
