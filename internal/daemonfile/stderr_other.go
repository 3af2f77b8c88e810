//go:build !unix

package daemonfile

import (
	"io"
	"os"
)

// KeepStderr returns standard error as it is now, before a log replaces it.
func KeepStderr() io.WriteCloser { return noCloser{os.Stderr} }
