package collector

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// TestMain fails the package if a test leaves a goroutine of the collector, or a
// process that was not waited for. When a Server under test starts the test program,
// it is an agent.
func TestMain(m *testing.M) {
	if behavior := os.Getenv(programEnv); behavior != "" {
		os.Exit(runAgentProgram(behavior))
	}
	// Agents made of this program shall not take the second that the race detector
	// waits before a process exits.
	os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	pcptest.Crowd()
	status := pcptest.RunTests(m, "pcp-go/pcp/pmda")
	for end := time.Now().Add(pcptest.LeftLimit); leftChildren() != "" && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
	}
	if left := leftChildren(); left != "" && status == 0 {
		fmt.Fprintf(os.Stderr, "processes left behind: %s\n", left)
		status = 1
	}
	os.Exit(status)
}

// leftChildren are the children of this process, where the system lists them.
func leftChildren() string {
	var left []string
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	for _, list := range lists {
		b, _ := os.ReadFile(list)
		left = append(left, strings.Fields(string(b))...)
	}
	return strings.Join(left, " ")
}
