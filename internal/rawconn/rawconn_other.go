//go:build !linux

package rawconn

import "io"

func newStream(rw io.ReadWriter) io.ReadWriter { return rw }
