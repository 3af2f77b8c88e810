//go:build !linux

package rawconn

import (
	"io"
	"os"
	"time"
)

func newStream(io.ReadWriter, func(time.Duration)) io.ReadWriter { return nil }

func newWriterAt(f *os.File) io.WriterAt { return f }
