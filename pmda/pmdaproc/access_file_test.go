package pmdaproc_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/pmdaproc"
)

// named returns a request of a user with a known name but no known ID.
func named(name string) *pmda.Request {
	r := as(-1, -1)
	r.Client.User = name
	return r
}

// withAccess returns an agent with an access file of a mode, and its log.
func withAccess(t *testing.T, text string, mode os.FileMode) (directAgent, *bytes.Buffer) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "access.conf")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	a := newAgent(t, &pmdaproc.Options{AccessConfig: path})
	var log bytes.Buffer
	a.Logger = slog.New(slog.NewTextHandler(&log, nil))
	return a, &log
}

// TestAllowedUsers checks that only users named in the file see what the agent sees. A part of a
// name does not match.
func TestAllowedUsers(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs the processes of this machine")
	}
	a, log := withAccess(t, "# who may\nallowed: joe, sue\t ann,bob # these\n\nallowed: eve\nmapped: false\n", 0o644)
	me := pdu.InstID(os.Getpid())
	for _, name := range []string{"joe", "sue", "ann", "bob", "eve"} {
		if v, err := a.fetch(named(name), "proc.io.rchar"); !hasKey(v, me) || err != nil {
			t.Errorf("%s: %v, %v", name, v, err)
		}
	}
	for _, name := range []string{"", "j", "oe", "jo", "joe,", "joe, sue", "Joe", "root", "these", "allowed", "#", ","} {
		if v, err := a.fetch(named(name), "proc.io.rchar"); len(v) != 0 || !errors.Is(err, pdu.ErrPermission) {
			t.Errorf("%q: %v, %v", name, v, err)
		}
	}
	if log.Len() > 0 {
		t.Errorf("log: %s", log)
	}
}

// TestMappedUsers checks that users in the file see what local users of the same name see, and
// others nothing.
func TestMappedUsers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only the root user can have the rights of others")
	}
	a, _ := withAccess(t, "allowed: root nobody nosuchuser\nmapped: 1\n", 0o644)
	me := pdu.InstID(os.Getpid())
	if v, err := a.fetch(named("root"), "proc.io.rchar"); !hasKey(v, me) || err != nil {
		t.Errorf("root: %v, %v", v, err)
	}
	if v, err := a.fetch(named("nobody"), "proc.psinfo.pid"); !hasKey(v, me) || err != nil {
		t.Errorf("processes for nobody: %v, %v", v, err)
	}
	if v, _ := a.fetch(named("nobody"), "proc.io.rchar"); hasKey(v, me) {
		t.Errorf("nobody sees %v of a process of root", v[me])
	}
	for _, name := range []string{"nosuchuser", "daemon", "bin"} {
		if v, err := a.fetch(named(name), "proc.psinfo.pid"); len(v) != 0 || !errors.Is(err, pdu.ErrPermission) {
			t.Errorf("%s: %v, %v", name, v, err)
		}
	}
}

// TestBadAccessFile checks that an unusable file allows no users and that the log says why. A
// missing file is not an error.
func TestBadAccessFile(t *testing.T) {
	for _, tt := range []struct {
		text, want string
		mode       os.FileMode
	}{
		{"allowed: joe\nmapped: perhaps\n", `access.conf:2: mapped is \"perhaps\", expected true or false`, 0o644},
		{"allowed: joe\n\nalowed: sue\n", `access.conf:3: expected \"allowed: NAMES\" or \"mapped: true\", found \"alowed: sue\"`, 0o644},
		{"allowed: joe\nsue\n", `access.conf:2: expected `, 0o644},
		{"allowed: joe\n", "access.conf: all users may write to the file", 0o646},
	} {
		a, log := withAccess(t, tt.text, tt.mode)
		for range 2 {
			if v, err := a.fetch(named("joe"), "proc.psinfo.pid"); len(v) != 0 || !errors.Is(err, pdu.ErrPermission) {
				t.Errorf("%q: %v, %v", tt.text, v, err)
			}
		}
		if s := log.String(); strings.Count(s, "\n") != 1 || !strings.Contains(s, "no user is allowed by name") || !strings.Contains(s, tt.want) {
			t.Errorf("%q: log\n%swant one line with %s", tt.text, s, tt.want)
		}
	}
	a := newAgent(t, &pmdaproc.Options{AccessConfig: filepath.Join(t.TempDir(), "none")})
	var log bytes.Buffer
	a.Logger = slog.New(slog.NewTextHandler(&log, nil))
	if v, err := a.fetch(named("joe"), "proc.psinfo.pid"); len(v) != 0 || !errors.Is(err, pdu.ErrPermission) || log.Len() > 0 {
		t.Errorf("without a file: %v, %v, log %s", v, err, &log)
	}
}
