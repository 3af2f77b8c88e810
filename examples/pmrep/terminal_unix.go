//go:build unix

package main

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// resizes returns a channel of the new heights of the terminal.
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
