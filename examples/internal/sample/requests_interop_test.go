package sample_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/examples/internal/sample"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/pmdatest"
)

// TestInteropRequests makes the requests of scripts of PCP's agent and of this one, whose replies
// are the same, random values too. What depends on time is in none of the scripts.
func TestInteropRequests(t *testing.T) {
	pcptest.Need(t, programPath())
	for _, name := range scripts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := readTestdata(t, name)
			want, got := play(t, startAgent(t, programPath()), script), playHere(t, script)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("replies (-C +Go):\n%s", diff)
			}
			if *update {
				if err := os.WriteFile(filepath.Join("testdata", name+".replies"), []byte(want), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// startAgent starts an agent on a pipe, without help texts.
func startAgent(t testing.TB, program string) pmda.Handler {
	t.Helper()
	return startAgentIn(t, program, t.TempDir())
}

// startAgentIn starts an agent that has its files below a directory.
func startAgentIn(t testing.TB, program, dir string) pmda.Handler {
	t.Helper()
	cmd := exec.Command(program, "-d", "29", "-l", filepath.Join(dir, "log"))
	cmd.Env = append(pcptest.Env(), "PCP_PMDAS_DIR="+dir)
	return pmdatest.Start(t, cmd, pmda.Info{Name: "sample", Domain: sample.Domain})
}
