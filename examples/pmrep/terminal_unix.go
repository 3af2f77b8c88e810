//go:build unix

package main

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// windowRows is the height of the terminal, 0 if there is none.
func windowRows() int {
	size, err := unix.IoctlGetWinsize(int(os.Stdout.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Row)
}

// resizes are the heights that the terminal gets.
func resizes() <-chan int {
	changed, rows := make(chan os.Signal, 1), make(chan int)
	signal.Notify(changed, unix.SIGWINCH)
	go func() {
		for range changed {
			rows <- terminalRows()
		}
	}()
	return rows
}
