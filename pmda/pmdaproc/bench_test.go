package pmdaproc_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

// benchmarks are the measured fetches.
var benchmarks = []struct {
	name    string
	metrics func(c agentClient) []string
}{
	{"nprocs", some("proc.nprocs")},
	{"utime", some("proc.psinfo.utime")},
	{"stat", some("proc.psinfo.utime", "proc.psinfo.stime", "proc.psinfo.sname", "proc.psinfo.rss", "proc.psinfo.vsize", "proc.psinfo.minflt", "proc.psinfo.ppid", "proc.psinfo.cmd")},
	{"psargs", some("proc.psinfo.psargs")},
	{"io", below("proc.io")},
	{"id", below("proc.id")},
	{"smaps", below("proc.smaps")},
	{"psinfo", below("proc.psinfo")},
}

func some(names ...string) func(agentClient) []string {
	return func(agentClient) []string { return names }
}
func below(name string) func(agentClient) []string {
	return func(c agentClient) []string { return c.names(name) }
}

// largeTree returns a tree with many processes.
func largeTree(b *testing.B, processes int) (root string) {
	tree := machine()
	for i := range processes {
		maps.Copy(tree, process(2000+i, "sleep", "S"))
	}
	return tree.write(b)
}

// BenchmarkFetch fetches from the agent in this process, on trees.
func BenchmarkFetch(b *testing.B) {
	for _, processes := range []int{2000, 5000} {
		root := largeTree(b, processes)
		our := ourAgent(b, root)
		for _, m := range benchmarks {
			b.Run(fmt.Sprintf("%s/%d", m.name, processes), func(b *testing.B) { our.bench(b, m.metrics(our)) })
		}
	}
}

// bench fetches metrics.
func (c agentClient) bench(b *testing.B, names []string) {
	ids, err := c.Lookup(b.Context(), names)
	if err != nil {
		b.Fatal(err)
	}
	var r pdu.Result
	if err := c.Fetch(b.Context(), ids, &r); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Fetch(b.Context(), ids, &r); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAgents compares the processor time of a fetch by the C agent and ours, both under a C
// pmcd: on this machine with additional sleeping processes, and on trees.
func BenchmarkAgents(b *testing.B) {
	pcptest.Need(b, "pmcd", "sleep")
	for _, processes := range []int{2000, 5000} {
		b.Run(fmt.Sprintf("machine/%d", processes), func(b *testing.B) {
			for range processes {
				c := exec.Command(pcptest.Tool(b, "sleep"), "1000")
				if err := c.Start(); err != nil {
					b.Fatal(err)
				}
				b.Cleanup(func() { c.Process.Kill(); c.Wait() })
			}
			benchAgents(b, "")
		})
		root := largeTree(b, processes)
		b.Run(fmt.Sprintf("tree/%d", processes), func(b *testing.B) { benchAgents(b, "PROC_STATSPATH="+root) })
	}
}

func benchAgents(b *testing.B, env string) {
	c := pcptest.Config{Shipped: []string{"proc"}, Env: []string{"PROC_ACCESS=1", env}}
	our := pcptest.Config{PMNS: pcptest.Names(b, "proc"), Env: c.Env, Agents: []string{fmt.Sprintf("proc 3 pipe binary %s -d 3 -l %s",
		pcptest.Build(b, "./examples/pmdaproc"), filepath.Join(b.TempDir(), "proc.log"))}}
	type agent struct {
		name   string
		client agentClient
		pid    int
	}
	var agents []agent
	for name, config := range map[string]pcptest.Config{"C": c, "Go": our} {
		p := pcptest.StartPMCD(b, config)
		client, err := patientDialer.Dial(b.Context(), p.Host())
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { client.Close() })
		agents = append(agents, agent{name, agentClient{client, b}, agentPID(b, p.Log())})
	}
	for _, m := range benchmarks {
		for _, a := range agents {
			b.Run(m.name+"/"+a.name, func(b *testing.B) {
				from := ticks(b, a.pid)
				a.client.bench(b, m.metrics(a.client))
				b.ReportMetric(float64(ticks(b, a.pid)-from)*10/float64(b.N+1), "agent-ms/op")
			})
		}
	}
}

// agentPID returns the PID of the agent from pmcd's log.
func agentPID(b *testing.B, log string) int {
	for line := range strings.Lines(log) {
		if f := strings.Fields(line); len(f) > 3 && f[0] == "proc" && f[1] == "3" {
			pid, err := strconv.Atoi(f[2])
			if err == nil {
				return pid
			}
		}
	}
	b.Fatal("no agent in the log\n", log)
	return 0
}

// ticks returns the processor time of a process in hundredths of a second.
func ticks(b *testing.B, pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	f := strings.Fields(string(text))
	user, err1 := strconv.Atoi(f[13])
	system, err2 := strconv.Atoi(f[14])
	if err1 != nil || err2 != nil {
		b.Fatal(string(text))
	}
	return user + system
}
