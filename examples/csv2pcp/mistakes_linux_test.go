package main

import (
	"os"
	"testing"

	"github.com/pcp-go/pcp/examples/internal/mistakes"
)

// Users see what they did wrong, where, and what helps.
func TestMistakes(t *testing.T) {
	mistakes.Test(t, "csv2pcp", func(args []string) int { return run(args, os.Stdin, os.Stderr, true) })
}
