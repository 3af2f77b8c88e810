package terminal

import (
	"os"

	"golang.org/x/sys/windows"
)

// hideInput makes a console hide typed text until restore is called.
func hideInput(f *os.File) (restore func(), err error) {
	in := windows.Handle(f.Fd())
	var was uint32
	if err := windows.GetConsoleMode(in, &was); err != nil {
		return nil, err
	}
	if err := windows.SetConsoleMode(in, was&^windows.ENABLE_ECHO_INPUT); err != nil {
		return nil, err
	}
	return func() { _ = windows.SetConsoleMode(in, was) }, nil
}
