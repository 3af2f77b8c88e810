//go:build unix

package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/internal/tracewire"
)

// A side is one of the two agents, PCP's or ours, under a C pmcd.
type side struct {
	name string
	pmcd *pcptest.PMCD
	port int    // for applications
	log  string // of the agent
}

// sides starts both agents with the same options.
func sides(t testing.TB, args ...string) []*side {
	t.Helper()
	pcptest.Need(t, "pmcd", "pminfo", "pmstore", "pmnsmerge", "newhelp", "gcc", "pcp/trace.h", cAgent())
	names, installed := pcptest.Names(t, "trace"), install(t)
	both := []*side{{name: "C"}, {name: "Go"}}
	for _, s := range both {
		program := cAgent()
		if s.name == "Go" {
			program = pcptest.Build(t, "./examples/pmdatrace")
		}
		s.port = pcptest.FreePort(t)
		dir := pcptest.ShortDir(t)
		if err := os.Chmod(dir, 0o777); err != nil { // the agent's user is another
			t.Fatal(err)
		}
		s.log = filepath.Join(dir, "trace.log")
		line := fmt.Sprintf("trace 10 pipe binary %s -d 10 -l %s -I %d %s", program, s.log, s.port, strings.Join(args, " "))
		if s.name == "Go" {
			line += " --address 127.0.0.1" // PCP's listens on all
		}
		s.pmcd = pcptest.StartPMCD(t, pcptest.Config{PMNS: names, Agents: []string{line}, Env: []string{"PCP_PMDAS_DIR=" + installed}})
		t.Cleanup(func() {
			if t.Failed() {
				log, _ := os.ReadFile(s.log)
				t.Logf("log of the %s agent:\n%s", s.name, log)
			}
		})
		s.await(t, func() bool { return s.listens() })
	}
	return both
}

// install makes a directory of agents and installs trace with compiled help texts there.
func install(t testing.TB) string {
	t.Helper()
	help, err := os.ReadFile(filepath.Join(filepath.Dir(cAgent()), "help"))
	if err != nil {
		t.Fatal(err)
	}
	base := pcptest.ShortDir(t)
	file := filepath.Join(base, "trace", "help")
	if err := os.Mkdir(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, help, 0o644); err != nil {
		t.Fatal(err)
	}
	names := filepath.Join(base, "names")
	if err := os.WriteFile(names, []byte(pcptest.Names(t, "trace")), 0o644); err != nil {
		t.Fatal(err)
	}
	compiled := strings.ReplaceAll(string(help), "@ TRACE.", "@ 10.")
	if out, errs, status := pcptest.Run(t, nil, compiled, pcptest.Tool(t, "newhelp"), "-n", names, "-o", file); status != 0 {
		t.Fatalf("newhelp: %s%s", out, errs)
	}
	return base
}

// cAgent is PCP's agent.
func cAgent() string { return filepath.Join(pcptest.Conf("PCP_PMDAS_DIR"), "trace", "pmdatrace") }

func (s *side) addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// listens reports whether the agent has answered a connection.
func (s *side) listens() bool {
	conn, err := net.Dial("tcp", s.addr())
	if err != nil {
		return false
	}
	defer conn.Close()
	_, err = tracewire.NewDecoder(conn).Ack()
	return err == nil
}

// await waits until something is so.
func (s *side) await(t testing.TB, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: it did not happen in 30 seconds", s.name)
		}
	}
}

// env makes the C library find the agent.
func (s *side) env() []string {
	return []string{"PCP_TRACE_HOST=127.0.0.1", fmt.Sprintf("PCP_TRACE_PORT=%d", s.port)}
}

// driver is the program of testdata/driver.c.
func driver(t testing.TB) string { return compile(t, filepath.Join("testdata", "driver.c")) }

// compile compiles a program that uses the trace library.
func compile(t testing.TB, source string) string {
	t.Helper()
	return pcptest.BuildC(t, source, "-w", "-lpcp", "-lpcp_trace", "-lm")
}

// each does something with both agents and compares the results.
func each(t *testing.T, both []*side, do func(s *side) string) {
	t.Helper()
	c, ours := do(both[0]), do(both[1])
	if diff := cmp.Diff(strings.Split(c, "\n"), strings.Split(ours, "\n")); diff != "" {
		t.Errorf("(-C +Go):\n%s", diff)
	}
}

// run runs a program with the agent of a side.
func (s *side) run(t testing.TB, stdin string, argv ...string) string {
	out, errs, status := pcptest.Run(t, s.env(), stdin, argv...)
	return fmt.Sprintf("%s\nexit status %d\n%s%s", strings.Join(argv, " "), status, out, errs)
}

// info is what pminfo shows of the agent.
func (s *side) info(t testing.TB, args ...string) string {
	argv := append([]string{"pminfo", "-h", s.pmcd.Host()}, args...)
	out, errs, status := pcptest.Run(t, nil, "", argv...)
	out += errs
	if status != 0 {
		out += fmt.Sprintf("exit status %d\n", status)
	}
	return strings.ReplaceAll(out, fmt.Sprintf("value %d\n", s.port), "value PORT\n")
}

// send sends values and waits until they have been taken.
func (s *side) send(t testing.TB, values ...tracewire.Data) {
	conn, err := net.Dial("tcp", s.addr())
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	in := tracewire.NewDecoder(conn)
	if ack, err := in.Ack(); err != nil || ack.Code < 0 {
		t.Errorf("%s: %+v, %v", s.name, ack, err)
		return
	}
	for _, d := range values {
		d.Sync = true
		b, err := d.Append(nil)
		if err == nil {
			_, err = conn.Write(b)
		}
		if err == nil {
			_, err = in.Ack()
		}
		if err != nil {
			t.Errorf("%s: %+v: %v", s.name, d, err)
			return
		}
	}
}

// agentPID is the process of the agent, from the table in pmcd's log.
func (s *side) agentPID(t testing.TB) int {
	t.Helper()
	m := regexp.MustCompile(`(?m)^trace +10 +(\d+) `).FindStringSubmatch(s.pmcd.Log())
	if m == nil {
		t.Fatalf("no agent in the log of pmcd:\n%s", s.pmcd.Log())
	}
	pid, err := strconv.Atoi(m[1])
	if err != nil {
		t.Fatal(err)
	}
	return pid
}
