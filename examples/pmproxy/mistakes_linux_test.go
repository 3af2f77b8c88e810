package main

import (
	"os"
	"testing"

	"github.com/pcp-go/pcp/examples/internal/mistakes"
)

// Users see what they did wrong, where, and what helps.
func TestMistakes(t *testing.T) {
	mistakes.Test(t, "pmproxy", func(args []string) int { return run(t.Context(), args, os.Stderr) })
}
