package sample_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/examples/internal/sample"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/remote"
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
	theirIn, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-d", "29", "-l", filepath.Join(dir, "log"))
	cmd.Env = append(pcptest.Env(), "PCP_PMDAS_DIR="+dir)
	cmd.Stdin, cmd.Stdout = theirIn, theirOut
	err = cmd.Start()
	theirIn.Close()
	theirOut.Close()
	if err != nil {
		t.Fatal(err)
	}
	info := pmda.Info{Name: "sample", Domain: sample.Domain}
	a, err := remote.New(t.Context(), info, pipes{out, in}, remote.Config{Timeout: time.Minute, HelloTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		a.Close()
		cmd.Wait() // it ends with its input
	})
	return a
}

// pipes are a collector's ends of the pipes to an agent.
type pipes struct {
	*os.File // from the agent
	to       *os.File
}

func (p pipes) Write(b []byte) (int, error)        { return p.to.Write(b) }
func (p pipes) SetWriteDeadline(t time.Time) error { return p.to.SetWriteDeadline(t) }

func (p pipes) Close() error {
	p.to.Close()
	return p.File.Close()
}
