package dbpmda

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// differs replaces deliberate differences between the programs.
var differs = []struct {
	re *regexp.Regexp
	to string
}{
	// PCP's tool does not see the missed records of a high-resolution array that came from a
	// daemon.
	{regexp.MustCompile(` \(7000 missed\)`), ""},
	// A write to an agent that has just ended may or may not fail.
	{regexp.MustCompile(`Error: \w+\(\) failed: (Broken pipe|PDU empty, PMDA may have died)`), "Error: the agent has gone"},
	// A mirage has a random value.
	{regexp.MustCompile(`(?m)^(29\.0\.37(?: \[\d+\])?: )\d+`), "${1}N"},
}

// A run is a session, and the address in it, which differs between runs.
type run struct {
	pcptest.Session
	address string
}

// withoutAddress replaces the address in a transcript. A port such as 10000 may be in a number,
// too.
func (r run) withoutAddress(out string) string {
	if r.address == "" {
		return out
	}
	return regexp.MustCompile(`(?m)( |port )`+regexp.QuoteMeta(r.address)+`$`).ReplaceAllString(out, "${1}ADDRESS")
}

// compare runs a session with both programs.
func compare(t *testing.T, start func(t *testing.T) run) {
	t.Helper()
	transcript := func(program string) string {
		r := start(t)
		r.Program = program
		out := pcptest.DBPMDA(t, r.Session)
		out = r.withoutAddress(out)
		for _, d := range differs {
			out = d.re.ReplaceAllString(out, d.to)
		}
		return out
	}
	want, got := transcript(""), transcript(pcptest.Build(t, "./examples/dbpmda"))
	if n := strings.Count(want, "\n"+prompt); n < 100 {
		t.Errorf("a session of %d commands, want 100 at least", n)
	}
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("transcript (-C +Go):\n%s", diff)
	}
}

const prompt = "dbpmda> "

func script(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".dbpmda"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var full = flag.Bool("full", false, "generate all commands, not every fourth")

// generated is each command with up to two of many words, and then another command.
func generated(then string) string {
	words := strings.Fields(`on off all none add delete context domain indom item cluster instances 1.2 253.0 253.1 253.0.1 253.9.9
		simple.color simple.nosuch simple 1 -1 -5 0x12 "x" 'y' "open @ , = + ? # 12abc 1. 1..2 .1 -pdu - pdu a-b:c/d Desc "" 99999999999`)
	var b strings.Builder
	for n, command := range strings.Fields("help ? attr children desc fetch getdesc getiname instance label name pmid profile" +
		" status store text timer traverse wait + x 12 -3") {
		fmt.Fprintf(&b, "%s\n", command)
		for i, w := range words {
			if !*full && (i+n)%4 != 0 {
				continue
			}
			if command == "wait" && (w == "1" || strings.HasPrefix(w, "0x") || strings.HasPrefix(w, "9") || strings.HasPrefix(w, "12")) {
				continue
			}
			if command == "help" || command == "?" {
				if _, known := helpTexts[w]; known {
					continue // the texts are our own
				}
			}
			fmt.Fprintf(&b, "%s %s\n", command, w)
			if command != "wait" {
				fmt.Fprintf(&b, "%s %s %s\n", command, w, words[(i*7+3)%len(words)])
			}
		}
		b.WriteString(then + "\n")
	}
	return b.String()
}

// TestInteropGrammar has commands without an agent, many of them wrong.
func TestInteropGrammar(t *testing.T) {
	t.Parallel()
	pcptest.Need(t, "dbpmda", "gcc", "make")
	for name, text := range map[string]string{"recorded": script(t, "grammar"), "generated": generated("open")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compare(t, func(t *testing.T) run {
				dir, env := pcptest.AgentDir(t, "simple", "")
				return run{Session: pcptest.Session{Dir: dir, Env: env, Script: text}}
			})
		})
	}
}

// session returns a session with an agent on a kind of connection.
func session(t *testing.T, dir string, env []string, open, connection, text string) run {
	t.Helper()
	r := run{Session: pcptest.Session{Dir: dir, Env: env, Mask: masks}}
	switch args := strings.Fields(open); connection {
	case "pipe", "dso":
		r.Script = "open " + connection + " " + open
	case "unix":
		r.address = filepath.Join(pcptest.ShortDir(t), "agent")
		r.Script = "open socket unix " + r.address
		if err := os.Chmod(filepath.Dir(r.address), 0o777); err != nil { // an agent that root starts becomes another user
			t.Fatal(err)
		}
		pcptest.Start(t, pcptest.Daemon{Path: filepath.Join(dir, args[0]), Args: append(args[1:], "-u", r.address), Env: env, Dir: dir})
		awaitListener(t, "unix", "00010000 0001 01", " "+r.address+"\n")
	case "inet":
		port := pcptest.FreePort(t)
		r.address = strconv.Itoa(port)
		r.Script = "open socket inet " + r.address
		pcptest.Start(t, pcptest.Daemon{Path: filepath.Join(dir, args[0]), Args: append(args[1:], "-i", r.address), Env: env, Dir: dir})
		awaitListener(t, "tcp", fmt.Sprintf(":%04X 00000000:0000 0A", port), "")
	}
	r.Script += "\nstatus\n" + text
	return r
}

// awaitListener waits until a socket listens. To connect to it is no way to find out: agents take
// one connection.
func awaitListener(t *testing.T, table, state, name string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		b, err := os.ReadFile("/proc/net/" + table)
		if err != nil {
			t.Skip(err)
		}
		for line := range strings.Lines(string(b)) {
			if strings.Contains(line, state) && strings.HasSuffix(line, name) {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("nothing listens at%s %s", name, state)
		}
	}
}

// masks are the metrics whose values differ from run to run.
var masks = append([]string{"sample.dodgey.value"}, pcptest.Masks...)

// TestInteropAgents runs both programs on the agents simple and trivial, PCP's and ours.
func TestInteropAgents(t *testing.T) {
	t.Parallel()
	pcptest.Need(t, "dbpmda", "gcc", "make")
	for _, c := range []struct{ agent, program, connection string }{
		{"simple", "", "pipe"}, {"simple", "", "unix"}, {"simple", "", "inet"},
		{"simple", "./examples/simple", "pipe"}, {"simple", "./examples/simple", "unix"}, {"simple", "./examples/simple", "inet"},
		{"trivial", "", "pipe"}, {"trivial", "./examples/trivial", "pipe"},
	} {
		t.Run(strings.Join([]string{c.agent, c.program, c.connection}, " "), func(t *testing.T) {
			t.Parallel()
			text := regexp.MustCompile(`(?m)^(open .*|close|quit|help \w+)$`).ReplaceAllString(pcptest.Script(t, c.agent), "status")
			if c.agent == "simple" {
				text += script(t, "forms")
			}
			text += generated("profile -1 all")
			// PCP's library loops forever when asked for all instances of no instance domain.
			text = regexp.MustCompile(`(?m)^(instance|label instances) -1.*\n`).ReplaceAllString(text, "")
			program := c.program
			if program != "" {
				program = pcptest.Build(t, program)
			}
			compare(t, func(t *testing.T) run {
				dir, env := pcptest.AgentDir(t, c.agent, program)
				return session(t, dir, env, "./pmda"+c.agent+" -l agent.log", c.connection, text)
			})
		})
	}
}

// sampleDir makes a directory with an agent sample, PCP's if program is empty, its help texts and
// the name space root.
func sampleDir(t *testing.T, program string) (dir string, env []string) {
	t.Helper()
	return sampleFiles(t, program, pcptest.Names(t, "sample"), "help", "29")
}

// sampleFiles is sampleDir for an agent with a name space, a help file and a domain.
func sampleFiles(t *testing.T, program, names, helpFile, domain string) (dir string, env []string) {
	t.Helper()
	installed := filepath.Join(pcptest.Conf("PCP_PMDAS_DIR"), "sample")
	if program == "" {
		program = filepath.Join(installed, "pmdasample")
	}
	dir = filepath.Join(pcptest.ShortDir(t), "sample")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(program, filepath.Join(dir, "pmdasample")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "root"), []byte(names), 0o666); err != nil {
		t.Fatal(err)
	}
	help, err := os.ReadFile(filepath.Join(installed, "help"))
	if err != nil {
		t.Fatal(err)
	}
	source := strings.ReplaceAll(string(help), "\n@ SAMPLE.", "\n@ "+domain+".")
	if domain != "29" {
		source = strings.ReplaceAll(source, "\n@ sample.", "\n@ sampledso.")
	}
	newhelp := filepath.Join(pcptest.Conf("PCP_BINADM_DIR"), "newhelp")
	if _, errs, status := pcptest.RunIn(t, dir, nil, source, newhelp, "-n", "root", "-o", helpFile); status != 0 {
		t.Fatalf("newhelp: exit status %d\n%s", status, errs)
	}
	return dir, []string{"PCP_PMDAS_DIR=" + filepath.Dir(dir)}
}

// TestInteropSample runs both programs on PCP's agent sample and on ours, which have values of all
// types, event records, dynamic names and errors.
func TestInteropSample(t *testing.T) {
	t.Parallel()
	pcptest.Need(t, "dbpmda", filepath.Join(pcptest.Conf("PCP_PMDAS_DIR"), "sample", "pmdasample"))
	ours := goSample(t)
	start := func(agent, connection string) func(t *testing.T) run {
		return func(t *testing.T) run {
			dir, env := sampleDir(t, agent)
			return session(t, dir, env, sampleSubject.open, connection, script(t, "sample"))
		}
	}
	for _, connection := range []string{"pipe", "unix", "inet"} {
		t.Run(connection, func(t *testing.T) {
			compare(t, start("", connection))
			if ours != "" {
				compare(t, start(ours, connection))
			}
		})
	}
	if ours == "" {
		return
	}
	t.Run("agents", func(t *testing.T) {
		var out []string
		for _, agent := range []string{"", ours} {
			r := start(agent, "pipe")(t)
			r.Mask = sampleSubject.masks
			out = append(out, agentDiffers(pcptest.DBPMDA(t, r.Session)))
		}
		if diff := cmp.Diff(strings.Split(out[0], "\n"), strings.Split(out[1], "\n")); diff != "" {
			t.Errorf("transcript (-C +Go agent):\n%s", diff)
		}
	})
}

// TestInteropNotReady has an agent that is not ready for a second, and then says that it is: to
// dbpmda that is the reply to the next request, so that each gets that of the one before from then
// on. Both programs show so of PCP's agent sample and of ours.
func TestInteropNotReady(t *testing.T) {
	t.Parallel()
	pcptest.Need(t, "dbpmda", filepath.Join(pcptest.Conf("PCP_PMDAS_DIR"), "sample", "pmdasample"))
	ours, program := goSample(t), pcptest.Build(t, "./examples/dbpmda")
	for _, connection := range []string{"pipe", "unix", "inet"} {
		t.Run(connection, func(t *testing.T) {
			t.Parallel()
			transcript := func(program, agent string) string {
				dir, env := sampleDir(t, agent)
				r := session(t, dir, env, sampleSubject.open, connection, script(t, "notready"))
				r.Program = program
				out := pcptest.DBPMDA(t, r.Session)
				out = r.withoutAddress(out)
				return agentDiffers(out)
			}
			want := transcript("", "")
			for _, says := range []string{"PMDA is not yet ready to respond to requests", "PMDA is now responsive to requests", "wrong PDU"} {
				if !strings.Contains(want, says) {
					t.Errorf("PCP's agent and program do not say %q:\n%s", says, want)
				}
			}
			for name, got := range map[string]string{"Go dbpmda": transcript(program, ""), "Go agent": transcript("", ours), "both Go": transcript(program, ours)} {
				if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
					t.Errorf("%s (-C +Go):\n%s", name, diff)
				}
			}
		})
	}
}

// goSample builds our agent sample, if there is one.
func goSample(t *testing.T) (program string) {
	t.Helper()
	if _, err := os.Stat("../../sample"); err != nil {
		return ""
	}
	return pcptest.Build(t, "./examples/sample")
}
