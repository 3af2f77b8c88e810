package pcptest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// OTelCollector returns the path of an OpenTelemetry Collector: of otelcol in PATH. With
// PCP_OTELCOL=build in the environment, it builds the one in testdata/otelcol. That needs the
// network and some minutes without a build cache. Otherwise it skips the test, also with
// PCP_INTEROP=require.
func OTelCollector(t testing.TB) string {
	t.Helper()
	if os.Getenv("PCP_OTELCOL") != "build" {
		return Optional(t, "otelcol")
	}
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	program, err := once("otelcol", func(dir string) (string, error) {
		program := filepath.Join(dir, "otelcol")
		cmd := exec.Command("go", "build", "-o", program, ".")
		cmd.Dir = filepath.Join(root, "internal", "pcptest", "testdata", "otelcol")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%w\n%s", err, out)
		}
		return program, nil
	})
	if err != nil {
		t.Skip("no OpenTelemetry Collector could be built: ", err)
	}
	return program
}
