package main

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/mmv"
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

// Changes of the file of --push-users count without a new start. A file that cannot be used, or
// that may be half written, changes nothing.
func TestPushUsersChange(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users")
	written := time.Now().Add(-time.Hour)
	write := func(text string, mode os.FileMode, age time.Duration) {
		t.Helper()
		written = written.Add(time.Second)
		when := written
		if age < settleTime {
			when = time.Now().Add(-age)
		}
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chmod(path, mode), os.Chtimes(path, when, when)); err != nil {
			t.Fatal(err)
		}
	}
	write("amy secret\n", 0o600, time.Hour)
	o := pushOptions{users: usersFile{path: path}}
	o.Dir, o.Log = t.TempDir(), slog.New(slog.DiscardHandler)
	r, err := o.receiver(&mmv.Registry{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	log := new(pcptest.LogBuffer)
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.NewTextHandler(log, nil)))
	mayPush := func(name string) bool {
		q := httptest.NewRequest("GET", "/logger/ping", nil)
		q.SetBasicAuth(name, "secret")
		w := httptest.NewRecorder()
		o.users.follow(r)
		r.ServeHTTP(w, q)
		return w.Code == http.StatusOK
	}
	check := func(what string, amy, bob bool, lines int) {
		t.Helper()
		for range 2 {
			if a, b := mayPush("amy"), mayPush("bob"); a != amy || b != bob {
				t.Errorf("%s: amy %v, bob %v, want %v and %v", what, a, b, amy, bob)
			}
		}
		if n := strings.Count(log.String(), "\n"); n != lines {
			t.Errorf("%s: %d lines in the log, want %d:\n%s", what, n, lines, log)
		}
	}
	check("at the start", true, false, 0)
	write("bob secret\n", 0o600, time.Hour)
	check("changed", false, true, 1)
	write("amy", 0o600, 0)
	check("half written", false, true, 1)
	write("amy\n", 0o600, time.Hour)
	check("no password", false, true, 2)
	if runtime.GOOS != "windows" {
		write("amy secret\n", 0o644, time.Hour)
		check("open to others", false, true, 3)
	}
	log.Take()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	check("removed", false, true, 1)
	write("amy secret\n", 0o600, time.Hour)
	check("back", true, false, 2)
}
