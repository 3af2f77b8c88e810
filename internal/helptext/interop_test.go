package helptext_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// agentHelp has texts of all kinds for the agent simple.
const agentHelp = `# texts for tests
@ 253.0 Instance domain "colour"
Three of them.

  "red", "green" and "blue".
@ 253.1
Without a one-line text.
@ simple.numfetch Number of fetches.
@ 253.0.1 By number,   with blanks
# dropped
é, and a tab:	.
@ simple.time.user first
`

// moreHelp has entries that newhelp complains of.
const moreHelp = `@ nosuch.metric x
y
@ simple.time.sys
@ simple.time.sys the second of three counts not
@ simple.now x
`

// TestInteropAgents compares the texts that C's agent and ours have from files that PCP's
// newhelp and ours have made, as dbpmda and the clients of a C pmcd see them.
func TestInteropAgents(t *testing.T) {
	pcptest.Need(t, "dbpmda", "pmcd", "pminfo", "newhelp", "gcc", "make")
	long := strings.Repeat(strings.Repeat("0123456789", 11)+"\n", 11) // which newhelp cuts
	source := agentHelp + long + moreHelp + strings.Repeat("x", 200)
	compilers := map[string]string{"C": pcptest.Tool(t, "newhelp"), "Go": pcptest.Build(t, "./examples/newhelp")}
	programs := map[string]string{"C": "", "Go": pcptest.Build(t, "./examples/simple")}
	want := ""
	for _, compiler := range []string{"C", "Go"} {
		for _, agent := range []string{"C", "Go"} {
			got := agentTexts(t, programs[agent], func(dir string) {
				if _, errs, status := pcptest.RunIn(t, dir, nil, source, compilers[compiler], "-n", "root", "-o", "help"); status != 2 {
					t.Fatalf("newhelp: status %d, %s", status, errs)
				}
			})
			if want == "" {
				want = got
				if !strings.Contains(want, "é, and a tab:\t.") || !strings.Contains(want, "0123456789") {
					t.Fatalf("C's agent has not the texts:\n%s", want)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("agent in %s, newhelp in %s (-both in C +these):\n%s", agent, compiler, diff)
			}
		}
	}
}

// TestInteropSource: where there is no pair our agent reads the source, and says the same.
func TestInteropSource(t *testing.T) {
	pcptest.Need(t, "dbpmda", "pmcd", "pminfo", "newhelp", "gcc", "make")
	source := agentHelp + "text\n@ simple.time.sys sys\n@ simple.now x\ny"
	c := agentTexts(t, "", func(dir string) {
		if _, errs, status := pcptest.RunIn(t, dir, nil, source, pcptest.Tool(t, "newhelp"), "-n", "root", "-o", "help"); status != 1 {
			t.Fatalf("newhelp: status %d, %s", status, errs)
		}
	})
	ours := agentTexts(t, pcptest.Build(t, "./examples/simple"), func(dir string) {
		for name, text := range map[string]string{"help": source, "help.dir": "", "help.pag": ""} {
			name = filepath.Join(dir, name)
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
			if text == "" {
				continue
			}
			if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	})
	if diff := cmp.Diff(c, ours); diff != "" {
		t.Errorf("(-C +ours):\n%s", diff)
	}
}

// agentTexts is what dbpmda and pminfo show of the texts of the agent simple. prepare
// puts them into its directory. An empty program means the C agent.
func agentTexts(t *testing.T, program string, prepare func(dir string)) string {
	t.Helper()
	dir, env := pcptest.AgentDir(t, "simple", program)
	prepare(dir)
	script := "open pipe ./pmdasimple -d 253 -l simple.log\n"
	for _, of := range []string{"simple.numfetch", "simple.color", "simple.time.user", "simple.time.sys", "simple.now", "253.9.9", "indom 253.0", "indom 253.1", "indom 253.7"} {
		script += "text " + of + "\n"
	}
	all := pcptest.DBPMDA(t, pcptest.Session{Dir: dir, Script: script, Env: env})
	line := "simple 253 pipe binary " + filepath.Join(dir, "pmdasimple") + " -d 253 -l " + filepath.Join(t.TempDir(), "log")
	pmcd := pcptest.StartPMCD(t, pcptest.Config{Agents: []string{line}, PMNS: pcptest.Names(t, "simple"), Env: env})
	for _, args := range []string{"-tT simple", "-t simple", "-T simple", "-tT 253.0 253.1"} {
		out, errs, status := pcptest.Run(t, nil, "", append([]string{"pminfo", "-h", pmcd.Host()}, strings.Fields(args)...)...)
		all += fmt.Sprintf("$ pminfo %s\n%s%s= %d\n", args, out, errs, status)
	}
	return all
}
