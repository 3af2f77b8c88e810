package main

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/internal/pty"
)

// TestTerminal: on a terminal there is a screen, which follows keys and sizes, and the terminal is given back whatever ends the program.
func TestTerminal(t *testing.T) {
	addrs := startHosts(t, 6)
	program := pcptest.Build(t, "./examples/fleet")
	start := func() *pty.Session {
		cmd := exec.Command(program, append([]string{"-t", "0.2"}, addrs...)...)
		cmd.Env = append(os.Environ(), "PCP_DERIVED_CONFIG=", "TERM=xterm")
		return pty.Start(t, cmd)
	}
	s := start()
	s.Await("\x1b[?1049h")
	s.Await("6 hosts: 6 up")
	s.Await("*load")
	s.Await(addrs[5])
	s.Type("r")
	s.Await("\x1b[4;1H" + addrs[0])
	s.Type("3")
	s.Await("*memory %")
	s.Await("\x1b[4;1H" + addrs[5])
	s.Type("q")
	s.Await("\x1b[?1049l")
	if err := s.Cmd.Wait(); err != nil {
		t.Error(err)
	}
	for _, end := range []func(s *pty.Session){
		func(s *pty.Session) { s.Type("\x03") },
		func(s *pty.Session) { s.Cmd.Process.Signal(syscall.SIGTERM) },
	} {
		s := start()
		s.Await("6 up")
		end(s)
		if rest := s.Await("\x1b[?1049l"); strings.Contains(rest, "panic") {
			t.Error(rest)
		}
		if err := s.Cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
}
