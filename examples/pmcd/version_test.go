package main

import (
	"strings"
	"testing"

	"github.com/pcp-go/pcp/internal/build"
)

// The option --version is not the usage message.
func TestVersionOption(t *testing.T) {
	var out strings.Builder
	if status := run([]string{"--version"}, &out); status != 0 || out.String() != build.Text("pmcd") {
		t.Errorf("exit status %d, %s", status, out.String())
	}
}
