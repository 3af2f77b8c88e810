package sample_test

import (
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/examples/internal/sample"
)

var update = flag.Bool("update", false, "record the replies of PCP's agent")

// scripts are files in testdata, each with requests of an agent that has just started. Beside each
// is one with the replies of PCP's agent.
var scripts = []string{"stores", "several", "counters", "instances", "random",
	"events", "names", "ghosts", "processes", "scramble", "labels", "meta", "clients", "dynamicstores"}

// TestRequests compares replies with those that PCP's agent gave.
func TestRequests(t *testing.T) {
	for _, name := range scripts {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(readTestdata(t, name+".replies"), playHere(t, readTestdata(t, name))); diff != "" {
				t.Errorf("replies (-recorded +now):\n%s", diff)
			}
		})
	}
}

func readTestdata(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// playHere plays a script to an agent that has just started.
func playHere(t *testing.T, script string) string {
	t.Helper()
	a := newAgent(t, sample.Options{})
	a.Logger = slog.New(slog.DiscardHandler)
	return play(t, a, script)
}
