package pcptest

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
)

// WriteMMV has PCP's libpcp_mmv write a file of memory-mapped values, as a script says whose commands stand at the
// beginning of testdata/mmvwrite.c. It skips the test where the library is not installed.
func WriteMMV(t testing.TB, script string) {
	t.Helper()
	if _, errs, status := Run(t, nil, script, MMVWriter(t)); status != 0 || errs != "" {
		t.Fatalf("mmvwrite: exit status %d, %s", status, tail(errs))
	}
}

// MMVWriter returns the path of the program that WriteMMV runs, for scripts with the command wait.
func MMVWriter(t testing.TB) string {
	t.Helper()
	Need(t, "gcc", "/usr/include/pcp/mmv_stats.h")
	program, err := once("mmvwrite", func(dir string) (string, error) {
		root, err := moduleRoot()
		if err != nil {
			return "", err
		}
		program := filepath.Join(dir, "mmvwrite")
		source := filepath.Join(root, "internal", "pcptest", "testdata", "mmvwrite.c")
		cmd := exec.Command("gcc", "-o", program, source, "-lpcp_mmv", "-lpcp")
		if msg, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s: %w\n%s", cmd, err, msg)
		}
		return program, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return program
}
