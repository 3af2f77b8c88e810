package push_test

import (
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

	"github.com/pcp-go/pcp/archive/push"
	"github.com/pcp-go/pcp/internal/pcptest"
)

// TestUsersFile: changes of the file take effect without a restart. An invalid file, or one that
// may be half written, changes nothing.
func TestUsersFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users")
	written := time.Now().Add(-time.Hour)
	write := func(text string, mode os.FileMode, age time.Duration) {
		t.Helper()
		written = written.Add(time.Second)
		when := written
		if age < push.SettleTime {
			when = time.Now().Add(-age)
		}
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chmod(path, mode), os.Chtimes(path, when, when)); err != nil {
			t.Fatal(err)
		}
	}
	write("amy secret\n", 0o600, time.Hour)
	log := new(pcptest.LogBuffer)
	r, err := push.ReceiverOptions{Dir: t.TempDir(), UsersFile: path, Log: slog.New(slog.NewTextHandler(log, nil))}.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	mayPush := func(name string) bool {
		q := httptest.NewRequest("GET", "/logger/ping", nil)
		q.SetBasicAuth(name, "secret")
		w := httptest.NewRecorder()
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
		if n := strings.Count(log.String(), "the users who may push"); n != lines {
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
