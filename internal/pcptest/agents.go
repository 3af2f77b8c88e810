package pcptest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// AgentSet is the configuration that a collector needs for some of the agents that the real PCP
// ships.
type AgentSet struct {
	Conf string   // lines of a pmcd.conf, without an access section
	PMNS string   // name space source: one self-contained text, without preprocessor lines
	Env  []string // environment that the agents need: where their help and configuration files are
}

// agent describes a shipped agent. pmns is its name space file, relative to PCP_VAR_DIR. The file
// has a root, or its top name is name.
type agent struct {
	name   string
	domain int
	args   string // after -d and -l
	root   bool   // stays root, unless -U says otherwise
	dso    string // init function; empty: a pipe agent
	build  bool   // shipped as source
	pmns   string
	subs   bool // pmns has no root of its own
}

var agents = []agent{
	{name: "pmcd", domain: 2, dso: "pmcd_init", pmns: "pmns/root_pmcd"},
	{name: "proc", domain: 3, root: true, pmns: "pmns/root_proc"},
	{name: "linux", domain: 60, root: true, pmns: "pmns/root_linux"},
	{name: "mmv", domain: 70, dso: "mmv_init", pmns: "pmns/root_mmv"},
	{name: "sample", domain: 29, pmns: "pmdas/sample/pmns", subs: true},
	{name: "simple", domain: 253, build: true, pmns: "pmdas/simple/pmns", subs: true},
	{name: "trivial", domain: 250, build: true, pmns: "pmdas/trivial/pmns", subs: true},
	{name: "txmon", domain: 248, build: true, pmns: "pmdas/txmon/pmns", subs: true, args: "tx1 tx2"},
	{name: "trace", domain: 10, pmns: "pmdas/trace/pmns", subs: true},
}

func shipped(t testing.TB, name string) agent {
	t.Helper()
	i := slices.IndexFunc(agents, func(a agent) bool { return a.name == name })
	if i < 0 {
		t.Fatalf("pcptest: no shipped agent %q", name)
	}
	return agents[i]
}

// Agents prepares the named agents: pmcd (its own metrics, in-process in the C pmcd), proc, linux,
// mmv (in-process), sample, trace (which listens on its usual port, unless PCP_TRACE_PORT names
// another), simple, trivial, txmon. The last three are built when they are first asked for (see
// BuildAgent).
func Agents(t testing.TB, names ...string) AgentSet {
	t.Helper()
	base, logs := ShortDir(t), t.TempDir()
	installed, err := filepath.Glob(filepath.Join(Conf("PCP_PMDAS_DIR"), "*"))
	if err != nil {
		t.Fatal(err)
	}
	// Agents look for their help under PCP_PMDAS_DIR/NAME; those built here have it elsewhere.
	for _, dir := range installed {
		if !slices.ContainsFunc(names, func(n string) bool { return n == filepath.Base(dir) && shipped(t, n).build }) {
			symlink(t, dir, base)
		}
	}
	var conf strings.Builder
	for _, name := range names {
		a := shipped(t, name)
		dir := filepath.Join(Conf("PCP_PMDAS_DIR"), name)
		if a.build {
			dir, _ = BuildAgent(t, name)
			symlink(t, dir, base)
		}
		if a.dso != "" {
			fmt.Fprintf(&conf, "%s %d dso %s %s\n", name, a.domain, a.dso, filepath.Join(dir, "pmda_"+name+".so"))
			continue
		}
		if u, other := otherThanRoot(); other && a.root {
			a.args += " -U " + u.Username
		}
		fmt.Fprintf(&conf, "%s %d pipe binary %s -d %d -l %s %s\n", name, a.domain,
			filepath.Join(dir, "pmda"+name), a.domain, filepath.Join(logs, name+".log"), a.args)
	}
	return AgentSet{Conf: conf.String(), PMNS: Names(t, names...), Env: append(account(), "PCP_PMDAS_DIR="+base)}
}

func symlink(t testing.TB, target, dir string) {
	t.Helper()
	if err := os.Symlink(target, filepath.Join(dir, filepath.Base(target))); err != nil {
		t.Fatal(err)
	}
}

// Names returns the name space of the named agents (those of Agents) from their installed files.
func Names(t testing.TB, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	args := []string{"-a"}
	for _, name := range names {
		a := shipped(t, name)
		file := filepath.Join(Conf("PCP_VAR_DIR"), filepath.FromSlash(a.pmns))
		if a.subs {
			src := fmt.Sprintf("#include <stdpmid>\nroot { %s }\n#include %q\n", name, file)
			file = filepath.Join(dir, name)
			writeFile(t, file, src)
		}
		args = append(args, file)
	}
	out := filepath.Join(dir, "merged")
	cmd := append([]string{"pmnsmerge"}, append(args, out)...)
	if stdout, stderr, status := Run(t, nil, "", cmd...); status != 0 {
		t.Fatalf("%s: exit status %d\n%s%s", strings.Join(cmd, " "), status, stdout, stderr)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// BuildAgent compiles one of the agents that PCP ships as source (simple, trivial, txmon) in a copy
// of its directory, once per test process. It returns the directory, which also holds the built
// help text, the domain number and the name space files (root, pmns), and the path of the daemon in
// it. The agent finds its help with PCP_PMDAS_DIR set to the parent of dir.
func BuildAgent(t testing.TB, name string) (dir, program string) {
	t.Helper()
	Need(t, "make", "gcc", "newhelp", filepath.Join(Conf("PCP_PMDAS_DIR"), name, "Makefile"),
		"pcp/pmapi.h", "pcp/pmda.h", "-lpcp", "-lpcp_pmda")
	dir, err := once("agent "+name, func(base string) (string, error) {
		dir := filepath.Join(base, name)
		if err := os.CopyFS(dir, os.DirFS(filepath.Join(Conf("PCP_PMDAS_DIR"), name))); err != nil {
			return "", err
		}
		make := exec.Command("make", "pmda"+name)
		// The help sources name instance domains by the symbol that domain.h defines.
		help, err := os.ReadFile(filepath.Join(dir, "help"))
		if err != nil {
			return "", err
		}
		symbol, number := "\n@ "+strings.ToUpper(name)+".", fmt.Sprintf("\n@ %d.", shipped(t, name).domain)
		newhelp := exec.Command(filepath.Join(Conf("PCP_BINADM_DIR"), "newhelp"), "-n", "root", "-o", "help")
		newhelp.Stdin = strings.NewReader(strings.ReplaceAll(string(help), symbol, number))
		for _, cmd := range []*exec.Cmd{make, newhelp} {
			cmd.Dir, cmd.Env = dir, Env()
			if out, err := cmd.CombinedOutput(); err != nil {
				return "", fmt.Errorf("%s in a copy of agent %s: %w\n%s", cmd, name, err, out)
			}
		}
		return dir, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	program = filepath.Join(dir, "pmda"+name)
	if _, err := os.Stat(program); errors.Is(err, os.ErrNotExist) {
		t.Fatalf("pcptest: make in the copy of agent %s built no %s", name, program)
	}
	return dir, program
}

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
