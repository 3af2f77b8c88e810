package pcptest

import (
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"testing"
)

// StartPMProxy runs PCP's pmproxy without a key server, on a free port of the loopback interface,
// until the test ends, and returns its address.
func StartPMProxy(t testing.TB, env ...string) (addr string) {
	t.Helper()
	d := PMProxy(t, env...)
	Start(t, d)
	return d.Addr
}

// PMProxy returns the Daemon that StartPMProxy starts.
func PMProxy(t testing.TB, env ...string) Daemon {
	t.Helper()
	Need(t, "pmproxy")
	dir, port := ShortDir(t), strconv.Itoa(FreePort(t))
	conf := filepath.Join(dir, "pmproxy.conf")
	text := "[pmproxy]\npcp.enabled = true\nhttp.enabled = true\nredis.enabled = false\n[redis]\nenabled = false\n[discover]\nenabled = false\n"
	if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	addr := "127.0.0.1:" + port
	args := []string{"-f", "-t", "-A", "-i", "127.0.0.1", "-p", port, "-s", filepath.Join(dir, "s"), "-c", conf, "-l", filepath.Join(dir, "log"), "-x", filepath.Join(dir, "x")}
	if u, err := user.Current(); err == nil {
		args = append(args, "-U", u.Username)
	}
	return Daemon{Path: Tool(t, "pmproxy"), Args: args, Dir: dir, Addr: addr,
		// Where no host is named, it is not the pmcd that may run on this machine.
		Env: append([]string{"PMCD_PORT=1", "PCP_RUN_DIR=" + dir, "PCP_LOG_DIR=" + dir, "PCP_TMP_DIR=" + dir}, env...)}
}
