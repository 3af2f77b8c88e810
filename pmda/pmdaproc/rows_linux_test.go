package pmdaproc_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/pmdaproc"
)

// store stores a value.
func (a directAgent) store(r *pmda.Request, name string, v pdu.Atom) error {
	a.t.Helper()
	var w pdu.ResultWriter
	w.Begin(a.id(name))
	w.Atom(pdu.NoInst, v)
	result, err := w.Result()
	if err != nil {
		a.t.Fatal(err)
	}
	return a.Store(a.t.Context(), r, result)
}

// one returns the value of an instance as a text, empty if it has no value.
func (a directAgent) one(name string, id pdu.InstID) string {
	a.t.Helper()
	v, err := a.fetch(self(), name)
	if err != nil && len(v) > 0 {
		a.t.Error(name, err)
	}
	if !hasKey(v, id) {
		return ""
	}
	return strings.Trim(v[id].String(), `"`)
}

// startedAs starts a sleeping process, and returns its ID and the command to end it.
func startedAs(t *testing.T, attributes *syscall.SysProcAttr) (pid pdu.InstID, c *exec.Cmd) {
	t.Helper()
	c = exec.Command("sleep", "1000")
	c.SysProcAttr, c.Dir = attributes, "/"
	if err := c.Start(); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	return pdu.InstID(c.Process.Pid), c
}

// awaitState waits until the agent sees a process in a state.
func (a directAgent) awaitState(pid pdu.InstID, state string) {
	a.t.Helper()
	for end := time.Now().Add(time.Minute); a.one("proc.psinfo.sname", pid) != state; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			a.t.Fatalf("process %d is not %s", pid, state)
		}
	}
}

// statFields are the fields of the file stat of a process by their numbers in proc(5), without the
// name.
func statFields(t testing.TB, pid pdu.InstID) []string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	return append([]string{"", "", ""}, strings.Fields(rest)...)
}

// TestKernelValues checks that values come from the right fields (D1), and that groups are not
// users (D2).
func TestKernelValues(t *testing.T) {
	attributes := &syscall.SysProcAttr{}
	gid := os.Getgid()
	if os.Geteuid() == 0 {
		gid = 4242
		attributes.Credential = &syscall.Credential{Gid: uint32(gid)}
	}
	pid, _ := startedAs(t, attributes)
	if err := syscall.Setpriority(syscall.PRIO_PROCESS, int(pid), 19); err != nil {
		t.Fatal(err)
	}
	a := newAgent(t, nil)
	a.awaitState(pid, "S")
	pcptest.Retry(t, func() (wrong string) { return a.differences(pid, gid) }) // its memory may be reclaimed meanwhile
}

// differences returns the values of a process with nice 19 that differ from the kernel's.
func (a directAgent) differences(pid pdu.InstID, gid int) (wrong string) {
	t := a.t
	t.Helper()
	f := statFields(t, pid)
	number := func(field int) int {
		n, err := strconv.Atoi(f[field])
		if err != nil {
			t.Fatal(f, err)
		}
		return n
	}
	page := os.Getpagesize() / 1024
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"psinfo.priority": 39, "psinfo.nice": 19, "psinfo.rt_priority": number(40), "psinfo.policy": number(41), "psinfo.ppid": os.Getpid(), "psinfo.utime": number(14) * 10,
		"psinfo.rss": number(24) * page, "psinfo.delayacct_blkio_time": number(42) * 10, "psinfo.guest_time": number(43) * 10, "psinfo.cguest_time": number(44) * 10,
		"id.gid": gid, "id.uid": os.Getuid(), "fd.count": len(entries), "psinfo.pid": int(pid), "psinfo.tgid": int(pid), "psinfo.threads": 1} {
		if got := a.one("proc."+name, pid); got != strconv.Itoa(want) {
			wrong += fmt.Sprintf("%s is %s, want %d\n", name, got, want)
		}
	}
	if got := a.one("proc.psinfo.policy_s", pid); number(41) == 0 && got != "NORMAL" {
		wrong += "policy_s is " + got
	}
	if v, err := a.fetch(self(), "proc.namespaces.envid"); err == nil && len(v) == 0 || err != nil && !errors.Is(err, pdu.ErrAppVersion) {
		t.Error("envid", v, err)
	}
	return wrong
}

// TestStates checks stopped and ended processes, and that each process is in one state.
func TestStates(t *testing.T) {
	a := newAgent(t, nil)
	stopped, c := startedAs(t, nil)
	if err := c.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	ended, c := startedAs(t, nil)
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	a.awaitState(stopped, "T")
	a.awaitState(ended, "Z")
	late := newAgent(t, nil) // it first sees the process dead
	for name, want := range map[string]string{"psinfo.psargs": "(sleep)", "psinfo.cmd": "sleep", "psinfo.exe": "", "psinfo.cwd": "", "smaps.rss": "", "memory.vmsize": "0", "memory.maps": "", "psinfo.environ": ""} {
		if got := late.one("proc."+name, ended); got != want {
			t.Errorf("%s of a process that has ended is %q, want %q", name, got, want)
		}
	}
	ids := []pdu.PMID{a.id("proc.nprocs")}
	for _, state := range []string{"runnable", "blocked", "sleeping", "stopped", "swapped", "unknown", "kernel", "defunct"} {
		ids = append(ids, a.id("proc.runq."+state))
	}
	var w pdu.ResultWriter
	if err := a.Fetch(t.Context(), self(), ids, &w); err != nil {
		t.Fatal(err)
	}
	r, err := w.Result()
	if err != nil {
		t.Fatal(err)
	}
	var n []int
	for _, set := range r.All() {
		v, err := strconv.Atoi(set.Atom(0, pdu.TypeU32).String())
		if err != nil {
			t.Fatal(err)
		}
		n = append(n, v)
	}
	sum := 0
	for _, v := range n[1:] {
		sum += v
	}
	if sum != n[0] || n[4] < 1 || n[8] < 1 || n[7] != 0 {
		t.Errorf("processes, and those in each state: %v", n)
	}
}

// TestFreshValues checks that a file that is fetched alone is read each time (D4), that values of
// missing lines are 0 (D16), and that names are read only once.
func TestFreshValues(t *testing.T) {
	tree := machine()
	root := tree.write(t)
	a := newAgent(t, &pmdaproc.Options{Root: root})
	if v, err := a.fetch(self(), "proc.psinfo.psargs"); err != nil || text(t, v[1]) != "/bin/init -x 1" {
		t.Error(v, err)
	}
	for i := range 3 {
		files{"proc/1/smaps_rollup": fmt.Sprintf("Rss: %d kB\n", i+7)}.writeTo(t, root)
		if got := a.one("proc.smaps.rss", 1); got != strconv.Itoa(i+7) {
			t.Errorf("the value is %s, want %d", got, i+7)
		}
	}
	if got := a.one("proc.memory.vmsize", 1); got == "0" || got == "" {
		t.Error(got)
	}
	files{"proc/1/status": "Name:\tinit\nUid:\t0\t0\t0\t0\n"}.writeTo(t, root)
	if got := a.one("proc.memory.vmsize", 1); got != "0" {
		t.Error(got)
	}
	if got := a.one("proc.namespaces.pid", 20); got != "20,6" {
		t.Error(got)
	}
	if err := os.Remove(filepath.Join(root, "proc/1/cmdline")); err != nil {
		t.Fatal(err)
	}
	if got := a.one("proc.psinfo.psargs", 1); got != "/bin/init -x 1" {
		t.Errorf("the command line is read again: %s", got)
	}
}

// TestUnchangedFiles checks that a file is parsed again only when its text changes, and that
// malformed text never has values.
func TestUnchangedFiles(t *testing.T) {
	root := machine().write(t)
	a := newAgent(t, &pmdaproc.Options{Root: root})
	good := machine()["proc/20/stat"]
	for i, step := range []struct{ text, name, parent string }{
		{good, "run ner", "1"}, {good, "run ner", "1"},
		{"20 (other", "", ""}, {"20 (other", "", ""}, {"", "", ""},
		{good, "run ner", "1"}, {good, "run ner", "1"},
		{"20 (other) R 7", "other", "7"}, {"20 (other) R 8", "other", "8"},
	} {
		files{"proc/20/stat": step.text}.writeTo(t, root)
		if name, parent := a.one("proc.psinfo.cmd", 20), a.one("proc.psinfo.ppid", 20); name != step.name || parent != step.parent {
			t.Errorf("step %d: %q, parent %q of %q", i, name, parent, step.text)
		}
	}
	for _, group := range []string{"/a", "/a", "/b", "/a"} {
		files{"proc/20/cgroup": "0::" + group + "\n"}.writeTo(t, root)
		if got := a.one("proc.psinfo.cgroups", 20); got != ":"+group {
			t.Error(got, group)
		}
	}
	for _, threads := range []string{"3", "3", "4", "3"} {
		files{"proc/20/status": "Threads:\t" + threads + "\n"}.writeTo(t, root)
		if got := a.one("proc.psinfo.threads", 20); got != threads {
			t.Error(got, threads)
		}
	}
}

// TestOwnAddresses checks that the addresses of the agent's own process are hidden from one user
// but not from another, although the text of the file is the same for both.
func TestOwnAddresses(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only the root user can switch to another")
	}
	own := pdu.InstID(os.Getpid())
	a := newAgent(t, &pmdaproc.Options{Root: process(os.Getpid(), "test", "S").write(t)})
	for i := range 4 {
		r, hidden := self(), i%2 != 0
		if hidden {
			r = as(nobodyID, nobodyID)
		}
		v, err := a.fetch(r, "proc.psinfo.start_code")
		if err != nil || !hasKey(v, own) {
			t.Fatal(v, err)
		}
		if got := v[own].String() == "0"; got != hidden {
			t.Errorf("fetch %d: %s, want it hidden: %v", i, v[own], hidden)
		}
	}
}

// TestNameThatLooksLikeStat checks a name that contains a parenthesis, a state and a newline.
func TestNameThatLooksLikeStat(t *testing.T) {
	tree := maps.Clone(machine())
	const name = "a) S 1 (\nb) R"
	tree["proc/20/stat"] = strings.Replace(tree["proc/20/stat"], "run ner", name, 1)
	tree["proc/300/stat"] = strings.Replace(tree["proc/300/stat"], "a) S (b", "", 1)
	a := newAgent(t, &pmdaproc.Options{Root: tree.write(t)})
	v, err := a.fetch(self(), "proc.psinfo.cmd")
	if err != nil || text(t, v[20]) != name || text(t, v[300]) != "" {
		t.Error(v, err)
	}
	if state, parent := a.one("proc.psinfo.sname", 20), a.one("proc.psinfo.ppid", 20); state != "R" || parent != "1" {
		t.Error(state, parent)
	}
}

// TestRights checks what unknown users may see, and what users without restrictions see.
func TestRights(t *testing.T) {
	a := newAgent(t, nil)
	unknown := as(-1, -1)
	if v, err := a.fetch(unknown, "cgroup.subsys.count"); len(v) != 1 || err != nil {
		t.Error(v, err)
	}
	if _, err := a.Instances(t.Context(), unknown, pdu.MakeInDom(pmdaproc.Domain, 16), pdu.NoInst, ""); err != nil {
		t.Error(err)
	}
	all := newAgent(t, &pmdaproc.Options{NoAccessChecks: true})
	if v, err := all.fetch(unknown, "proc.io.rchar"); !hasKey(v, pdu.InstID(os.Getpid())) || err != nil {
		t.Error(v, err)
	}
	for _, a := range []directAgent{a, all} {
		for _, r := range []*pmda.Request{unknown, as(nobodyID, nobodyID)} {
			for name, v := range map[string]pdu.Atom{"hotproc.control.refresh": pdu.Uint32(1), "hotproc.control.config": pdu.String("true"), "hotproc.control.reload_config": pdu.Uint32(1), "hotproc.total.cpuidle": pdu.Float32(1)} {
				if err := a.store(r, name, v); !errors.Is(err, pdu.ErrPermission) {
					t.Errorf("%s of %+v: %v", name, r.Client, err)
				}
			}
		}
	}
}

// TestClientSettings checks that settings affect only their client: it can replace its group, list
// threads, and leave a container.
func TestClientSettings(t *testing.T) {
	a := newAgent(t, nil)
	mine, other := self(), self()
	other.Client.Seq++
	count := func(r *pmda.Request) int {
		t.Helper()
		v, err := a.fetch(r, "proc.nprocs")
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.Atoi(v[pdu.NoInst].String())
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for n, list := range []string{"", "1\n", fmt.Sprintf("1\n%d\n", os.Getpid())} {
		dir := t.TempDir()
		files{"cgroup.procs": list}.writeTo(t, dir)
		if err := a.store(mine, "proc.control.perclient.cgroups", pdu.String(dir)); err != nil {
			t.Fatal(err)
		}
		if got := count(mine); got != n || count(other) < 2 {
			t.Errorf("%d processes, want %d", got, n)
		}
	}
	a.EndClient(mine.Client)
	if v, err := a.fetch(mine, "proc.control.perclient.cgroups"); err != nil || text(t, v[pdu.NoInst]) != "" || count(mine) < 2 {
		t.Error(v, err)
	}
	a = newAgent(t, &pmdaproc.Options{Root: files{"proc/20/task/20/stat": "", "proc/20/task/21/stat": "", "proc/20/task/22/stat": "", "proc/30/stat": ""}.write(t)})
	if err := a.store(mine, "proc.control.perclient.threads", pdu.Uint32(1)); err != nil {
		t.Fatal(err)
	}
	if threads, processes := count(mine), count(other); threads != 4 || processes != 2 {
		t.Errorf("%d threads of %d processes", threads, processes)
	}
	if v, err := a.fetch(other, "proc.control.all.threads"); err != nil || v[pdu.NoInst].String() != "0" {
		t.Error(v, err)
	}
	boxed := newAgent(t, &pmdaproc.Options{ContainerCgroup: func(context.Context, string) (string, error) { return "", nil }})
	other.Client.Container = "box"
	if _, err := boxed.fetch(other, "proc.nprocs"); !errors.Is(err, pdu.ErrNoContainer) {
		t.Error(err)
	}
	other.Client.Container = ""
	if v, err := boxed.fetch(other, "proc.nprocs"); len(v) != 1 || err != nil {
		t.Error(v, err)
	}
}
