package collector

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
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
	status := m.Run()
	if left := leftGoroutines(); left != "" && status == 0 {
		fmt.Fprintf(os.Stderr, "goroutines left behind:\n%s\n", left)
		status = 1
	}
	for end := time.Now().Add(leftLimit); leftChildren() != "" && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
	}
	if left := leftChildren(); left != "" && status == 0 {
		fmt.Fprintf(os.Stderr, "processes left behind: %s\n", left)
		status = 1
	}
	os.Exit(status)
}

// leftLimit is how long what a test leaves may take to end.
const leftLimit = 30 * time.Second

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

// leftGoroutines gives the stacks of those that run code of this module, but for
// the caller, when they had time to end.
func leftGoroutines() string {
	var left []byte
	for end := time.Now().Add(leftLimit); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		buf := make([]byte, 1<<20)
		buf = buf[:runtime.Stack(buf, true)]
		left = nil
		for i, g := range bytes.Split(buf, []byte("\n\n")) {
			if i > 0 && bytes.Contains(g, []byte("pcp-go/pcp/pmda")) {
				left = append(append(left, g...), "\n\n"...)
			}
		}
		if left == nil {
			break
		}
	}
	return string(left)
}
