package pmapi_test

import (
	"log/slog"
	"os"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// TestMain fails the package if a test leaves a goroutine of this module. Contexts that
// lose their connections log nothing.
func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	os.Exit(pcptest.RunTests(m, "pcp-go/pcp/"))
}
