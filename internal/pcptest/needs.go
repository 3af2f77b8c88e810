package pcptest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
)

// Need skips the test unless all that it names is installed. With PCP_INTEROP=require in the
// environment it fails the test instead. The form of a need says its kind:
//
//   - "pminfo", "pmcd", "gcc": a program of PCP, or another in PATH
//   - "/etc/pcp.env": a file or directory
//   - "/var/lib/pcp/testsuite/linux/*.tgz": a pattern that at least one path matches
//   - "pcp/pmapi.h": a header of C, below /usr/include
//   - "-lpcp": a library that gcc links with
//   - "user pcp": a user of the system
//
// Need is for the goroutine of the test. The other functions of this package call it for the
// parts of PCP that they use.
func Need(t testing.TB, needs ...string) {
	t.Helper()
	switch msg := missing(needs); {
	case msg == "":
	case Required():
		t.Fatal(msg)
	default:
		t.Skip(msg)
	}
}

// Has reports whether all needs are installed, for a test that also checks something without
// them. With PCP_INTEROP=require in the environment, missing needs fail the test. It may be
// called from any goroutine.
func Has(t testing.TB, needs ...string) bool {
	t.Helper()
	msg := missing(needs)
	if msg != "" && Required() {
		t.Error(msg)
	}
	return msg == ""
}

// Optional returns the path of a program that .ci/install-pcp does not install, such as
// "promtool". It skips the test without the program, also with PCP_INTEROP=require in the
// environment.
func Optional(t testing.TB, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Skipf("test needs %s in PATH", program)
	}
	return path
}

// NeedRoot skips the test unless root runs it, also with PCP_INTEROP=require in the
// environment. The reason completes the sentence "the test needs root".
func NeedRoot(t testing.TB, reason string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("the test needs root: ", reason)
	}
}

// Required reports whether the environment has PCP_INTEROP=require: PCP is installed, and
// comparisons with it are complete.
func Required() bool { return os.Getenv("PCP_INTEROP") == "require" }

// Tool returns the path of a program, a file or a header that Need accepts. It skips or fails
// the test without it, as Need does.
func Tool(t testing.TB, name string) string {
	t.Helper()
	Need(t, name)
	path, _ := find(name)
	return path
}

// missing returns why a test cannot run with the needs, or "" if nothing is missing.
func missing(needs []string) string {
	var absent []string
	for _, need := range needs {
		if _, err := find(need); err != nil {
			absent = append(absent, need)
		}
	}
	if absent == nil {
		return ""
	}
	return fmt.Sprintf("interop test needs %s of the real PCP: install it with .ci/install-pcp (Debian, as root)",
		strings.Join(absent, ", "))
}

// find decides whether a need is installed. It returns the path of one that has a path.
func find(need string) (string, error) {
	if name, ok := strings.CutPrefix(need, "user "); ok {
		_, err := user.Lookup(name)
		return "", err
	}
	if name, ok := strings.CutPrefix(need, "-l"); ok {
		return findLibrary(name)
	}
	switch {
	case strings.HasSuffix(need, ".h") && !filepath.IsAbs(need):
		return findFile(filepath.Join("/usr/include", need))
	case filepath.IsAbs(need):
		return findFile(need)
	case strings.ContainsRune(need, '/'):
		return "", fmt.Errorf("pcptest: unknown kind of need: %s", need)
	}
	// PCP_BINADM_DIR comes first: that is where the servers are, and a Go pmcd may be in PATH.
	path := filepath.Join(Conf("PCP_BINADM_DIR"), need)
	if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
		return path, nil
	}
	return exec.LookPath(need)
}

func findFile(path string) (string, error) {
	_, err := os.Stat(path)
	if err == nil || !strings.ContainsRune(path, '*') {
		return path, err
	}
	paths, err := filepath.Glob(path)
	if err == nil && len(paths) == 0 {
		err = fs.ErrNotExist
	}
	return path, err
}

// findLibrary asks gcc for the file of a library.
func findLibrary(name string) (string, error) {
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		return "", err
	}
	for _, suffix := range []string{".so", ".a"} {
		out, err := exec.Command(gcc, "-print-file-name=lib"+name+suffix).Output()
		if err != nil {
			return "", err
		}
		if path := strings.TrimSpace(string(out)); filepath.IsAbs(path) {
			return path, nil
		}
	}
	return "", errors.New("gcc finds no lib" + name)
}
