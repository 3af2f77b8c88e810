//go:build unix

package launch

import (
	"os"

	"golang.org/x/sys/unix"
)

// Run runs a program with arguments, without its name, in the place of this one. It returns only if
// it cannot.
func Run(path string, args ...string) (status int, err error) {
	return 1, unix.Exec(path, append([]string{path}, args...), os.Environ())
}
