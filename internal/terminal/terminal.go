// Package terminal shows full screens of text on a terminal and reads keys from it.
//
//	t, err := terminal.Open(os.Stdin, os.Stdout)
//	if err != nil {
//		return err
//	}
//	defer t.Close() // the terminal is as it was before
//	for {
//		t.Draw(lines)
//		select {
//		case key, ok := <-t.Keys(): // Ctrl-C is one, too
//			…
//		case <-t.Resized():
//		}
//	}
//
// Lines may have control sequences that select colours. All else in them must be printable, and a
// line no longer than the screen is wide.
package terminal

import (
	"bytes"
	"fmt"
	"os"
	"sync"
)

// A Terminal is a terminal that shows full screens. One goroutine may call its methods; any
// goroutine may call Close. After Close nothing is written: Draw and Suspend return os.ErrClosed.
type Terminal struct {
	in, out *os.File
	mode    *mode // to be restored
	keys    chan Key
	resized chan os.Signal

	shown         [][]byte // the lines on the screen
	width, height int      // of the screen when they were drawn
	buf           []byte

	writing   sync.Mutex // also for the mode
	restored  bool       // by Close
	closing   sync.Once
	closed    chan struct{}
	restoring error
	reading   sync.WaitGroup
}

const (
	enter = "\x1b[?1049h\x1b[?25l\x1b[2J" // another screen, without a cursor, empty
	leave = "\x1b[0m\x1b[?25h\x1b[?1049l"
)

// Is reports whether a file is a terminal.
func Is(f *os.File) bool { return isTerminal(f) }

// Size is the number of characters in a line of a terminal and the number of lines, also one that
// is not open; 0 where the terminal does not know.
func Size(f *os.File) (width, height int, err error) { return size(f) }

// Open makes a terminal ready: keys come one by one, without an echo and without signals, and there
// is an empty screen. The error wraps errors.ErrUnsupported where that is not possible.
func Open(in, out *os.File) (*Terminal, error) {
	m, err := makeRaw(in, out)
	if err != nil {
		return nil, fmt.Errorf("terminal: %w", err)
	}
	t := &Terminal{in: in, out: out, mode: m, keys: make(chan Key, 64), resized: make(chan os.Signal, 1), closed: make(chan struct{})}
	notifyResize(t.resized)
	if _, err := out.WriteString(enter); err != nil {
		t.Close()
		return nil, fmt.Errorf("terminal: %w", err)
	}
	t.reading.Go(t.read)
	return t, nil
}

// Close restores the terminal. It may be called more than once.
func (t *Terminal) Close() error {
	t.closing.Do(func() {
		close(t.closed)
		stopResize(t.resized)
		if readEnds {
			t.reading.Wait()
		}
		t.writing.Lock()
		defer t.writing.Unlock()
		t.restored = true
		t.restoring = t.restore()
	})
	return t.restoring
}

// CloseOnPanic closes the terminal if there is a panic, so that the panic's output can be read.
// Defer it in goroutines that do not close the terminal otherwise.
func (t *Terminal) CloseOnPanic() {
	if p := recover(); p != nil {
		t.Close()
		panic(p)
	}
}

func (t *Terminal) restore() error {
	_, err := t.out.WriteString(leave)
	if e := t.mode.restore(); e != nil {
		err = e
	}
	return err
}

// Keys returns the channel of pressed keys. It is closed when the terminal has gone, or by Close.
func (t *Terminal) Keys() <-chan Key { return t.keys }

// Resized has a value when the size may have changed.
func (t *Terminal) Resized() <-chan os.Signal { return t.resized }

// Size is the number of characters in a line and the number of lines; 80 and 24 if that is not
// known.
func (t *Terminal) Size() (width, height int) {
	width, height, err := Size(t.out)
	if err != nil || width <= 0 || height <= 0 {
		return 80, 24
	}
	return width, height
}

// Suspend restores the terminal and stops the process, as Ctrl-Z does. When the process continues,
// it takes the terminal again, and the caller must draw the screen. On systems without job control
// it does nothing.
func (t *Terminal) Suspend() error {
	if !canStop {
		return nil
	}
	t.writing.Lock()
	defer t.writing.Unlock()
	if t.restored {
		return os.ErrClosed
	}
	if err := t.restore(); err != nil {
		return err
	}
	if err := stop(); err != nil {
		return err
	}
	if err := t.mode.again(); err != nil {
		return err
	}
	t.shown = nil
	_, err := t.out.WriteString(enter)
	return err
}

// Redraw makes the next Draw send everything again.
func (t *Terminal) Redraw() { t.shown = nil }

// Draw shows lines from the top of the screen on. It sends only changed lines.
func (t *Terminal) Draw(lines [][]byte) error {
	t.writing.Lock()
	defer t.writing.Unlock()
	if t.restored {
		return os.ErrClosed
	}
	width, height := t.Size()
	b := t.buf[:0]
	if t.shown == nil || width != t.width || height != t.height {
		b = append(b, "\x1b[0m\x1b[2J"...)
		t.shown, t.width, t.height = make([][]byte, height), width, height
	}
	if len(lines) > height {
		lines = lines[:height]
	}
	for i := range t.shown {
		var l []byte
		if i < len(lines) {
			l = lines[i]
		}
		if bytes.Equal(l, t.shown[i]) {
			continue
		}
		b = fmt.Appendf(b, "\x1b[%d;1H", i+1)
		b = append(b, l...)
		b = append(b, "\x1b[0m\x1b[K"...)
		t.shown[i] = append(t.shown[i][:0], l...)
	}
	t.buf = b
	if len(b) == 0 {
		return nil
	}
	_, err := t.out.Write(b)
	return err
}

// read reads keys until Close.
func (t *Terminal) read() {
	defer close(t.keys)
	buf := make([]byte, 128)
	var rest []byte
	for {
		n, err := readSome(t.in, buf)
		if err != nil {
			return
		}
		rest = append(rest, buf[:n]...)
		for len(rest) > 0 {
			if n > 0 && isBegun(rest) { // the rest may come, or else it was the key ESC
				break
			}
			key, size := parseKey(rest)
			rest = rest[size:]
			if key == 0 {
				continue
			}
			select {
			case t.keys <- key:
			case <-t.closed:
				return
			}
		}
		select {
		case <-t.closed:
			return
		default:
		}
	}
}
