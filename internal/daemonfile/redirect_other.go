//go:build !unix

package daemonfile

import "os"

// redirect replaces one of the program's standard streams by f.
func redirect(stream int, f *os.File) error {
	if stream == 1 {
		os.Stdout = f
	} else {
		os.Stderr = f
	}
	return nil
}
