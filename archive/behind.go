package archive

import (
	"os"
	"sync/atomic"
)

// A behind writes data to a file from a goroutine, in larger pieces than its caller appends. One of
// its two buffers is filled while the other is written.
type behind struct {
	f    *os.File
	buf  []byte
	off  int64 // of buf in the file
	full chan piece
	free chan []byte
	err  atomic.Pointer[error] // the first error
}

// A piece is data for an offset of the file.
type piece struct {
	b   []byte
	off int64
}

// newBehind returns a behind that writes to a file from an offset. Its goroutine ends with close.
func newBehind(f *os.File, off int64, size int) *behind {
	b := &behind{f: f, buf: make([]byte, 0, size), off: off, full: make(chan piece), free: make(chan []byte, 1)}
	b.free <- make([]byte, 0, size)
	go b.write()
	return b
}

func (b *behind) write() {
	for p := range b.full {
		if b.err.Load() == nil {
			if _, err := b.f.WriteAt(p.b, p.off); err != nil {
				err = withoutPath(err)
				b.err.Store(&err)
			}
		}
		b.free <- p.b[:0]
	}
	close(b.free)
}

// append adds bytes. The error may be that of an earlier write.
func (b *behind) append(p []byte) error {
	if len(b.buf)+len(p) > cap(b.buf) {
		b.pass()
	}
	b.buf = append(b.buf, p...)
	return b.failed()
}

// pass gives the buffered bytes to the goroutine, once it has written the bytes before them.
func (b *behind) pass() {
	if len(b.buf) == 0 {
		return
	}
	n := int64(len(b.buf))
	b.full <- piece{b.buf, b.off}
	b.buf, b.off = <-b.free, b.off+n
}

// flush waits until all bytes are written.
func (b *behind) flush() error {
	b.pass()
	b.free <- <-b.free // the goroutine returns the buffer after it has written
	return b.failed()
}

func (b *behind) failed() error {
	if err := b.err.Load(); err != nil {
		return *err
	}
	return nil
}

// close writes all bytes and ends the goroutine.
func (b *behind) close() error {
	b.pass()
	close(b.full)
	for range b.free {
	}
	return b.failed()
}
