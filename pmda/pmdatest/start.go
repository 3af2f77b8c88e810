package pmdatest

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/remote"
)

// startTimeout limits the wait for a program's first PDU, and for each reply.
const startTimeout = time.Minute

// Start starts the program of an agent, in any language, as a collector does: its standard input
// and output are the connection. It returns the agent's Handler, whose Info is info, for Run or for
// requests of the test. At the end of the test it closes the program's input and waits until the
// program exits. The Handler has no name space: see Names. If the start fails, Start ends the test.
func Start(t testing.TB, cmd *exec.Cmd, info pmda.Info) pmda.Handler {
	t.Helper()
	theirIn, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin, cmd.Stdout = theirIn, theirOut
	err = cmd.Start()
	theirIn.Close()
	theirOut.Close()
	if err != nil {
		t.Fatal(err)
	}
	a, err := remote.New(t.Context(), info, pipes{out, in}, remote.Config{Timeout: startTimeout, HelloTimeout: startTimeout})
	if err != nil {
		_ = cmd.Wait() // New has closed its input
		t.Fatal(err)
	}
	t.Cleanup(func() {
		a.Close()
		_ = cmd.Wait()
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
