package pcptest

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// ReplayArchive makes requests of an archive with the C library and returns an answer for each; before them is
// that of opening it. The commands of testdata/archivereplay.c say how requests and answers look.
func ReplayArchive(t testing.TB, archive string, requests []string) []string {
	t.Helper()
	Need(t, "gcc", "/usr/include/pcp/pmapi.h")
	program, err := once("archivereplay", func(dir string) (string, error) {
		root, err := moduleRoot()
		if err != nil {
			return "", err
		}
		program := filepath.Join(dir, "archivereplay")
		source := filepath.Join(root, "internal", "pcptest", "testdata", "archivereplay.c")
		cmd := exec.Command("gcc", "-o", program, source, "-lpcp")
		if msg, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s: %w\n%s", cmd, err, msg)
		}
		return program, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	env := []string{"PCP_DERIVED_CONFIG=", "LC_ALL=C"}
	text, errs, status := Run(t, env, strings.Join(requests, "\n")+"\n", program, archive)
	answers := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if status != 0 || len(answers) != len(requests)+1 {
		t.Fatalf("archivereplay %s: exit status %d, %d answers to %d requests, %s", archive, status, len(answers), len(requests), tail(errs))
	}
	return answers
}
