//go:build linux

package pmdaproc_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

var manyProcesses = flag.Int("processes", 40, "how many processes TestInteropValues compares: 500 are many")

// sleepers starts idle processes of the test's user and of another one.
func sleepers(t testing.TB, n int) (pids []int) {
	t.Helper()
	for i := range n {
		c := exec.Command(pcptest.Tool(t, "sleep"), "1000", strconv.Itoa(i))
		if i%2 == 1 && os.Geteuid() == 0 {
			c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobodyID, Gid: nobodyID}}
			c.Dir = "/"
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		pids = append(pids, c.Process.Pid)
		t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	}
	// A sleeping process no longer changes.
	for _, pid := range pids {
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			if err != nil || time.Now().After(deadline) {
				t.Fatal(string(text), err)
			}
			if strings.HasPrefix(string(text), fmt.Sprintf("%d (sleep) S", pid)) {
				break
			}
		}
	}
	return pids
}

// of returns the values of some processes by PID.
func of(pids []int, lines string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(lines) {
		if f := strings.Fields(line); len(f) > 1 {
			if pid, err := strconv.Atoi(f[0]); err == nil && slices.Contains(pids, pid) {
				all[f[0]] = strings.TrimSpace(line)
			}
		}
	}
	return all
}

// TestInteropValues compares the values of processes of this machine with the C agent.
func TestInteropValues(t *testing.T) {
	pcptest.Need(t, "pmcd", "sleep")
	c, our := cAgent(t, ""), ourAgent(t, "/")
	names := c.names("proc")
	pids := sleepers(t, *manyProcesses)
	pcptest.Retry(t, func() (wrong string) {
		before, got, after := c.values(names), our.values(names), c.values(names)
		compared := 0
		for _, name := range names {
			a, b := of(pids, before[name]), of(pids, after[name])
			if mended[name] != "" || !cmp.Equal(a, b) {
				continue
			}
			compared++
			if diff := cmp.Diff(a, of(pids, got[name])); diff != "" {
				wrong += fmt.Sprintf("%s (-C +ours)\n%s\n", name, diff)
			}
		}
		if compared < 120 {
			wrong += fmt.Sprintf("%d metrics could be compared", compared)
		}
		return wrong
	})
}

// restricted are metrics whose values depend on the client's user.
var restricted = []string{"proc.psinfo.pid", "proc.id.uid", "proc.psinfo.psargs", "proc.io.rchar", "proc.fd.count", "proc.smaps.rss", "proc.memory.maps", "proc.psinfo.environ", "proc.psinfo.exe", "proc.psinfo.cwd",
	"proc.psinfo.start_stack", "proc.psinfo.wchan_s"}

// TestInteropOtherUser checks that a user other than root sees what the C agent shows to that user.
func TestInteropOtherUser(t *testing.T) {
	pcptest.Need(t, "pmcd", "pminfo", "sleep")
	if os.Geteuid() != 0 {
		t.Skip("only the root user can have the rights of others")
	}
	pids := sleepers(t, 4)
	our := pcptest.Config{PMNS: pcptest.Names(t, "proc"), Agents: []string{"proc 3 pipe binary " + pcptest.Build(t, "./examples/pmdaproc") + " -d 3 -l " + t.TempDir() + "/log"}}
	values := func(c pcptest.Config, user uint32) (all []string) {
		p := pcptest.StartPMCD(t, c)
		open(t, p.Socket())
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, pcptest.Tool(t, "pminfo"), append([]string{"-h", "unix://" + p.Socket(), "-f"}, restricted...)...)
		cmd.Env, cmd.Dir = pcptest.Env(), "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", cmd, err, out)
		}
		metric := ""
		for line := range strings.Lines(string(out)) {
			if name := strings.TrimSpace(line); strings.HasPrefix(name, "proc.") {
				metric = name
			}
			if slices.ContainsFunc(pids, func(pid int) bool { return strings.Contains(line, fmt.Sprintf("[%d or ", pid)) }) || strings.HasPrefix(line, "Error") || strings.HasPrefix(line, "No value") {
				if metric == "proc.smaps.rss" { // the kernel changes it when memory is short
					line, _, _ = strings.Cut(line, " value ")
				}
				all = append(all, metric+strings.TrimRight(line, "\n"))
			}
		}
		slices.Sort(all)
		return all
	}
	for _, user := range []uint32{nobodyID, 0} {
		want, got := values(pcptest.Config{Shipped: []string{"proc"}}, user), values(our, user)
		if diff := cmp.Diff(want, got); diff != "" || len(got) < 7*len(pids) {
			t.Errorf("user %d (-C +ours)\n%s\n%d lines", user, diff, len(got))
		}
	}
}

// open makes a socket accessible to all users.
func open(t *testing.T, socket string) {
	t.Helper()
	for dir := socket; dir != "/" && dir != "/tmp"; dir = dir[:max(1, strings.LastIndexByte(dir, '/'))] {
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
}
