package main

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/internal/pty"
)

// TestInteropTerminal types a login on a terminal for C's pminfo and ours, at C's pmcd and ours,
// which both require a login.
func TestInteropTerminal(t *testing.T) {
	pcptest.Need(t, "pmcd", "pminfo")
	env := saslUsers(t)
	pminfo := []string{pcptest.Tool(t, "pminfo"), pcptest.Build(t, "./examples/pminfo")}
	for password, end := range map[string]string{"secret": "value 1", "wrong": "Authentication - authentication failure"} {
		var first string
		for _, program := range []string{"", pcptest.Build(t, "./examples/pmcd")} {
			host := pcptest.StartPMCD(t, pcptest.Config{Program: program, Shipped: []string{"pmcd"}, Env: env, Args: []string{"-S"}}).Host()
			for _, tool := range pminfo {
				shown := strings.ReplaceAll(typeLogin(t, host, tool, password, end), host, "HOST")
				if first == "" {
					first = shown
				}
				if shown != first {
					t.Errorf("%s at %q shows %q, C's tool at C's pmcd %q", tool, program, shown, first)
				}
			}
		}
	}
}

// typeLogin is what a tool shows, up to end, after the user has typed a name and a password, which
// is not shown.
func typeLogin(t *testing.T, host, tool, password, end string) string {
	t.Helper()
	cmd := exec.Command(tool, "-h", host, "-f", "pmcd.feature.authentication")
	cmd.Env = append(os.Environ(), "PCP_CONSOLE=/dev/tty", "PCP_DERIVED_CONFIG=")
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true, Setctty: true}
	s := pty.Start(t, cmd)
	s.Await("Username: ")
	s.Type("root\n")
	s.Await("Password: ")
	for { // until what is typed is not shown
		if now, err := unix.IoctlGetTermios(int(s.User.Fd()), unix.TCGETS); err != nil || now.Lflag&unix.ECHO == 0 {
			break
		}
		runtime.Gosched()
	}
	s.Type(password + "\n")
	if before := s.Await("\r\n"); before != "" {
		t.Errorf("%s shows %q for the password", tool, before)
	}
	rest := s.Await(end) + end
	cmd.Wait() // its status is compared elsewhere
	return rest
}
