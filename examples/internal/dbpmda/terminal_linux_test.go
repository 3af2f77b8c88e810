package dbpmda

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/internal/pty"
)

// startTerminal starts a program at a terminal.
func startTerminal(t *testing.T, program string) *pty.Session {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/root", []byte("root { a }\na { b 1:2:3 }\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-n", "root")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "TERM=dumb")
	return pty.Start(t, cmd)
}

// TestTerminal types at a terminal, which has a prompt without any option, and edits lines.
func TestTerminal(t *testing.T) {
	m := startTerminal(t, pcptest.Build(t, "./examples/dbpmda"))
	m.Await(prompt)
	m.Type("gettdesc\x7f\x7f\x7f\x7f\x7fdesc on\n") // with the erase character
	m.Await(prompt)
	m.Type("status\n")
	m.Await("Getdesc:                on\r\n")
	m.Await(prompt)
	m.Type("desc a.b\n")
	m.Await("desc a.b\r\nWarning: No PMDA currently opened\r\ndbpmda> ")
	m.Type("\x04") // end of file
	if err := m.Cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	m.Await("\r\n")
}

// TestInteropTerminal types the same at PCP's program, which edits lines itself, and at ours: what
// they show is the same.
func TestInteropTerminal(t *testing.T) {
	pcptest.Need(t, "dbpmda")
	lines := []string{"status", "foo", "", "  foo bar", "desc nosuch", "desc a.b", "desc 1", "fetch a.b @", "open pipe nosuch", "store 1 \"abc", "def\"",
		"getdesc on", "timer on", "status", "help", "fetch a.b, 1.2.4, x", "# nothing", "debug pdu", "status"}
	transcript := func(program string) (shown []string) {
		m := startTerminal(t, program)
		shown = append(shown, m.Await(prompt))
		for _, line := range lines {
			m.Type(line + "\n")
			shown = append(shown, strings.ReplaceAll(m.Await(prompt), "\r", ""))
		}
		m.Type("quit\n")
		if err := m.Cmd.Wait(); err != nil {
			t.Error(err)
		}
		return shown
	}
	if diff := cmp.Diff(transcript(pcptest.Tool(t, "dbpmda")), transcript(pcptest.Build(t, "./examples/dbpmda"))); diff != "" {
		t.Errorf("shown (-C +Go):\n%s", diff)
	}
}
