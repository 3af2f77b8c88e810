//go:build !unix

package pmlog

import "os"

func redirectStderr(f *os.File) error {
	os.Stderr = f
	return nil
}
