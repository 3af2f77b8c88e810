package main

import (
	"os"
	"testing"

	"github.com/pcp-go/pcp/examples/internal/mistakes"
)

// Users see their mistake, its place, and a remedy.
func TestMistakes(t *testing.T) {
	mistakes.Test(t, "csv2pcp", func(args []string) int { return run(args, os.Stdin, os.Stderr, true) })
}
