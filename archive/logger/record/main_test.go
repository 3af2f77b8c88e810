package record_test

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"
)

// TestMain is a logger or a launcher if the environment says so, and else fails the package if a test leaves a goroutine of this
// module.
func TestMain(m *testing.M) {
	switch {
	case os.Getenv(asLogger) != "":
		os.Exit(runLogger(os.Args[1:]))
	case os.Getenv(asLauncher) != "":
		os.Exit(runLauncher(os.Args[1:]))
	}
	status := m.Run()
	if left := leftGoroutines(); left != "" && status == 0 {
		fmt.Fprintf(os.Stderr, "goroutines left behind:\n%s\n", left)
		status = 1
	}
	os.Exit(status)
}

// leftGoroutines gives the stacks of those that run code of this module, but for the caller, when they had time to end.
func leftGoroutines() string {
	var left []byte
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		buf := make([]byte, 1<<20)
		buf = buf[:runtime.Stack(buf, true)]
		left = nil
		for i, g := range bytes.Split(buf, []byte("\n\n")) {
			if i > 0 && bytes.Contains(g, []byte("pcp-go/pcp/")) {
				left = append(append(left, g...), "\n\n"...)
			}
		}
		if left == nil {
			break
		}
	}
	return string(left)
}
