package trivial_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// TestTranscript compares everything that dbpmda can ask of the agent with the answers of PCP's own.
func TestTranscript(t *testing.T) {
	pcptest.Need(t, "dbpmda", "gcc", "make")
	want := pcptest.RunScript(t, "trivial", "")
	got := pcptest.RunScript(t, "trivial", pcptest.Build(t, "./examples/trivial"))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("transcript (-C +Go):\n%s", diff)
	}
}

// TestPMCD compares what clients of a C pmcd see of the agent with what they see of PCP's own.
func TestPMCD(t *testing.T) {
	pcptest.Need(t, "pmcd", "pminfo", "pmprobe", "pmstore", "gcc", "make")
	want, got := session(t, ""), session(t, pcptest.Build(t, "./examples/trivial"))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("session (-C +Go):\n%s", diff)
	}
}

func session(t *testing.T, program string) string {
	t.Helper()
	dir, env := pcptest.AgentDir(t, "trivial", program)
	line := "trivial 250 pipe binary " + filepath.Join(dir, "pmdatrivial") + " -d 250 -l " + filepath.Join(t.TempDir(), "log")
	pmcd := pcptest.StartPMCD(t, pcptest.Config{Agents: []string{line}, PMNS: pcptest.Names(t, "trivial"), Env: env})
	var b strings.Builder
	for _, args := range []string{"pminfo -dmtTl trivial", "pmprobe trivial", "pmstore trivial.time 3"} {
		argv := strings.Fields(args)
		out, errs, _ := pcptest.Run(t, nil, "", append([]string{argv[0], "-h", pmcd.Host()}, argv[1:]...)...)
		b.WriteString(out + errs)
	}
	before := time.Now().Unix()
	out, _, _ := pcptest.Run(t, nil, "", "pmprobe", "-h", pmcd.Host(), "-v", "trivial.time")
	var now int64
	if _, err := fmt.Sscanf(out, "trivial.time 1 %d", &now); err != nil || now < before || now > time.Now().Unix() {
		t.Errorf("pmprobe printed %q at %d", out, before)
	}
	return strings.ReplaceAll(b.String(), pmcd.Host(), "HOST")
}
