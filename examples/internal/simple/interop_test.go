package simple_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// TestTranscript compares the replies to all requests of dbpmda with those of PCP's agent.
func TestTranscript(t *testing.T) {
	pcptest.Need(t, "dbpmda", "gcc", "make")
	want := pcptest.RunScript(t, "simple", "")
	got := pcptest.RunScript(t, "simple", pcptest.Build(t, "./examples/simple"))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("transcript (-C +Go):\n%s", diff)
	}
}

// TestPMCD compares what clients of a C pmcd see of the agent, on every kind of connection, with what they see of
// PCP's own.
func TestPMCD(t *testing.T) {
	pcptest.Need(t, "pmcd", "pminfo", "pmval", "pmstore", "pmprobe", "gcc", "make")
	program := pcptest.Build(t, "./examples/simple")
	want := session(t, "", "pipe binary PROGRAM")
	if !strings.Contains(want, `inst [2 or "blue"] value 202`) || !strings.Contains(want, "Bad input to pmstore") {
		t.Fatalf("what the tools say of PCP's agent is not as ever:\n%s", want)
	}
	socket := filepath.Join(pcptest.ShortDir(t), "s")
	port := pcptest.FreePort(t)
	for name, line := range map[string]string{
		"pipe": "pipe binary PROGRAM",
		"unix": fmt.Sprintf("socket unix %s PROGRAM -u %[1]s", socket),
		"inet": fmt.Sprintf("socket inet %d PROGRAM -i %[1]d", port),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(want, session(t, program, line)); diff != "" {
				t.Errorf("session (-C +Go):\n%s", diff)
			}
		})
	}
}

// session is what some commands print about the agent under a pmcd. line is the rest of its line in pmcd.conf. An
// empty program means the C agent.
func session(t *testing.T, program, line string) string {
	t.Helper()
	dir, env := pcptest.AgentDir(t, "simple", program)
	log := filepath.Join(t.TempDir(), "log")
	line = strings.Replace(line, "PROGRAM", filepath.Join(dir, "pmdasimple"), 1) + " -d 253 -l " + log
	pmcd := pcptest.StartPMCD(t, pcptest.Config{Agents: []string{"simple 253 " + line}, PMNS: pcptest.Names(t, "simple"), Env: env})
	var b strings.Builder
	for _, command := range []string{
		"pminfo -dmtT simple",
		"pminfo -l simple",
		"pminfo -f simple.numfetch simple.color",
		"pminfo -f simple.numfetch simple.color",
		"pmprobe -I simple",
		"pmstore simple.numfetch 77",
		"pmstore simple.numfetch -5",
		"pmstore -i red simple.color 300",
		"pmstore simple.color 9",
		"pmstore simple.time.user 1",
		"pmstore simple.now 1",
		"pminfo -f simple.numfetch simple.color",
		"pmval -s 3 -t 0.01 -i red,blue simple.color",
		"pmval -s 2 -t 0.01 simple.numfetch",
		"pminfo -dt 253.0.9",
	} {
		argv := strings.Fields(command)
		argv = append([]string{argv[0], "-h", pmcd.Host()}, argv[1:]...)
		out, errs, status := pcptest.Run(t, nil, "", argv...)
		fmt.Fprintf(&b, "$ %s\n%s%s= %d\n", command, out, errs, status)
	}
	return strings.ReplaceAll(b.String(), pmcd.Host(), "HOST")
}
