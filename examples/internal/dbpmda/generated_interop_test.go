package dbpmda

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/examples/internal/dso"
	"github.com/pcp-go/pcp/internal/pcpconf"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

// Which sessions are generated. Two hundred of each agent take some minutes.
var (
	sessionCount = flag.Int("sessions", 3, "generate `n` sessions for each agent")
	firstSeed    = flag.Uint64("seed", 1, "begin with the session of this seed")
	sessionLines = flag.Int("lines", 150, "let a session have `n` commands")
	keepSessions = flag.String("keep", "", "keep sessions that differ, and their transcripts, in a `directory`")
)

// A subject is an agent that two programs are: PCP's and ours.
type subject struct {
	vocabulary
	masks []string
	// dir makes a directory with the agent, empty for PCP's, and the name space root.
	dir func(t *testing.T, program string) (dir string, env []string)
	// open is what starts the agent there.
	open string
}

var simpleSubject = subject{
	vocabulary: vocabulary{
		agent: "simple", inDoms: []pdu.InDom{pdu.MakeInDom(253, 0), pdu.MakeInDom(253, 1)},
		insts:  strings.Fields("red green blue 0 1 2 sec min hour 3 day re"),
		values: strings.Fields("0 1 7 255 256 300 -1 -5 x 1.5 99999999999 4294967295 +3 0x10"),
	},
	masks: append([]string{"253.2.4", "253.1.2", "253.1.3", "0.2.4", "0.1.2", "0.1.3"}, pcptest.Masks...),
	dir: func(t *testing.T, program string) (string, []string) {
		t.Helper()
		return pcptest.AgentDir(t, "simple", program)
	},
	open: "./pmdasimple -d 253 -l agent.log",
}

// TestInteropGeneratedSimple has generated sessions with PCP's agent simple and with ours.
func TestInteropGeneratedSimple(t *testing.T) {
	t.Parallel()
	pcptest.Need(t, "dbpmda", "gcc", "make")
	compareGenerated(t, simpleSubject, pcptest.Build(t, "./examples/simple"))
}

// sampleItems are the metrics of the agent sample that change with time, or from run to run; and
// the counts of PDUs, as PCP's agent counts the reply to a request for labels only after it has
// been sent a profile, and methods instead of PDUs in a shared object.
var sampleItems = []int{1, 2, 3, 7, 8, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 62, 63, 72, 81, 82, 83, 84, 85, 91, 111, 112, 158}

// mirages are the metrics of the agent sample whose instances come and go with time, and their
// instance domain. They also set how many steps the metric colour takes.
const mirages = `mirage|\b(29\.|30\.|0\.)?0\.3[78]\b|\b(12163485[34]|12582915[78])\b|\b(29|30)\.3\b|\b(121634819|125829123)\b`

var sampleSubject = subject{
	vocabulary: vocabulary{
		agent: "sample", inDoms: inDoms(29, 12),
		inner: strings.Fields("sample.secret.bar sample.secret.foo sample.secret.foo.one sample.secret.foo.bar.grunt sample.ghosts.visible sample.ghosts.karma"),
		insts: append(strings.Fields("red green blue 0 1 2 100 500 900 bin-100 colleen d1 499 77 fungus bogus Obambo fat i-0 nobody"), "fat bald bastard", "fat bald"),
		values: append(strings.Fields(`0 1 7 42 -1 -5 x 1.5 1e3 1e99 -0 nan inf 0x10 99999999999 4294967295 4294967296 -2147483649
			18446744073709551615 18446744073709551616 9223372036854775808 +3 abc`), " 7", "7 ", " ", "hello there"),
		// These stores end the agent, make it unready, crash it with an invalid type, or give an
		// instance domain arbitrary instances.
		mute: regexp.MustCompile(mirages + `|^\s*store\s+(sample\.(control|not_ready|dynamic\.meta\.pmdesc\.(type|indom))|(29\.|0\.)?0\.(0|56|87|88)|0|56|87|88|121634816|121634872|12163490[34])\s`),
	},
	masks: items(29, sampleItems...),
	dir:   sampleDir,
	open:  "./pmdasample -d 29 -l agent.log",
}

// items returns the metrics of cluster 0 of a domain and of domain 0. PCP's agents answer for both.
func items(domain int, items ...int) (list []string) {
	for _, i := range items {
		list = append(list, fmt.Sprintf("%d.0.%d", domain, i), fmt.Sprintf("0.0.%d", i))
	}
	return list
}

func inDoms(domain pdu.Domain, last int) (list []pdu.InDom) {
	for serial := 1; serial <= last; serial++ {
		list = append(list, pdu.MakeInDom(domain, serial))
	}
	return list
}

// TestInteropGeneratedSample has generated sessions with PCP's agent sample and with ours, where
// that is built.
func TestInteropGeneratedSample(t *testing.T) {
	t.Parallel()
	pcptest.Need(t, "dbpmda", filepath.Join(pcptest.Conf("PCP_PMDAS_DIR"), "sample", "pmdasample"))
	compareGenerated(t, sampleSubject, goSample(t))
}

// TestInteropGeneratedDSO has generated sessions with agents within the process: PCP's program
// loads shared objects, ours has agents of the same initialisation routines.
func TestInteropGeneratedDSO(t *testing.T) {
	t.Parallel()
	pcptest.Need(t, "dbpmda", "gcc", "make")
	dir, _ := pcptest.BuildAgent(t, "simple")
	if out, errs, status := pcptest.RunIn(t, dir, nil, "", "make", "pmda_simple.so"); status != 0 {
		t.Fatalf("make: exit status %d\n%s%s", status, out, errs)
	}
	s := simpleSubject
	s.dir = func(t *testing.T, _ string) (string, []string) {
		t.Helper()
		return pcptest.AgentDir(t, "simple", "")
	}
	s.open = filepath.Join(dir, "pmda_simple.so") + " simple_init 253"
	// PCP's program dies some time after a store that fails, or that of a value that does not stand
	// in the set itself. What an agent of ours logs of an attribute that is no number comes at any
	// time.
	s.mute = regexp.MustCompile(mirages + `|^\s*(store|attr)\s+\S`)
	compareEmbedded(t, s)
	if dso.Agents(new(pcpconf.Conf))["sample_init"] == nil {
		return
	}
	names := strings.NewReplacer("29:", "30:", "sample", "sampledso").Replace(pcptest.Names(t, "sample"))
	s.insts, s.masks = sampleSubject.insts, items(30, sampleItems...)
	s.agent, s.inDoms, s.inner = "sampledso", inDoms(30, 12), nil
	for _, name := range sampleSubject.inner {
		s.inner = append(s.inner, strings.Replace(name, "sample", "sampledso", 1))
	}
	s.dir = func(t *testing.T, _ string) (string, []string) {
		t.Helper()
		return sampleFiles(t, "", names, "dsohelp", "30")
	}
	s.open = filepath.Join(pcptest.Conf("PCP_PMDAS_DIR"), "sample", "pmda_sample.so") + " sample_init 30"
	compareEmbedded(t, s)
}

// compareEmbedded compares the transcripts of generated sessions with agents within the process.
func compareEmbedded(t *testing.T, s subject) {
	dir, _ := s.dir(t, "")
	s.vocabulary = vocabularyOf(t, s.vocabulary, filepath.Join(dir, "root"))
	for seed := *firstSeed; seed < *firstSeed+uint64(*sessionCount); seed++ {
		t.Run(fmt.Sprintf("%s seed %d", s.agent, seed), func(t *testing.T) {
			g := newGenerator(seed, s.vocabulary)
			g.own = true
			// PCP's agent simple, as a shared object, looks for its configuration when asked for
			// instances or values, not for labels.
			text := fmt.Sprintf("instance %v\n", s.inDoms[1]) + g.session(*sessionLines)
			program := pcptest.Build(t, "./examples/dbpmda")
			s.differ(t, seed, text, "dso (-C +Go dbpmda)", agentDiffers(s.run(t, "", "", "dso", text)), agentDiffers(s.run(t, program, "", "dso", text)))
		})
	}
}

// compareGenerated compares the transcripts of generated sessions: both programs on PCP's agent and
// on ours, and PCP's program on both agents. It skips the agent ours if that is empty.
func compareGenerated(t *testing.T, s subject, ours string) {
	dir, _ := s.dir(t, "")
	s.vocabulary = vocabularyOf(t, s.vocabulary, filepath.Join(dir, "root"))
	for seed := *firstSeed; seed < *firstSeed+uint64(*sessionCount); seed++ {
		connection := []string{"pipe", "unix", "inet"}[seed%3]
		t.Run(fmt.Sprintf("seed %d %s", seed, connection), func(t *testing.T) {
			g := newGenerator(seed, s.vocabulary)
			text := g.session(*sessionLines)
			program := pcptest.Build(t, "./examples/dbpmda")
			run := func(dbpmda, agent string) string { return s.run(t, dbpmda, agent, connection, text) }
			s.differ(t, seed, text, "PCP's agent (-C +Go dbpmda)", run("", ""), run(program, ""))
			if ours == "" {
				return
			}
			s.differ(t, seed, text, "our agent (-C +Go dbpmda)", run("", ours), run(program, ours))
			g.own = true
			text = g.session(*sessionLines)
			s.differ(t, seed, text, "dbpmda (-C +Go agent)", agentDiffers(run("", "")), agentDiffers(run("", ours)))
		})
	}
}

// run returns the transcript of a session with an agent.
func (s subject) run(t *testing.T, dbpmda, agent, connection, text string) string {
	t.Helper()
	dir, env := s.dir(t, agent)
	r := session(t, dir, env, s.open, connection, text)
	r.Program, r.Mask = dbpmda, s.masks
	out := pcptest.DBPMDA(t, r.Session)
	out = r.withoutAddress(out)
	for _, d := range differs {
		out = d.re.ReplaceAllString(out, d.to)
	}
	return out
}

// agentDiffers replaces intended differences between the two agents. PCP's library returns a label
// set without labels where ours returns none, for instances of a selection without instances and of
// no instance domain. Log lines of agents inside the process differ, and so does the number of a
// value block that PCP's agent reuses.
func agentDiffers(out string) string {
	out = logLine.ReplaceAllString(sysinfo.ReplaceAllString(out, "${1}N"), "")
	out = noInstances.ReplaceAllString(out, "${1}No labels\n")
	return noInDom.ReplaceAllString(out, "${1}No labels\n")
}

var (
	logLine     = regexp.MustCompile(`(?m)^(\[[A-Z][a-z]{2} [^]]*\] dbpmda\(\d+\)|\d{4}/\d\d/\d\d \d\d:\d\d:\d\d) .*\n`)
	sysinfo     = regexp.MustCompile(`(\(sample(?:dso)?\.sysinfo\): numval: 1 valfmt: )\d`)
	noInDom     = regexp.MustCompile(`(?m)^(Instances of pmInDom: PM_INDOM_NULL\n).*\n`)
	noInstances = regexp.MustCompile(`(?m)^(Instances of pmInDom: .*\n)(?:Labels:|Info: \S+ label\(\) returns 0|Info: __pmDecodeLabel\(\) returns 0 label sets)\n`)
)

func (s subject) differ(t *testing.T, seed uint64, text, what, want, got string) {
	t.Helper()
	if want == got {
		return
	}
	t.Errorf("%s:\n%.6000s", what, cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")))
	if *keepSessions == "" {
		return
	}
	base := filepath.Join(*keepSessions, fmt.Sprintf("%s-%d-%s", s.agent, seed, strings.Fields(what)[0]))
	for suffix, b := range map[string]string{".dbpmda": text, "-want": want, "-got": got} {
		if err := os.WriteFile(base+suffix, []byte(b), 0o666); err != nil {
			t.Error(err)
		}
	}
}
