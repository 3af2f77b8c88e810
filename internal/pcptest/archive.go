package pcptest

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// ReplayArchive makes requests of an archive with the C library and returns an answer for each;
// before them is that of opening it. The commands of testdata/archivereplay.c say how requests and
// answers look. If the C library crashes or loops, the answers end there.
func ReplayArchive(t testing.TB, archive string, requests []string) []string {
	t.Helper()
	program := buildC(t, "archivereplay", "-O2", "-lpcp")
	cmd := exec.CommandContext(t.Context(), program, archive)
	cmd.Env = append(os.Environ(), "PCP_DERIVED_CONFIG=", "LC_ALL=C")
	cmd.Stdin = strings.NewReader(strings.Join(requests, "\n") + "\n")
	text, err := cmd.Output()
	answers := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if err == nil && len(answers) != len(requests)+1 {
		t.Fatalf("archivereplay %s: %d answers to %d requests", archive, len(answers), len(requests))
	}
	if _, died := errors.AsType[*exec.ExitError](err); err != nil && !died {
		t.Fatal(err)
	}
	return answers
}

// LogImport makes calls of the C library libpcp_import in a directory and returns what each
// returns. The calls of testdata/logimport.c are lines with tabs between the fields.
func LogImport(t testing.TB, dir string, calls []string) []string {
	t.Helper()
	program := buildC(t, "logimport", "-O2", "-lpcp_import", "-lpcp")
	stdout, stderr, status := RunIn(t, dir, nil, strings.Join(calls, "\n")+"\n", program)
	answers := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
	if status != 0 || len(answers) != len(calls) {
		t.Fatalf("logimport: status %d, %d answers to %d calls\n%s", status, len(answers), len(calls), stderr)
	}
	return answers
}
