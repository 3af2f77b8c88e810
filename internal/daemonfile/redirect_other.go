//go:build !unix

package daemonfile

import "os"

// redirect makes f what this program calls a standard stream.
func redirect(stream int, f *os.File) error {
	if stream == 1 {
		os.Stdout = f
	} else {
		os.Stderr = f
	}
	return nil
}
