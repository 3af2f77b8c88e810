package dbpmda

import (
	"os"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
)

func TestMain(m *testing.M) {
	pcptest.Crowd()
	os.Exit(m.Run())
}
