package pcptest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// BuildC compiles a C program with gcc and returns its path. A test process builds each program
// once. The source is a path; args are further arguments of gcc, among them the libraries as
// "-lNAME" or absolute paths. BuildC needs, as Need does, gcc, a source outside the working
// directory, the headers of PCP that the source includes, and the libraries.
func BuildC(t testing.TB, source string, args ...string) (program string) {
	t.Helper()
	Need(t, cNeeds(t, source, args)...)
	program, err := once(strings.Join(append([]string{"gcc", source}, args...), " "), func(dir string) (string, error) {
		program := filepath.Join(dir, strings.TrimSuffix(filepath.Base(source), ".c"))
		cmd := exec.Command("gcc", append([]string{"-o", program, source}, args...)...)
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

var pcpHeader = regexp.MustCompile(`(?m)^\s*#\s*include\s*<(pcp/[^>]+\.h)>`)

// cNeeds returns what compiling a program needs.
func cNeeds(t testing.TB, source string, args []string) []string {
	t.Helper()
	needs := []string{"gcc"}
	text, err := os.ReadFile(source)
	switch {
	case err == nil:
		for _, m := range pcpHeader.FindAllSubmatch(text, -1) {
			needs = append(needs, string(m[1]))
		}
	case filepath.IsAbs(source):
		needs = append(needs, source)
	default: // it is in the repository
		t.Fatal(err)
	}
	for i, arg := range args {
		if strings.HasPrefix(arg, "-l") || filepath.IsAbs(arg) && (i == 0 || args[i-1] != "-I") {
			needs = append(needs, arg)
		}
	}
	return needs
}

// buildC builds a program of this package's testdata.
func buildC(t testing.TB, name string, args ...string) string {
	t.Helper()
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	return BuildC(t, filepath.Join(root, "internal", "pcptest", "testdata", name+".c"), args...)
}
