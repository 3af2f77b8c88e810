//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package terminal

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	canStop  = true
	readEnds = true // within keyWait
)

// A mode is the state of a terminal before and after makeRaw.
type mode struct {
	fd       int
	was, raw unix.Termios
}

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), getTermios)
	return err == nil
}

// makeRaw makes the terminal send every key at once.
func makeRaw(in, out *os.File) (*mode, error) {
	if !isTerminal(out) {
		return nil, unix.ENOTTY
	}
	m := &mode{fd: int(in.Fd())}
	was, err := unix.IoctlGetTermios(m.fd, getTermios)
	if err != nil {
		return nil, err
	}
	m.was, m.raw = *was, *was
	m.raw.Iflag &^= unix.BRKINT | unix.ICRNL | unix.INPCK | unix.ISTRIP | unix.IXON
	m.raw.Lflag &^= unix.ECHO | unix.ICANON | unix.IEXTEN | unix.ISIG
	m.raw.Cc[unix.VMIN], m.raw.Cc[unix.VTIME] = 1, 0
	return m, m.again()
}

func (m *mode) again() error   { return unix.IoctlSetTermios(m.fd, setTermios, &m.raw) }
func (m *mode) restore() error { return unix.IoctlSetTermios(m.fd, setTermios, &m.was) }

func size(out *os.File) (width, height int, err error) {
	ws, err := unix.IoctlGetWinsize(int(out.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, 0, err
	}
	return int(ws.Col), int(ws.Row), nil
}

// keyWait is how long readSome waits, so that reading can stop.
const keyWait = 100_000 // microseconds

// readSome reads the available input, which may be empty.
func readSome(in *os.File, buf []byte) (int, error) {
	fd := int(in.Fd())
	var ready unix.FdSet
	ready.Set(fd)
	wait := unix.NsecToTimeval(keyWait * 1000)
	n, err := unix.Select(fd+1, &ready, nil, nil, &wait)
	if err == nil && n > 0 {
		if n, err = unix.Read(fd, buf); err == nil && n == 0 {
			err = io.EOF
		}
	}
	if errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN) {
		return 0, nil
	}
	return max(n, 0), err
}

func notifyResize(c chan os.Signal) { signal.Notify(c, syscall.SIGWINCH) }
func stopResize(c chan os.Signal)   { signal.Stop(c) }

// stop stops the process until SIGCONT.
func stop() error { return unix.Kill(unix.Getpid(), unix.SIGSTOP) }
