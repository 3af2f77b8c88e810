package pmdaproc_test

import (
	"fmt"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda/pmdaproc"
)

// TestRealTime checks the policy and priority of a real-time process (D1).
func TestRealTime(t *testing.T) {
	pid, _ := startedAs(t, nil)
	attr := &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 99}
	if err := unix.SchedSetAttr(int(pid), attr, 0); err != nil {
		t.Skip("no right to schedule in real time: ", err)
	}
	a := newAgent(t, nil)
	for name, want := range map[string]string{"policy": "1", "policy_s": "FIFO", "rt_priority": "99", "priority": "-100"} {
		if got := a.one("proc.psinfo."+name, pid); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

// TestBurner checks that a busy process is hot under its name in proc, and no longer after it has
// ended.
func TestBurner(t *testing.T) {
	a := newAgent(t, &pmdaproc.Options{NoAccessChecks: true})
	defer a.BeginServing(nil)()
	for name, v := range map[string]pdu.Atom{"refresh": pdu.Uint32(1), "config": pdu.String("cpuburn > 0.05")} {
		if err := a.store(as(0, 0), "hotproc.control."+name, v); err != nil {
			t.Fatal(name, err)
		}
	}
	c := exec.Command("sh", "-c", "while :; do :; done")
	if err := c.Start(); err != nil {
		t.Skip(err)
	}
	ended := false
	end := func() {
		if !ended {
			ended = true
			c.Process.Kill()
			c.Wait()
		}
	}
	defer end()
	pid := pdu.InstID(c.Process.Pid)
	await := func(want string) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); a.one("hotproc.psinfo.pid", pid) != want; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("hotproc.psinfo.pid of %d is not %q", pid, want)
			}
		}
	}
	await(fmt.Sprint(pid))
	if hot, all := a.one("hotproc.psinfo.psargs", pid), a.one("proc.psinfo.psargs", pid); hot != all || all == "" {
		t.Errorf("psargs is %q in hotproc and %q in proc", hot, all)
	}
	end()
	await("")
}
