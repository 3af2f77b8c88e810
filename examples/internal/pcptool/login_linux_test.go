package pcptool

import (
	"fmt"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pcp-go/pcp/internal/pty"
	"github.com/pcp-go/pcp/pmapi"
)

// TestAskLogin checks that askLogin prompts for what is unknown, and hides the password.
func TestAskLogin(t *testing.T) {
	user, terminal := pty.Open(t)
	var n int
	var err error
	if n, err = unix.IoctlGetInt(int(user.Fd()), unix.TIOCGPTN); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PCP_CONSOLE", fmt.Sprintf("/dev/pts/%d", n))
	before, err := unix.IoctlGetTermios(int(terminal.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	shown := pty.Watch(t, user)
	for _, test := range []struct{ have, want pmapi.Login }{
		{pmapi.Login{}, pmapi.Login{User: "root", Password: "secret"}},
		{pmapi.Login{User: "pcp"}, pmapi.Login{User: "pcp", Password: "secret"}},
		{pmapi.Login{Password: "known"}, pmapi.Login{User: "root", Password: "known"}},
		{pmapi.Login{User: "pcp", Password: "known"}, pmapi.Login{User: "pcp", Password: "known"}},
	} {
		got := test.have
		done := make(chan error, 1)
		go func() { done <- askLogin(t.Context(), &got) }()
		if test.have.User == "" {
			shown.Await("Username: ")
			shown.Type("root\n")
			shown.Await("root\r\n")
		}
		if test.have.Password == "" {
			shown.Await("Password: ")
			for { // until it is not shown
				if now, err := unix.IoctlGetTermios(int(terminal.Fd()), unix.TCGETS); err != nil || now.Lflag&unix.ECHO == 0 {
					break
				}
				runtime.Gosched()
			}
			shown.Type("secret\n")
			if before := shown.Await("\r\n"); before != "" {
				t.Errorf("shown: %q", before)
			}
		}
		if err := <-done; err != nil || got != test.want {
			t.Errorf("%+v: %+v, %v", test.have, got, err)
		}
	}
	after, err := unix.IoctlGetTermios(int(terminal.Fd()), unix.TCGETS)
	if err != nil || *after != *before {
		t.Errorf("the terminal is not as it was: %v", err)
	}
}
