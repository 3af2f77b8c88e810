package pcptest

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Need skips the test unless every tool of the real PCP that it names is installed; with PCP_INTEROP=require in
// the environment it fails instead. A tool is the name of a command ("pminfo", "gcc"), of one of PCP's own
// servers ("pmcd"), or the path of a file.
func Need(t testing.TB, tools ...string) {
	t.Helper()
	switch msg := missing(tools); {
	case msg == "":
	case os.Getenv("PCP_INTEROP") == "require":
		t.Fatal(msg)
	default:
		t.Skip(msg)
	}
}

func missing(tools []string) string {
	var absent []string
	for _, tool := range tools {
		if _, err := find(tool); err != nil {
			absent = append(absent, tool)
		}
	}
	if absent == nil {
		return ""
	}
	return fmt.Sprintf("interop test needs %s of the real PCP: install it with .ci/install-pcp (Debian, as root)",
		strings.Join(absent, ", "))
}

// Tool returns the path of a tool that Need accepts, and fails the test when it is not installed.
func Tool(t testing.TB, name string) string {
	t.Helper()
	path, err := find(name)
	if err != nil {
		t.Fatal(missing([]string{name}))
	}
	return path
}

func find(tool string) (string, error) {
	if filepath.IsAbs(tool) {
		_, err := os.Stat(tool)
		return tool, err
	}
	// PCP_BINADM_DIR comes first: that is where the servers are, and a Go pmcd may be in PATH.
	path := filepath.Join(Conf("PCP_BINADM_DIR"), tool)
	if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
		return path, nil
	}
	return exec.LookPath(tool)
}

// Conf returns a setting of the installed PCP's pcp.conf (PCP_PMDAS_DIR, PCP_BINADM_DIR, ...), or "" when there
// is none. The environment does not override it: it says where things were installed.
func Conf(name string) string { return pcpConf()[name] }

var pcpConf = sync.OnceValue(func() map[string]string {
	conf := map[string]string{"PCP_BINADM_DIR": "/usr/lib/pcp/bin"}
	f, err := os.Open("/etc/pcp.conf")
	if err != nil {
		return conf
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		if k, v, ok := strings.Cut(sc.Text(), "="); ok && !strings.HasPrefix(k, "#") {
			conf[k] = v
		}
	}
	return conf
})

// ShortDir makes a directory that is removed with the test and whose path is short: that of a unix socket may
// have 107 bytes, and t.TempDir holds the test's name.
func ShortDir(t testing.TB) string {
	t.Helper()
	dir, err := sharedTemp("pcp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// sharedTemp is os.MkdirTemp in a mode that lets others look in: agents started by root switch to the user pcp
// before they read their help.
func sharedTemp(pattern string) (string, error) {
	dir, err := os.MkdirTemp("", pattern)
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o755)
}
