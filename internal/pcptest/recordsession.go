package pcptest

import (
	"strings"
	"testing"
)

// RecordSession makes a recording session with the C library libpcp_gui in a directory and returns
// what each call returns. The calls of testdata/recordsession.c are lines. The session's launcher
// has ended when it returns.
func RecordSession(t testing.TB, dir string, env, calls []string) []string {
	t.Helper()
	program := buildC(t, "recordsession", "-O2", libpcpGUI)
	stdout, stderr, status := RunIn(t, dir, env, strings.Join(calls, "\n")+"\n", program)
	answers := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
	if status != 0 || len(answers) != len(calls) {
		t.Fatalf("recordsession: status %d, %d answers to %d calls: %q\n%s", status, len(answers), len(calls), answers, stderr)
	}
	return answers
}

// libpcpGUI is the library of record mode; its package for development is not installed.
const libpcpGUI = "/usr/lib/libpcp_gui.so.2"
