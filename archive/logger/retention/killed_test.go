package retention_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/archive/logger/retention"
)

var all = flag.Bool("all", false, "kill at every step, and not only at a part of them")

// oneKillOf is the number of steps per kill in the usual test.
const oneKillOf = 7

const (
	childEnv = "RETENTION_TEST_CHILD" // "STEP DIRECTORY" makes TestChild a maintainer
	killed   = 7                      // its exit status at the step
)

// TestChild maintains a directory, and exits before a step.
func TestChild(t *testing.T) {
	var step int
	var dir string
	if _, err := fmt.Sscan(os.Getenv(childEnv), &step, &dir); err != nil {
		t.Skip("runs as a process of TestKilled")
	}
	o := allOptions
	o.Step(func(string) {
		if step--; step == 0 {
			os.Exit(killed)
		}
	})
	if err := retention.Maintain(t.Context(), dir, o); err != nil {
		t.Fatal(err)
	}
}

// maintainUntil maintains a directory in another process, which exits before a step. It reports
// whether there was such a step.
func maintainUntil(t *testing.T, dir string, step int) bool {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestChild$")
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0 "+os.Getenv("GORACE"), fmt.Sprintf("%s=%d %s", childEnv, step, dir))
	out, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == killed {
		return true
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return false
}

// TestKilled kills a maintainer and its successor at each step. No record may be missing, and the
// result must be the same.
func TestKilled(t *testing.T) {
	prepared := func() string {
		dir := t.TempDir()
		for _, base := range recorded[1:] {
			record(t, dir, base)
		}
		return dir
	}
	if strings.ContainsAny(t.TempDir(), " \t\n") {
		t.Skip("a directory with blanks")
	}
	dir := prepared()
	complete := times(t, dir)
	if maintainUntil(t, dir, -1) {
		t.Fatal("not to its end")
	}
	want := list(t, dir)
	steps := 1
	for ; ; steps++ {
		if !*all && steps%oneKillOf != 0 {
			continue
		}
		dir := prepared()
		if !maintainUntil(t, dir, steps) {
			break
		}
		for _, again := range []int{2, -1} {
			if got := times(t, dir); !cmp.Equal(complete, got) {
				t.Errorf("killed at step %d: %d records, want %d; there is %q", steps, len(got), len(complete), list(t, dir))
			}
			maintainUntil(t, dir, again)
		}
		if diff := cmp.Diff(want, list(t, dir)); diff != "" {
			t.Errorf("killed at step %d, and completed (-want +got):\n%s", steps, diff)
		}
		if got := times(t, dir); !cmp.Equal(complete, got) {
			t.Errorf("killed at step %d, and completed: %d records, want %d", steps, len(got), len(complete))
		}
	}
	if steps < 40 {
		t.Errorf("there were only %d steps", steps)
	}
}
