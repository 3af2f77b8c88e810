package dbpmda

import (
	"bytes"
	"io"
)

// A lineWriter buffers standard output like a terminal: only complete lines are shown before
// messages on standard error.
type lineWriter struct {
	w   io.Writer
	buf []byte
	err error
}

func newLineWriter(w io.Writer) *lineWriter { return &lineWriter{w: w} }

// maxBuffered is the maximum number of bytes in the buffer.
const maxBuffered = 32 << 10

func (l *lineWriter) Write(b []byte) (int, error) {
	l.buf = append(l.buf, b...)
	if len(l.buf) > maxBuffered {
		l.Flush()
	}
	return len(b), l.err
}

// Flush writes the whole buffer.
func (l *lineWriter) Flush() error { return l.write(len(l.buf)) }

// FlushLines writes the complete lines.
func (l *lineWriter) FlushLines() error { return l.write(bytes.LastIndexByte(l.buf, '\n') + 1) }

func (l *lineWriter) write(n int) error {
	if l.err == nil && n > 0 {
		_, l.err = l.w.Write(l.buf[:n])
	}
	l.buf = append(l.buf[:0], l.buf[n:]...)
	return l.err
}
