package pcptest

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// LeftLimit is how long what tests leave may take to end.
const LeftLimit = 30 * time.Second

// RunTests runs the tests of a package for its TestMain and returns the exit status. It fails the
// package if its tests leave a goroutine that runs code of a package whose path begins with prefix.
func RunTests(m *testing.M, prefix string) (status int) {
	status = m.Run()
	if left := leftGoroutines(prefix, LeftLimit); left != "" && status == 0 {
		fmt.Fprintf(os.Stderr, "goroutines left behind:\n%s\n", left)
		status = 1
	}
	return status
}

// leftGoroutines returns the stacks of goroutines other than the caller that still run code of
// packages with the prefix after limit.
func leftGoroutines(prefix string, limit time.Duration) string {
	for end := time.Now().Add(limit); ; time.Sleep(20 * time.Millisecond) {
		buf := make([]byte, 1<<20)
		buf = buf[:runtime.Stack(buf, true)]
		var left strings.Builder
		for i, g := range bytes.Split(buf, []byte("\n\n")) {
			if i > 0 && bytes.Contains(g, []byte(prefix)) {
				fmt.Fprintf(&left, "%s\n\n", g)
			}
		}
		if left.Len() == 0 || time.Now().After(end) {
			return left.String()
		}
	}
}
