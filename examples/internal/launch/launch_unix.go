//go:build unix

package launch

import (
	"os"

	"golang.org/x/sys/unix"
)

// Run replaces this program by the program at path. args lack its name. It returns only on failure.
func Run(path string, args ...string) (status int, err error) {
	return 1, unix.Exec(path, append([]string{path}, args...), os.Environ())
}
