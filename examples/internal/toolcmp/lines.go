package toolcmp

import (
	"fmt"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// Lines compares the output of the real tool and ours for command lines as in a table. They run in
// the directory of the archives of PCP's test suite: names begin with "archives/" or
// "badarchives/".
func Lines(t *testing.T, tool string, lines ...string) {
	t.Helper()
	pcptest.Need(t, tool, testSuite+"/archives")
	ours := pcptest.Build(t, "./examples/"+tool)
	for _, text := range lines {
		l, err := Line{Text: text}.parseCommand(nil)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if l.Tool() != tool {
			t.Fatalf("%s: not a line of %s", text, tool)
		}
		run := func(program string) string {
			stdout, stderr, status := pcptest.RunIn(t, testSuite, l.Env, "", append([]string{program}, l.Args[1:]...)...)
			return fmt.Sprintf("%sstandard error:\n%sexit status: %d\n", stdout, stderr, status)
		}
		if difference := diff(run(tool), run(ours)); difference != "" {
			t.Errorf("%s:\n%s", text, difference)
		}
	}
}
