//go:build !linux

package rawconn

import (
	"io"
	"os"
)

func newStream(rw io.ReadWriter) io.ReadWriter { return rw }

func newWriterAt(f *os.File) io.WriterAt { return f }
