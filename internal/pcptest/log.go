package pcptest

import (
	"bytes"
	"log/slog"
	"slices"
	"sync"
)

// A LogBuffer collects log output. It is safe for concurrent use. Its zero value is empty.
type LogBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Logger returns a logger that writes to the buffer, from a level on, without times and without the
// attributes of some keys.
func (b *LogBuffer) Logger(level slog.Level, without ...string) *slog.Logger {
	return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || slices.Contains(without, a.Key) {
			return slog.Attr{}
		}
		return a
	}}))
}

// Write adds to the buffer.
func (b *LogBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// String returns the content of the buffer.
func (b *LogBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// Take removes and returns the content of the buffer.
func (b *LogBuffer) Take() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.buf.Reset()
	return b.buf.String()
}
