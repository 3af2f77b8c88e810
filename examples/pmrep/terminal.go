package main

import (
	"os"
	"strconv"

	"github.com/pcp-go/pcp/internal/terminal"
)

// defaultRows is the height where there is no terminal.
const defaultRows = 24

// terminalRows is the height of the terminal: what the environment says, or else the terminal.
func terminalRows() int {
	if n, err := strconv.Atoi(os.Getenv("LINES")); err == nil && n > 0 {
		return n
	}
	if _, n, err := terminal.Size(os.Stdout); err == nil && n > 0 {
		return n
	}
	return defaultRows
}
