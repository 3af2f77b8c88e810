package terminal

import (
	"os"

	"golang.org/x/sys/windows"
)

const (
	canStop  = false
	readEnds = false // a read ends only with a key
)

// A mode is the state of the console before and after makeRaw.
type mode struct {
	in, out             windows.Handle
	inWas, outWas       uint32
	inRaw, outSequences uint32
}

func isTerminal(f *os.File) bool {
	var m uint32
	return windows.GetConsoleMode(windows.Handle(f.Fd()), &m) == nil
}

// makeRaw makes the console send every key at once, as a terminal does, and understand control
// sequences.
func makeRaw(in, out *os.File) (*mode, error) {
	m := &mode{in: windows.Handle(in.Fd()), out: windows.Handle(out.Fd())}
	if err := windows.GetConsoleMode(m.in, &m.inWas); err != nil {
		return nil, err
	}
	if err := windows.GetConsoleMode(m.out, &m.outWas); err != nil {
		return nil, err
	}
	m.inRaw = m.inWas&^(windows.ENABLE_ECHO_INPUT|windows.ENABLE_LINE_INPUT|windows.ENABLE_PROCESSED_INPUT) | windows.ENABLE_VIRTUAL_TERMINAL_INPUT
	m.outSequences = m.outWas | windows.ENABLE_PROCESSED_OUTPUT | windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING
	if err := m.again(); err != nil {
		_ = m.restore()
		return nil, err
	}
	return m, nil
}

func (m *mode) again() error   { return m.set(m.inRaw, m.outSequences) }
func (m *mode) restore() error { return m.set(m.inWas, m.outWas) }

func (m *mode) set(in, out uint32) error {
	err := windows.SetConsoleMode(m.in, in)
	if e := windows.SetConsoleMode(m.out, out); e != nil {
		err = e
	}
	return err
}

func size(out *os.File) (width, height int, err error) {
	var info windows.ConsoleScreenBufferInfo
	if err := windows.GetConsoleScreenBufferInfo(windows.Handle(out.Fd()), &info); err != nil {
		return 0, 0, err
	}
	return int(info.Window.Right-info.Window.Left) + 1, int(info.Window.Bottom-info.Window.Top) + 1, nil
}

func readSome(in *os.File, buf []byte) (int, error) { return in.Read(buf) }

// There is no signal when the size changes: Draw finds out.
func notifyResize(chan os.Signal) {}
func stopResize(chan os.Signal)   {}

func stop() error { return nil }
