package collector

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pmda/internal/access"
)

// TestMain fails the package if a test leaves a goroutine of the collector, or a process that was
// not waited for. When a Server under test starts the test program, the program is an agent.
func TestMain(m *testing.M) {
	if behavior := os.Getenv(programEnv); behavior != "" {
		os.Exit(runAgentProgram(behavior))
	}
	// Without this, the race detector makes each agent process wait a second before it exits.
	os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	pcptest.Crowd()
	access.Accounts = fstest.MapFS{
		"passwd": {Data: []byte("root:x:0:0::/root:/bin/sh\npcp:x:999:995::/:/bin/false\ndaemon:x:1:1::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n")},
		"group":  {Data: []byte("root:x:0:\ndaemon:x:1:\npcp:x:995:\nnogroup:x:65534:\nwheel:x:10:pcp,daemon\n")},
	}
	status := pcptest.RunTests(m, "pcp-go/pcp/pmda")
	for end := time.Now().Add(pcptest.LeftLimit); leftChildren() != "" && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
	}
	if left := leftChildren(); left != "" && status == 0 {
		fmt.Fprintf(os.Stderr, "processes left behind: %s\n", left)
		status = 1
	}
	os.Exit(status)
}

// leftChildren returns the children of this process, if the system lists them.
func leftChildren() string {
	var left []string
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	for _, list := range lists {
		b, _ := os.ReadFile(list)
		left = append(left, strings.Fields(string(b))...)
	}
	return strings.Join(left, " ")
}
