package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestVerifyWarns verifies a configuration with a rule that is left out: a warning,
// and success.
func TestVerifyWarns(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pmcd.conf")
	if err := os.WriteFile(file, []byte("simple 253 dso simple_init /none/pmda_simple.so\n[access]\ndisallow \"\" : all;\nallow * : all;\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var output bytes.Buffer
	status := run([]string{"-v", "-c", file}, &output)
	if want := "access control error for host ''"; status != 0 || !strings.Contains(output.String(), want) {
		t.Errorf("exit status %d, says %q", status, &output)
	}
}
