package main

import (
	"testing"

	"github.com/pcp-go/pcp/internal/pty"
)

// TestOutputTerminal checks that output escapes what a terminal would act on.
func TestOutputTerminal(t *testing.T) {
	_, terminal := pty.Open(t)
	if output(terminal) == terminal {
		t.Error("control characters reach a terminal")
	}
}
