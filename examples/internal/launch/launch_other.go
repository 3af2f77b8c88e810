//go:build !unix

package launch

import (
	"errors"
	"os"
	"os/exec"
)

// Run runs a program with arguments, without its name, and returns its exit status.
func Run(path string, args ...string) (status int, err error) {
	cmd := exec.Command(path, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), nil
	}
	if err != nil {
		return 1, err
	}
	return 0, nil
}
