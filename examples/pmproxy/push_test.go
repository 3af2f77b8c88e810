package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestPush checks that only --push receives archives, and that mistakes in its options are
// reported.
func TestPush(t *testing.T) {
	t.Setenv("PCP_TLSCONF_PATH", "")
	if got := serve(t)("http", "/logger/ping"); got == "{\"success\":true}\r\n" {
		t.Error("without --push")
	}
	dir := t.TempDir()
	users := filepath.Join(dir, "users")
	if err := os.WriteFile(users, []byte("web secret web1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	get := serve(t, "--push="+filepath.Join(dir, "archives"), "--push-users="+users, "--push-from=192.0.2.1", "--push-max=100", "--push-utc")
	if got := get("http", "/logger/ping"); got != "{\"success\":true}\r\n" {
		t.Errorf("ping: %q", got)
	}
	if got := get("http", "/series/ping"); !strings.Contains(got, "no store of time series") {
		t.Errorf("the other pages: %q", got)
	}
	open := filepath.Join(dir, "open")
	if err := os.WriteFile(open, []byte("web secret\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o644); err != nil {
		t.Fatal(err)
	}
	chmod := "chmod 600"
	if runtime.GOOS == "windows" {
		chmod = ""
		if err := os.WriteFile(open, []byte("web\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ args, want string }{
		{"--push-from=x", "x"},
		{"--push-max=0", "--push-max requires"},
		{"--push=" + dir + " --push-users=" + open, chmod},
		{"--push=" + dir + " --push-users=nosuch", "nosuch"},
		{"--push=" + users, "users"},
	} {
		var stderr bytes.Buffer
		if status := run(t.Context(), append(strings.Fields(c.args), "-T", "1", "-p", "0"), &stderr); status != 1 || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("%s: exit status %d, %s, want %s", c.args, status, stderr.String(), c.want)
		}
	}
}
