package pmdaproc_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// TestForgedGroup checks a client that names its own directory as a control group. The agent
// accepts only IDs of existing processes that the client may see anyway, and no threads of the
// agent.
func TestForgedGroup(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("for root: whose processes others may not look at")
	}
	a := newAgent(t, nil)
	thread := anotherThread(t)
	var b strings.Builder
	fmt.Fprintf(&b, "%d\n1\n", thread)
	for i := range 50_000 {
		fmt.Fprintln(&b, 10_000_000+i)
	}
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	other := as(nobodyID, nobodyID)
	var w pdu.ResultWriter
	w.Begin(a.id("proc.control.perclient.cgroups"))
	w.String(pdu.NoInst, dir)
	r, err := w.Result()
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Store(t.Context(), other, r); err != nil {
		t.Fatal(err)
	}
	if v, err := a.fetch(other, "proc.psinfo.nice"); err != nil || len(v) != 1 {
		t.Errorf("%d processes, %v", len(v), err)
	}
	for _, name := range []string{"proc.psinfo.exe", "proc.psinfo.cwd", "proc.memory.maps", "proc.smaps.rss"} {
		v, err := a.fetch(other, name)
		if _, is := v[pdu.InstID(thread)]; is || len(v) > 1 {
			t.Errorf("%s: %v, %v", name, v, err)
		}
	}
}

// TestNameAfterExec checks that a process that executes another program gets its name, even if the
// process was listed before.
func TestNameAfterExec(t *testing.T) {
	a := newAgent(t, nil)
	cmd := exec.Command("sh", "-c", "read x; exec sleep 100")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cmd.Process.Kill()
		cmd.Wait()
	}()
	pid := pdu.InstID(cmd.Process.Pid)
	if _, err := a.Instances(t.Context(), self(), pdu.MakeInDom(3, 9), pid, ""); err != nil {
		t.Fatal(err)
	}
	in.Close()
	var name, args string
	for end := time.Now().Add(time.Minute); time.Now().Before(end) && name != "sleep"; time.Sleep(10 * time.Millisecond) {
		v, err := a.fetch(self(), "proc.psinfo.cmd")
		if err != nil {
			t.Fatal(err)
		}
		name = strings.Trim(v[pid].String(), `"`)
	}
	v, err := a.fetch(self(), "proc.psinfo.psargs")
	if args = strings.Trim(v[pid].String(), `"`); err != nil || args != "sleep 100" {
		t.Errorf("name %q, arguments %q, %v", name, args, err)
	}
}
