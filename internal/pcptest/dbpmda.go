package pcptest

import (
	"context"
	"embed"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

//go:embed testdata/*.dbpmda
var scripts embed.FS

// Script returns the dbpmda script for the agent simple or trivial. It starts the agent as
// ./pmdaNAME: run it in an AgentDir.
func Script(t testing.TB, name string) string {
	t.Helper()
	b, err := scripts.ReadFile("testdata/" + name + ".dbpmda")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Session is a run of dbpmda.
type Session struct {
	Program string   // a dbpmda; empty means PCP's
	Dir     string   // working directory
	Names   string   // name space file, from Dir; empty: root
	Script  string   // its commands
	Env     []string // added to Env

	// Mask names metrics whose values differ from run to run. One that is also stored into by its
	// number is here by that, too.
	Mask []string
}

// Masks are the metrics of the agents simple and trivial whose values are times.
var Masks = []string{"simple.now", "simple.time.user", "simple.time.sys", "trivial.time"}

// DBPMDA runs a session and returns what dbpmda printed, both streams as they came, with the
// commands after their prompts. What differs from run to run is replaced: addresses by ADDR,
// process ids by PID, times of the timer command and of events by TIME, and the values of the
// masked metrics by VALUE, in fetches and as what a store replaces.
func DBPMDA(t testing.TB, s Session) string {
	t.Helper()
	if s.Program == "" {
		s.Program = Tool(t, "dbpmda")
	}
	ctx, cancel := context.WithTimeout(t.Context(), runTimeout)
	defer cancel()
	if s.Names == "" {
		s.Names = "root"
	}
	cmd := exec.CommandContext(ctx, s.Program, "-n", s.Names, "-ief")
	cmd.Dir, cmd.Env, cmd.Stdin = s.Dir, append(Env(), s.Env...), strings.NewReader(s.Script)
	cmd.WaitDelay = 30 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s in %s: %v\n%s", s.Program, s.Dir, err, tail(string(out)))
	}
	return s.normalise(string(out))
}

var normalisers = []struct {
	re *regexp.Regexp
	to string
}{
	{regexp.MustCompile(`(Result dump from )0x[0-9a-f]+`), "${1}ADDR"},
	{regexp.MustCompile(`(\(pid: )\d+\)`), "${1}PID)"},
	{regexp.MustCompile(`(?m)^\[\d+\](pmXmitPDU|pmGetPDU)`), "[PID]${1}"},
	{regexp.MustCompile(`( timestamps? )[0-9:.]+\]`), "${1}TIME]"},
	{regexp.MustCompile(`(?m)^(Timer: )[0-9.]+( seconds)`), "${1}TIME${2}"},
}

// The lines that show values: in the dump of a result, a line for the metric and one for each
// value; for a store, the command and one line for each value that it replaces.
var (
	metricLine = regexp.MustCompile(`^  ([0-9.]+) \((.+)\): `)
	valueLine  = regexp.MustCompile(`^( +(?:inst \[.*\] )?value ).*$`)
	storeLine  = regexp.MustCompile(`^(?:dbpmda> store|PMID:) (\S+)`)
	oldLine    = regexp.MustCompile(`^([0-9.]+(?: \[\d+\])?: ).*( -> .*)$`)
)

func (s Session) normalise(out string) string {
	for _, n := range normalisers {
		out = n.re.ReplaceAllString(out, n.to)
	}
	lines := strings.Split(out, "\n")
	masked := false // the lines that follow are of a masked metric
	for i, l := range lines {
		if m := metricLine.FindStringSubmatch(l); m != nil {
			masked = s.masks(m[1], m[2])
		} else if m := storeLine.FindStringSubmatch(l); m != nil {
			masked = masked && l[0] == 'P' || s.masks(m[1], "")
		} else if strings.HasPrefix(l, "dbpmda> ") {
			masked = false
		} else if masked {
			l = valueLine.ReplaceAllString(l, "${1}VALUE")
			lines[i] = oldLine.ReplaceAllString(l, "${1}VALUE${2}")
		}
	}
	return strings.Join(lines, "\n")
}

// masks reports whether the values of a metric are masked, by its number or one of its names.
func (s Session) masks(id, names string) bool {
	return slices.ContainsFunc(s.Mask, func(m string) bool {
		return m == id || slices.Contains(strings.FieldsFunc(names, func(r rune) bool { return r == ' ' || r == ',' }), m)
	})
}

// AgentDir makes a directory for a dbpmda session with the agent name (simple or trivial): program
// under the name pmdaNAME, and the C library's name space (root), help text and configuration. An
// empty program means the C agent, see BuildAgent. The environment that goes with it lets the agent
// find its files.
func AgentDir(t testing.TB, name, program string) (dir string, env []string) {
	t.Helper()
	built, cprogram := BuildAgent(t, name)
	if program == "" {
		program = cprogram
	}
	base := ShortDir(t)
	dir = filepath.Join(base, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"root", "pmns", "domain.h", "help", "help.dir", "help.pag", "simple.conf"} {
		b, err := os.ReadFile(filepath.Join(built, file))
		if os.IsNotExist(err) {
			continue // trivial has no configuration
		} else if err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(dir, file), string(b))
	}
	if err := os.Symlink(program, filepath.Join(dir, "pmda"+name)); err != nil {
		t.Fatal(err)
	}
	return dir, []string{"PCP_PMDAS_DIR=" + base}
}

// RunScript runs the script of the agent simple or trivial against program, or the C agent when
// program is empty, and returns the transcript. Those of two programs that behave alike are equal.
func RunScript(t testing.TB, name, program string) string {
	t.Helper()
	dir, env := AgentDir(t, name, program)
	return DBPMDA(t, Session{Dir: dir, Script: Script(t, name), Env: env, Mask: Masks})
}
