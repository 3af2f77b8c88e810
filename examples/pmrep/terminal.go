package main

import (
	"os"
	"strconv"

	"github.com/pcp-go/pcp/internal/terminal"
)

// defaultRows is the height without a terminal.
const defaultRows = 24

// terminalRows returns the height of the terminal from the environment, or else from the terminal.
func terminalRows() int {
	if n, err := strconv.Atoi(os.Getenv("LINES")); err == nil && n > 0 {
		return n
	}
	if _, n, err := terminal.Size(os.Stdout); err == nil && n > 0 {
		return n
	}
	return defaultRows
}
