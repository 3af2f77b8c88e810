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

// TestTranscript compares the replies to all requests of dbpmda with those of PCP's agent.
func TestTranscript(t *testing.T) {
	pcptest.Need(t, "dbpmda", "gcc", "make")
	want := pcptest.RunScript(t, "trivial", "")
	got := pcptest.RunScript(t, "trivial", pcptest.Build(t, "./examples/trivial"))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("transcript (-C +Go):\n%s", diff)
	}
}

// TestPMCD compares what clients of a C pmcd see of the agent, on every kind of connection, with
// what they see of PCP's own, which has pipes alone.
func TestPMCD(t *testing.T) {
	pcptest.Need(t, "pmcd", "pminfo", "pmprobe", "pmstore", "gcc", "make")
	program := pcptest.Build(t, "./examples/trivial")
	want := session(t, "", "pipe binary PROGRAM")
	for name, line := range map[string]string{
		"pipe": "pipe binary PROGRAM",
		"unix": fmt.Sprintf("socket unix %s PROGRAM -u %[1]s", filepath.Join(pcptest.ShortDir(t), "s")),
		"inet": fmt.Sprintf("socket inet %d PROGRAM -i %[1]d", pcptest.FreePort(t)),
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(want, session(t, program, line)); diff != "" {
				t.Errorf("what the tools print (-C +Go):\n%s", diff)
			}
		})
	}
}

// session is what some commands print about the agent under a pmcd. line is the rest of its line in
// pmcd.conf. An empty program means the C agent.
func session(t *testing.T, program, line string) string {
	t.Helper()
	dir, env := pcptest.AgentDir(t, "trivial", program)
	line = strings.Replace(line, "PROGRAM", filepath.Join(dir, "pmdatrivial"), 1)
	line = "trivial 250 " + line + " -d 250 -l " + filepath.Join(t.TempDir(), "log")
	pmcd := pcptest.StartPMCD(t, pcptest.Config{Agents: []string{line}, PMNS: pcptest.Names(t, "trivial"), Env: env})
	var b strings.Builder
	for _, args := range []string{"pminfo -dmtTl trivial", "pmprobe trivial", "pmstore trivial.time 3"} {
		argv := strings.Fields(args)
		out, errs, _ := pcptest.Run(t, nil, "", append([]string{argv[0], "-h", pmcd.Host()}, argv[1:]...)...)
		b.WriteString(out + errs)
	}
	before := time.Now().Unix() - 1 // the clock of time(2) is a tick behind
	out, _, _ := pcptest.Run(t, nil, "", "pmprobe", "-h", pmcd.Host(), "-v", "trivial.time")
	var now int64
	if _, err := fmt.Sscanf(out, "trivial.time 1 %d", &now); err != nil || now < before || now > time.Now().Unix() {
		t.Errorf("pmprobe printed %q at %d", out, before)
	}
	return strings.ReplaceAll(b.String(), pmcd.Host(), "HOST")
}
