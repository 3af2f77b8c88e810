package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// tops are the names below which all metrics are the agent's.
var tops = []string{"proc", "hotproc", "cgroup", "acct"}

// agents are the two agents: PCP's, and ours in its place, with further arguments.
func agents(t *testing.T, args ...string) map[string]pcptest.Config {
	t.Helper()
	line := func(program string) []string {
		return []string{fmt.Sprintf("proc 3 pipe binary %s -d 3 -l %s %s", program, filepath.Join(pcptest.ShortDir(t), "proc.log"), strings.Join(args, " "))}
	}
	names := pcptest.Names(t, "proc")
	return map[string]pcptest.Config{
		"C":  {PMNS: names, Agents: line(filepath.Join(pcptest.Conf("PCP_PMDAS_DIR"), "proc", "pmdaproc"))},
		"Go": {PMNS: names, Agents: line(pcptest.Build(t, "./examples/pmdaproc"))},
	}
}

// outputs are what a tool prints with each of the agents.
func outputs(t *testing.T, agents map[string]pcptest.Config, tools ...[]string) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for name, config := range agents {
		p := pcptest.StartPMCD(t, config)
		for _, argv := range tools {
			out, errs, status := pcptest.Run(t, nil, "", slices.Concat(argv[:1], []string{"-h", p.Host()}, argv[1:])...)
			all[name] = append(all[name], fmt.Sprint(out, errs, status))
		}
	}
	return all
}

// TestMetadata: pminfo shows the same of our agent as of PCP's.
func TestMetadata(t *testing.T) {
	pcptest.Need(t, "pmcd", "pminfo", "pmnsmerge")
	shown := outputs(t, agents(t), append([]string{"pminfo", "-dm"}, tops...))
	sorted := func(name string) []string {
		entries := strings.Split(shown[name][0], "\n\n")
		for i := range entries {
			entries[i] = strings.TrimSpace(entries[i])
		}
		slices.Sort(entries)
		return entries
	}
	want, got := sorted("C"), sorted("Go")
	if diff := cmp.Diff(want, got); diff != "" || len(want) < 300 {
		t.Errorf("%d metrics (-C +Go):\n%s", len(want), diff)
	}
}

// TestOptions: the options and the environment mean what they mean to PCP's agent, to a client of
// whom nothing is known.
func TestOptions(t *testing.T) {
	pcptest.Need(t, "pmcd", "pminfo", "pmnsmerge")
	control := []string{"pminfo", "-f", "proc.control", "hotproc.control", "hotproc.nprocs"}
	for _, args := range [][]string{nil, {"-L"}, {"-r", "/sys/fs/cgroup/none"}, {"--with-threads", "--from-cgroup=/x"}} {
		shown := outputs(t, agents(t, args...), control)
		if diff := cmp.Diff(shown["C"], shown["Go"]); diff != "" || !strings.Contains(shown["Go"][0], "proc.control.all.threads\n    value ") {
			t.Errorf("%q (-C +Go):\n%s", args, diff)
		}
	}
	for _, with := range []map[string]pcptest.Config{agents(t, "-A"), agents(t)} {
		p := with["Go"]
		if !strings.Contains(p.Agents[0], "-A") {
			p.Env = []string{"PROC_ACCESS=1", "PROC_THREADS=1"}
		}
		shown := outputs(t, map[string]pcptest.Config{"Go": p}, []string{"pminfo", "-f", "proc.psinfo.pid", "proc.control.all.threads"})
		if !strings.Contains(shown["Go"][0], "inst [1 or \"000001 ") || strings.Contains(shown["Go"][0], "all.threads\n    value 1\n") != (p.Env != nil) {
			t.Errorf("with access for all: %.300s", shown["Go"])
		}
	}
}

// TestTexts: pminfo has help texts of all metrics.
func TestTexts(t *testing.T) {
	pcptest.Need(t, "pmcd", "pminfo", "pmnsmerge")
	shown := outputs(t, map[string]pcptest.Config{"Go": agents(t)["Go"]}, append([]string{"pminfo", "-tT"}, tops...))
	if strings.Contains(shown["Go"][0], "One-line Help: Error") || strings.Count(shown["Go"][0], "[") < 300 {
		t.Errorf("%.1000s", shown["Go"][0])
	}
}
