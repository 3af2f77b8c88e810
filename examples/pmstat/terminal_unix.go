//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// headerRows is how many rows there are below a header: as many as fit on the terminal.
func headerRows() int {
	size, err := unix.IoctlGetWinsize(int(os.Stdout.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return defaultRows
	}
	return int(size.Row) - headerLines
}
