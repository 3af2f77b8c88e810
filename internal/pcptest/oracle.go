package pcptest

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Oracle asks the C library questions about one subject, such as "units" or "extract", and returns an answer for
// each. testdata/oracle.c has the subjects and says how questions and answers look. The program is built once per
// test process.
func Oracle(t testing.TB, subject string, questions []string) []string {
	t.Helper()
	Need(t, "gcc", "/usr/include/pcp/pmapi.h")
	program, err := once("oracle", buildOracle)
	if err != nil {
		t.Fatal(err)
	}
	text, errs, status := Run(t, nil, strings.Join(questions, "\n")+"\n", program, subject)
	if status != 0 || errs != "" {
		t.Fatalf("oracle %s: exit status %d, %s", subject, status, tail(errs))
	}
	answers := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(answers) != len(questions) {
		t.Fatalf("oracle %s: %d answers to %d questions", subject, len(answers), len(questions))
	}
	return answers
}

func buildOracle(dir string) (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, "oracle")
	cmd := exec.Command("gcc", "-o", program, filepath.Join(root, "internal", "pcptest", "testdata", "oracle.c"), "-lpcp")
	if msg, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", cmd, err, msg)
	}
	return program, nil
}
