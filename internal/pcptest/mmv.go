package pcptest

import "testing"

// WriteMMV has PCP's libpcp_mmv write a file of memory-mapped values, as a script says whose
// commands stand at the beginning of testdata/mmvwrite.c. It skips the test where the library is
// not installed.
func WriteMMV(t testing.TB, script string) {
	t.Helper()
	if _, errs, status := Run(t, nil, script, MMVWriter(t)); status != 0 || errs != "" {
		t.Fatalf("mmvwrite: exit status %d, %s", status, tail(errs))
	}
}

// MMVWriter returns the path of the program that WriteMMV runs, for scripts with the command wait.
func MMVWriter(t testing.TB) string {
	t.Helper()
	return buildC(t, "mmvwrite", "-lpcp_mmv", "-lpcp")
}
