package webapi_test

import (
	"log/slog"
	"os"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// TestMain fails the package if a test leaves a goroutine of this module.
func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	os.Exit(pcptest.RunTests(m, "pcp-go/pcp/"))
}
