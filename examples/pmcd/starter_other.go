//go:build unix && !linux

package main

import (
	"os/exec"

	"github.com/pcp-go/pcp/pmda/collector"
)

// There is a pmdaroot on Linux alone.
func startByRoot(*collector.Server, *exec.Cmd) (child, error) { return nil, errNoRoot }
