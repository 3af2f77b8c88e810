package pcptest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// ReplayArchive makes requests of an archive with the C library and returns an answer for each; before them is
// that of opening it. The commands of testdata/archivereplay.c say how requests and answers look. If the C library crashes or
// loops, the answers end there.
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
