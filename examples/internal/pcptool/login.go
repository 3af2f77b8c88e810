package pcptool

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime"

	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pmapi"
)

// askLogin prompts for the login on the console. The console is the terminal of the program, or the
// device that PCP_CONSOLE names. If that is "none" or not a terminal, askLogin does not prompt.
func askLogin(_ context.Context, l *pmapi.Login) error {
	name := "/dev/tty"
	if runtime.GOOS == "windows" {
		name = "CON"
	}
	name = cmp.Or(os.Getenv("PCP_CONSOLE"), name)
	if name == "none" {
		return nil
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil // as if there were none
	}
	defer f.Close()
	if !terminal.Is(f) {
		return nil
	}
	if l.User == "" {
		fmt.Fprint(f, "Username: ")
		if l.User, err = terminal.ReadLine(f, true); err != nil {
			return nil // the user does not say: the collector is told nothing, and refuses
		}
	}
	if l.Password == "" {
		fmt.Fprint(f, "Password: ")
		l.Password, _ = terminal.ReadLine(f, false)
		fmt.Fprintln(f)
	}
	return nil
}
