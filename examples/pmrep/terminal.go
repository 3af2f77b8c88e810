package main

import (
	"os"
	"strconv"
)

// defaultRows is the height where there is no terminal.
const defaultRows = 24

// terminalRows is the height of the terminal: what the environment says, or else the terminal.
func terminalRows() int {
	if n, err := strconv.Atoi(os.Getenv("LINES")); err == nil && n > 0 {
		return n
	}
	if n := windowRows(); n > 0 {
		return n
	}
	return defaultRows
}
