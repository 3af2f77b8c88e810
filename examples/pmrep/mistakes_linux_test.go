package main

import (
	"testing"

	"github.com/pcp-go/pcp/examples/internal/mistakes"
	"github.com/pcp-go/pcp/examples/internal/pcptool/report"
)

// Users see what they did wrong, where, and what helps.
func TestMistakes(t *testing.T) {
	mistakes.Test(t, "pmrep", func(args []string) int {
		c := report.NewCommand("pmrep")
		return c.Report(run(c, args))
	})
}
