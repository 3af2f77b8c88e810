package pcptest

import (
	"bufio"
	"os"
	"strings"
	"sync"
	"testing"
)

// Conf returns a setting of the installed PCP's pcp.conf (PCP_PMDAS_DIR, PCP_BINADM_DIR, ...), or
// "" if pcp.conf lacks it. It ignores environment variables because it tells where PCP was
// installed.
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

// ShortDir makes a directory that is removed with the test and whose path is short: that of a unix
// socket may have 107 bytes, and t.TempDir holds the test's name.
func ShortDir(t testing.TB) string {
	t.Helper()
	dir, err := sharedTemp("pcp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// sharedTemp is os.MkdirTemp in a mode that lets others look in: agents started by root switch to
// the user pcp before they read their help.
func sharedTemp(pattern string) (string, error) {
	dir, err := os.MkdirTemp("", pattern)
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o755)
}
