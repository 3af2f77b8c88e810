package record_test

import (
	"os"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// TestMain runs a logger or a launcher if the environment says so. Otherwise it runs the tests, and
// fails if one leaves a goroutine of this module.
func TestMain(m *testing.M) {
	switch {
	case os.Getenv(asLogger) != "":
		os.Exit(runLogger(os.Args[1:]))
	case os.Getenv(asLauncher) != "":
		os.Exit(runLauncher(os.Args[1:]))
	}
	os.Exit(pcptest.RunTests(m, "pcp-go/pcp/"))
}
