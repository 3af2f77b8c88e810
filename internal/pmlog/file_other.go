//go:build !unix

package pmlog

import "os"

func takeStderr(f *os.File) error {
	os.Stderr = f
	return nil
}
