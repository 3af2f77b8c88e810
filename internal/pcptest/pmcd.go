package pcptest

import (
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Config says what a PMCD serves. The zero value is a collector without agents and names.
type Config struct {
	Program string   // runs in place of the real pmcd, whose options and files it takes
	Shipped []string // names of shipped agents (see Agents), with their name space
	Agents  []string // further lines of pmcd.conf
	PMNS    string   // further name space: its source (with a root), or the path of a file
	Access  string   // access section, with or without its "[access]" line; empty: everything is allowed
	Args    []string // further arguments
	Env     []string // further environment, seen by the agents too
}

// PMCD is a running pmcd of the test's own: the real one, or Config.Program.
type PMCD struct {
	*Process
	port   int
	socket string
	log    string
}

// timeoutSeconds is how long pmcd waits for the first PDU of an agent, and for a reply. Its
// defaults are 3 and 5, which an agent may exceed at its start on a busy machine; Args may override
// it.
const timeoutSeconds = "60"

// StartPMCD runs a private pmcd in the foreground, on a free port of the loopback interface and on
// a unix socket. PCP writes all files into directories of this pmcd. StartPMCD returns when the
// agents have started. The end of the test stops pmcd and its agents.
func StartPMCD(t testing.TB, c Config) *PMCD {
	t.Helper()
	Need(t, "pmcd", "pmnsmerge")
	dir := ShortDir(t)
	p := &PMCD{socket: filepath.Join(dir, "s"), log: filepath.Join(dir, "pmcd.log")}
	env := slices.Concat(c.layOut(t, dir), c.Env)
	p.port = FreePort(t)
	args := []string{"-f", "-A", "-q", timeoutSeconds, "-t", timeoutSeconds, "-i", "127.0.0.1", "-p", strconv.Itoa(p.port), "-s", p.socket,
		"-c", filepath.Join(dir, "pmcd.conf"), "-n", filepath.Join(dir, "pmns"), "-l", p.log, "-x", p.log + ".fatal"}
	if u, err := user.Current(); err == nil {
		args = append(args, "-U", u.Username) // no switch: the directories are ours
	}
	program := c.Program
	if program == "" {
		program = Tool(t, "pmcd")
	}
	d := Daemon{Path: program, Args: append(args, c.Args...), Env: env, Dir: dir, Addr: p.Addr(), Greets: true}
	var err error
	if p.Process, err = start(t, d); err != nil {
		t.Fatalf("pcptest: pmcd %s: %v\n%s", strings.Join(d.Args, " "), err, tail(p.Log()))
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log of pmcd on port %d:\n%s", p.port, tail(p.Log()))
		}
	})
	return p
}

// layOut writes pmcd's files into dir and returns its environment.
func (c Config) layOut(t testing.TB, dir string) []string {
	t.Helper()
	for _, sub := range []string{"run", "log/pmcd", "tmp/mmv"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var set AgentSet
	if len(c.Shipped) > 0 {
		set = Agents(t, c.Shipped...)
	}
	conf := set.Conf + strings.Join(c.Agents, "\n") + "\n"
	if c.Access != "" {
		if !strings.Contains(c.Access, "[access]") {
			conf += "[access]\n"
		}
		conf += c.Access + "\n"
	}
	writeFile(t, filepath.Join(dir, "pmcd.conf"), conf)
	writeFile(t, filepath.Join(dir, "pmns"), mergeNames(t, dir, set.PMNS, c.PMNS))
	return append(set.Env, "PCP_RUN_DIR="+filepath.Join(dir, "run"), "PCP_LOG_DIR="+filepath.Join(dir, "log"),
		"PCP_TMP_DIR="+filepath.Join(dir, "tmp"), "PMCD_ROOT_AGENT=0")
}

// mergeNames joins the name space of the shipped agents with the caller's, which may be the path of
// a file.
func mergeNames(t testing.TB, dir, shipped, more string) string {
	t.Helper()
	if more != "" && !strings.ContainsAny(more, "{\n") {
		b, err := os.ReadFile(more)
		if err != nil {
			t.Fatal(err)
		}
		more = string(b)
	}
	switch {
	case more == "" && shipped == "":
		return "root { }\n"
	case more == "":
		return shipped
	case shipped == "":
		return more
	}
	in := []string{filepath.Join(dir, "pmns.shipped"), filepath.Join(dir, "pmns.more")}
	writeFile(t, in[0], shipped)
	writeFile(t, in[1], more)
	out := filepath.Join(dir, "pmns")
	if _, stderr, status := Run(t, nil, "", "pmnsmerge", "-a", in[0], in[1], out); status != 0 {
		t.Fatalf("pmnsmerge: exit status %d\n%s", status, stderr)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Port returns the TCP port.
func (p *PMCD) Port() int { return p.port }

// Addr returns the TCP address, for net.Dial.
func (p *PMCD) Addr() string { return "localhost:" + strconv.Itoa(p.port) }

// Host returns what the PCP tools take after -h to connect over TCP.
func (p *PMCD) Host() string { return p.Addr() }

// Socket returns the path of the unix socket. The tools take "unix://" + Socket() after -h.
func (p *PMCD) Socket() string { return p.socket }

// Log returns pmcd's log so far, and what went past it.
func (p *PMCD) Log() string {
	log, _ := os.ReadFile(p.log)
	fatal, _ := os.ReadFile(p.log + ".fatal")
	log = append(log, fatal...)
	return string(log) + p.Process.Log()
}
