package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

var all = flag.Bool("all", false, "compare all metrics of PCP's own pmcd.conf and of further agents, all courses of events, and what PCP's script says, and not only some")

// someMetrics is how many metrics are compared without -all.
const someMetrics = 250

// textsOfOurs are the metrics of agents that are shared objects with help texts in their program.
// Our program has different texts.
var textsOfOurs = []string{
	"mmv.control.debug", "mmv.control.files", "mmv.control.reload",
	"pmproxy.control.debug", "pmproxy.control.files", "pmproxy.control.reload",
}

// withoutLabels are names of metrics whose labels are not compared: they are those of processes and
// clients, which come and go.
var withoutLabels = regexp.MustCompile(`^(proc|hotproc|cgroup|pmcd\.client)\.`)

// shippedConf is the pmcd.conf that PCP has installed, without its access section. Its root agent
// has a socket in dir.
func shippedConf(t *testing.T, dir string) string {
	t.Helper()
	b, err := os.ReadFile(pcptest.Conf("PCP_PMCDCONF_PATH"))
	if err != nil {
		t.Fatal(err)
	}
	lines, _, _ := strings.Cut(string(b), "[access]")
	program := filepath.Join(pcptest.Conf("PCP_PMDAS_DIR"), "root", "pmdaroot")
	return strings.Replace(lines, program, program+" -s "+filepath.Join(dir, "root.socket"), 1)
}

// runShippedConf runs C pmcd and ours with that configuration and PCP's whole name space. The
// agents that they start are the same programs, except for the shared objects.
func runShippedConf(t *testing.T) (c, ours string) {
	t.Helper()
	pcptest.Need(t, "pmcd", "pminfo", pcptest.Conf("PCP_PMCDCONF_PATH"), filepath.Join(pcptest.Conf("PCP_VAR_DIR"), "pmns", "root"))
	if os.Geteuid() != 0 {
		t.Skip("the agents of PCP's pmcd.conf need root")
	}
	names := filepath.Join(pcptest.Conf("PCP_VAR_DIR"), "pmns", "root")
	var more string
	var env []string
	if *all {
		more, names, env = furtherAgents(t, names)
	}
	theirs := pcptest.StartPMCD(t, pcptest.Config{Agents: []string{shippedConf(t, pcptest.ShortDir(t)), more}, PMNS: names, Env: env})
	dir := pcptest.ShortDir(t)
	conf := filepath.Join(dir, "pmcd.conf")
	for _, sub := range []string{"run", "log/pmcd", "tmp/mmv"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(conf, []byte(shippedConf(t, dir)+more), 0o644); err != nil {
		t.Fatal(err)
	}
	env = append(env, "PCP_RUN_DIR="+filepath.Join(dir, "run"), "PCP_LOG_DIR="+filepath.Join(dir, "log"),
		"PCP_TMP_DIR="+filepath.Join(dir, "tmp"), "PMCD_ROOT_AGENT=0")
	_, ours, _ = start(t, env, "-f", "-l", "-", "-i", "INADDR_LOOPBACK", "-c", conf, "-n", names)
	return theirs.Host(), ours
}

// furtherAgents are lines of agents that PCP ships and does not configure, programs in C and one in
// Python, a name space that has theirs besides that of names, and what they need of the
// environment.
func furtherAgents(t *testing.T, names string) (conf, merged string, env []string) {
	t.Helper()
	set := pcptest.Agents(t, "sample", "trivial", "txmon")
	dir, pmdas := t.TempDir(), pcptest.Conf("PCP_PMDAS_DIR")
	sources := []string{names, filepath.Join(dir, "set")}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("set", set.PMNS)
	conf = set.Conf
	for domain, name := range map[int]string{121: "cifs", 115: "gfs2", 72: "mounts", 15: "sendmail", 120: "nvidia", 93: "lustrecomm", 150: "smart", 112: "bash"} {
		program := filepath.Join(pmdas, name, "pmda"+name)
		pcptest.Need(t, program)
		write(name, fmt.Sprintf("#include <stdpmid>\nroot { %s }\n#include %q\n", name, filepath.Join(pmdas, name, "pmns")))
		sources = append(sources, filepath.Join(dir, name))
		conf += fmt.Sprintf("%s %d pipe binary %s -d %d -l %s.log\n", name, domain, program, domain, filepath.Join(dir, name))
	}
	script := filepath.Join(pmdas, "simple", "pmdasimple.python")
	pcptest.Need(t, script)
	write("simple", tool(t, "env", "PCP_PYTHON_PMNS=root", "/usr/bin/python3", script))
	sources = append(sources, filepath.Join(dir, "simple"))
	conf += "simple 253 pipe binary /usr/bin/python3 " + script + "\n"
	merged = filepath.Join(dir, "merged")
	tool(t, append(append([]string{"pmnsmerge", "-a"}, sources...), merged)...)
	return conf, merged, set.Env
}

// ofMetrics is what pminfo prints with options, by metric.
func ofMetrics(t *testing.T, host, options string, names []string) map[string]string {
	t.Helper()
	out, errs, status := pcptest.Run(t, nil, "", append([]string{"pminfo", "-h", host, options}, names...)...)
	if errs != "" || status > 1 {
		t.Fatalf("pminfo %s: exit status %d\n%s", options, status, errs)
	}
	known := map[string]bool{}
	for _, n := range names {
		known[n] = true
	}
	all, at := map[string]string{}, ""
	for line := range strings.Lines(out) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if known[name] && line[0] != ' ' && (rest == "" || strings.HasPrefix(rest, "PMID: ")) {
			at = name
		}
		if at != "" {
			all[at] += line
		}
	}
	return all
}

// TestInteropShippedConf runs PCP's own configuration: what there is to know of each metric is the
// same as from C pmcd, and each answers, with values where that one has some.
func TestInteropShippedConf(t *testing.T) {
	c, ours := runShippedConf(t)
	namesAt := func(host string) []string {
		names := strings.Fields(tool(t, "pminfo", "-h", host))
		names = slices.DeleteFunc(names, func(n string) bool { return strings.Contains(n, ".latency.") && strings.HasPrefix(n, "pmcd.") }) // C pmcd has none
		slices.Sort(names)
		return names
	}
	var names []string
	pcptest.Retry(t, func() string { // the kernel may name another interrupt
		names = namesAt(c)
		if len(names) < 2000 {
			return fmt.Sprintf("only %d metrics", len(names))
		}
		return cmp.Diff(names, namesAt(ours))
	})
	names = slices.DeleteFunc(names, func(n string) bool { return n == "sample.bad.unknown" }) // its agent knows no such metric
	if !*all {
		// The collector's metrics come first, because no other test covers them.
		mine := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !strings.HasPrefix(n, "pmcd.") })
		rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		names = slices.Compact(slices.Sorted(slices.Values(slices.Concat(mine, names[:someMetrics]))))
	}
	t.Run("descriptors", func(t *testing.T) { compareMetrics(t, c, ours, "-dm", names, nil) })
	t.Run("texts", func(t *testing.T) {
		compareMetrics(t, c, ours, "-mtT", slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(textsOfOurs, n) }), nil)
		for name, text := range ofMetrics(t, ours, "-mtT", textsOfOurs) {
			if !strings.Contains(text, "Help:\n") {
				t.Errorf("%s has no help text:\n%s", name, text)
			}
		}
	})
	t.Run("labels", func(t *testing.T) {
		compareMetrics(t, c, ours, "-l", slices.DeleteFunc(slices.Clone(names), withoutLabels.MatchString), sortedLines)
	})
	t.Run("values", func(t *testing.T) {
		compareMetrics(t, c, ours, "-f", names, answer)
	})
}

// sortedLines returns the lines in order. The order of instances differs, because C pmcd lists its
// agents in the order of its configuration.
func sortedLines(text string) string {
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// answer returns "values" if text has values, or else text, which says why it has no values.
func answer(text string) string {
	if regexp.MustCompile(`(?m)^    (inst \[.*\] )?value `).MatchString(text) {
		return "values"
	}
	return text
}

// compareMetrics runs pminfo against both collectors, and compares what it prints of each metric,
// or a view of that. What is there may come and go between the two.
func compareMetrics(t *testing.T, c, ours, options string, names []string, view func(string) string) {
	t.Helper()
	left := names
	pcptest.Retry(t, func() string {
		want, got := ofMetrics(t, c, options, left), ofMetrics(t, ours, options, left)
		var differ []string
		for _, n := range left {
			w, g := want[n], got[n]
			if view != nil {
				w, g = view(w), view(g)
			}
			if w != g || w == "" {
				differ = append(differ, n)
			}
		}
		if left = differ; len(left) > 0 {
			n := left[0]
			return fmt.Sprintf("pminfo %s of %q, such as (-C +Go):\n%s", options, left, cmp.Diff(want[n], got[n]))
		}
		return ""
	})
}
