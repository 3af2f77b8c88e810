package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/internal/pty"
)

const archive = "../internal/pmstat/testdata/archive/host"

// TestScreen shows an archive on a terminal, and presses keys.
func TestScreen(t *testing.T) {
	cmd := exec.Command(pcptest.Build(t, "./examples/pmtop"), "-Z", "UTC", "-t", "1", "-S", "+5", "-a", archive)
	s := pty.Start(t, cmd)
	s.Await("\x1b[?1049h")
	s.Await("05:12:09") // goes on by itself
	s.Await("05:12:10")
	s.Type(" ")
	s.Await("stopped")
	s.Type("\x1b[H") // home, which is where -S has it
	s.Await("05:12:09")
	s.Type("\x1b[C") // right
	s.Await("05:12:10")
	s.Type("\x1b[D") // left
	s.Await("05:12:09")
	s.Type("+")
	s.Await("every 2s")
	s.Type("h")
	s.Await("this help, and back")
	s.Type("h")
	s.Await("CPU")
	s.Type("\x1b[F") // end
	s.Await("05:12:16")
	s.Type("q")
	s.Await("\x1b[?1049l")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// TestInterrupt: Ctrl-C gives the terminal back.
func TestInterrupt(t *testing.T) {
	cmd := exec.Command(pcptest.Build(t, "./examples/pmtop"), "-S", "+5", "-a", archive)
	s := pty.Start(t, cmd)
	s.Await("CPU")
	s.Type("\x03")
	s.Await("\x1b[?1049l")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// TestBatch prints samples of an archive.
func TestBatch(t *testing.T) {
	stdout, stderr, status := pcptest.Run(t, nil, "", pcptest.Build(t, "./examples/pmtop"), "-b", "-Z", "UTC", "-t", "1", "-s", "3", "-a", archive, "mem")
	if status != 0 || stderr != "" || strings.Count(stdout, "every 1s") != 3 || strings.Count(stdout, "mem.util.free ") != 3 {
		t.Errorf("status %d, %s%s", status, stderr, stdout)
	}
	for _, test := range []struct{ option, source, want string }{
		{"-a", "/no/such", "pmtop: Cannot open archive \"/no/such\": No such file or directory\n"},
		{"-h", "localhost:1", "pmtop: Cannot connect to PMCD on host \"localhost:1\": Connection refused\n"},
	} {
		_, stderr, status = pcptest.Run(t, nil, "", pcptest.Build(t, "./examples/pmtop"), test.option, test.source)
		if status != 1 || stderr != test.want {
			t.Errorf("status %d, %q, want %q", status, stderr, test.want)
		}
	}
}
