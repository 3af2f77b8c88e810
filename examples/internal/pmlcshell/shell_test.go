package pmlcshell_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pcp-go/pcp/examples/internal/pmlcshell"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pmapi"
)

// offline is a shell on a computer without loggers and collectors, and its output.
func offline(dir, script string) (*pmlcshell.Shell, *bytes.Buffer) {
	var out bytes.Buffer
	return &pmlcshell.Shell{In: strings.NewReader(script), Out: &out, Err: &out, Host: "local:", MapDir: filepath.Join(dir, "tmp", "pmlogger"),
		SocketDirs: pmlcshell.SocketDirs(filepath.Join(dir, "run"), dir),
		Dial: func(context.Context, string) (*pmapi.Context, error) {
			return nil, errors.New("no collector")
		}}, &out
}

// TestOffline compares with testdata/offline.txt, which C's pmlc prints of testdata/offline.pmlc
// with -e where there are no loggers.
func TestOffline(t *testing.T) {
	script, want := readFile(t, "testdata/offline.pmlc"), readFile(t, "testdata/offline.txt")
	s, out := offline(t.TempDir(), script)
	s.Echo = true
	s.Run(t.Context())
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(out.String(), "\n")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestInteropOffline(t *testing.T) {
	t.Parallel()
	pcptest.Need(t, "pmlc")
	r := newDir(t)
	got, _, _ := pcptest.Run(t, r.env, readFile(t, "testdata/offline.pmlc"), "sh", "-c", `exec "$0" -e 2>&1`, pcptest.Tool(t, "pmlc"))
	if diff := cmp.Diff(strings.Split(readFile(t, "testdata/offline.txt"), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("testdata/offline.txt is not what pmlc prints (-file +pmlc):\n%s", diff)
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestInteractive(t *testing.T) {
	s, out := offline(t.TempDir(), "\nstatus\nlog mandatory on once {\nx }\nhelp\nstatus")
	s.Interactive = true
	s.Banner()
	menu := out.String()
	out.Reset()
	s.Run(t.Context())
	const want = `pmlc> pmlc> Error [<stdin>, line 2]
Not connected to any pmlogger instance
pmlc> Error [<stdin>, line 3]
Not connected to any pmlogger instance
pmlc> Error [<stdin>, line 4]
syntax error
pmlc> `
	const end = "pmlc> Error [<stdin>, line 6]\nsyntax error\n\n"
	_, list, _ := strings.Cut(menu, "\n\n")
	if diff := cmp.Diff(want+list+end, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// FuzzShell reads any commands but those that wait or use the network.
func FuzzShell(f *testing.F) {
	script, err := os.ReadFile("testdata/offline.pmlc")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(script)) {
		f.Add(line)
	}
	f.Add(string(script))
	f.Fuzz(func(t *testing.T, script string) {
		for _, word := range []string{"sleep", "connect", "show"} {
			if strings.Contains(script, word) {
				return
			}
		}
		s, out := offline("/none", script)
		s.Run(t.Context())
		if strings.Contains(out.String(), "%!") {
			t.Errorf("%q", out)
		}
		if n := strings.Count(out.String(), "Error"); n > len(script)+1 {
			t.Errorf("%d errors in %d bytes", n, len(script))
		}
	})
}
