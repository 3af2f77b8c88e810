package main

import (
	"flag"
	"testing"

	"github.com/pcp-go/pcp/examples/internal/toolcmp"
)

var seeds = flag.Int("seeds", 4, "how many archives are compared whose metrics change")

// TestInteropChanging compares what PCP's tool and ours find in archives whose metrics change.
func TestInteropChanging(t *testing.T) {
	toolcmp.Changing(t, "pmlogcheck", *seeds, []string{"-zv", "-zw -S 10sec"}, nil)
}
