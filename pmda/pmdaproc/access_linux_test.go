package pmdaproc_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/pmdaproc"
)

// TestWithoutCredentials checks that clients whose user or group is unknown get only sums.
func TestWithoutCredentials(t *testing.T) {
	a := newAgent(t, nil)
	for _, r := range []*pmda.Request{as(-1, -1), as(0, -1), as(-1, 0), {}} {
		for _, name := range []string{"proc.nprocs", "hotproc.nprocs", "proc.runq.sleeping", "proc.control.all.threads", "proc.control.perclient.cgroups"} {
			if v, err := a.fetch(r, name); len(v) != 1 || err != nil {
				t.Errorf("%s for %+v: %v, %v", name, r.Client, v, err)
			}
		}
		for _, name := range []string{"proc.psinfo.pid", "proc.psinfo.psargs", "proc.id.uid", "proc.smaps.rss", "proc.autogroup.enabled", "proc.fd.count", "proc.psinfo.exe"} {
			if v, err := a.fetch(r, name); len(v) != 0 || !errors.Is(err, pdu.ErrPermission) {
				t.Errorf("%s for %+v: %v, %v", name, r.Client, v, err)
			}
		}
		for _, serial := range []int{9, 39} {
			d := pdu.MakeInDom(pmdaproc.Domain, serial)
			if list, err := a.Instances(t.Context(), r, d, pdu.NoInst, ""); len(list) != 0 || !errors.Is(err, pdu.ErrPermission) {
				t.Errorf("instances of %v for %+v: %v, %v", d, r.Client, list, err)
			}
			if sets, err := a.Labels(t.Context(), r, pdu.LabelsOfInstances(d)); len(sets) != 0 || !errors.Is(err, pdu.ErrPermission) {
				t.Errorf("labels of %v for %+v: %v, %v", d, r.Client, sets, err)
			}
		}
	}
}

// TestOwnUser checks that clients of the agent's user see its processes.
func TestOwnUser(t *testing.T) {
	a := newAgent(t, nil)
	me := pdu.InstID(os.Getpid())
	for _, name := range []string{"proc.psinfo.pid", "proc.io.rchar", "proc.smaps.rss", "proc.fd.count", "proc.psinfo.exe", "proc.psinfo.psargs"} {
		v, err := a.fetch(self(), name)
		if _, ok := v[me]; !ok || err != nil {
			t.Errorf("%s: %v, %v", name, v, err)
		}
	}
	list, err := a.Instances(t.Context(), self(), pdu.MakeInDom(pmdaproc.Domain, 9), me, "")
	if err != nil || len(list) != 1 || !strings.HasPrefix(list[0].Name, zeros(int(me))+" ") {
		t.Error(list, err)
	}
}

func zeros(id int) string {
	s := strconv.Itoa(id)
	return strings.Repeat("0", max(0, 6-len(s))) + s
}

// TestOtherUser checks that a client of another user sees what the kernel shows to that user.
func TestOtherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only the root user can have the rights of others")
	}
	sleep := exec.Command("sleep", "1000")
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	defer sleep.Wait()
	defer sleep.Process.Kill()
	// The kernel shows the agent's own process to all of its threads, so the agent must hide it.
	for name, id := range map[string]int{"a process": sleep.Process.Pid, "the agent": os.Getpid()} {
		t.Run(name, func(t *testing.T) { testOtherUser(t, pdu.InstID(id)) })
	}
}

func testOtherUser(t *testing.T, me pdu.InstID) {
	a := newAgent(t, nil)
	other := as(nobodyID, nobodyID)
	if v, err := a.fetch(other, "proc.psinfo.pid"); len(v) < 2 || err != nil {
		t.Error("pid", v, err)
	}
	if v, err := a.fetch(other, "proc.id.uid"); v[me].String() != "0" || err != nil {
		t.Error("uid", v, err)
	}
	// Files that stay open after root has read them twice remain hidden from others.
	for range 3 {
		for _, name := range []string{"proc.psinfo.start_stack", "proc.psinfo.wchan_s", "proc.id.uid"} {
			if v, err := a.fetch(self(), name); !hasKey(v, me) || err != nil {
				t.Errorf("%s for root: %v, %v", name, v, err)
			}
		}
	}
	if v, err := a.fetch(other, "proc.psinfo.wchan_s"); hasKey(v, me) && text(t, v[me]) != "0" || err != nil {
		t.Error("wchan", v[me], err)
	}
	for _, name := range []string{"proc.io.rchar", "proc.smaps.rss", "proc.fd.count"} {
		if v, err := a.fetch(self(), name); len(v) == 0 || err != nil {
			t.Errorf("%s for root: %v, %v", name, v, err)
		}
		if v, _ := a.fetch(other, name); hasKey(v, me) {
			t.Errorf("%s for another user: %v", name, v[me])
		}
	}
	for _, name := range []string{"proc.psinfo.exe", "proc.psinfo.cwd", "proc.psinfo.environ", "proc.memory.maps"} {
		own, _ := a.fetch(self(), name)
		if text(t, own[me]) == "" {
			t.Errorf("%s for root is empty", name)
		}
		if v, err := a.fetch(other, name); text(t, v[me]) != "" || err != nil {
			t.Errorf("%s for another user: %v, %v", name, v[me], err)
		}
	}
	if v, err := a.fetch(other, "proc.psinfo.start_stack"); v[me].String() != "0" || err != nil {
		t.Error("address of the stack", v[me], err)
	}
}

// TestIdentities checks that concurrent clients of many users get what each may see, and that all
// threads of the process keep their rights.
func TestIdentities(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only the root user can have the rights of others")
	}
	a := newAgent(t, nil)
	me := pdu.InstID(os.Getpid())
	id := a.id("proc.io.rchar")
	var all sync.WaitGroup
	for user := range 8 {
		all.Go(func() {
			uid := 0
			if user%2 == 1 {
				uid = nobodyID - user
			}
			for range 20 {
				var w pdu.ResultWriter
				err := a.Fetch(t.Context(), as(uid, uid), []pdu.PMID{id}, &w)
				r, err2 := w.Result()
				if err != nil || err2 != nil {
					t.Error(err, err2)
					return
				}
				sees := false
				for _, set := range r.All() {
					for inst := range set.All(pdu.TypeU64) {
						sees = sees || inst == me
					}
				}
				if sees != (uid == 0) {
					t.Errorf("user %d sees the test: %v", uid, sees)
				}
			}
		})
	}
	all.Wait()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		status, err := os.ReadFile("/proc/self/task/" + task.Name() + "/status")
		if err != nil {
			continue // it has ended
		}
		if !strings.Contains(string(status), "\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\n") {
			t.Errorf("thread %s is not the root user:\n%s", task.Name(), status)
		}
	}
}

// TestUnprivileged checks that an agent that cannot switch to other users shows them nothing.
func TestUnprivileged(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("this is the root user")
	}
	a := newAgent(t, nil)
	other := as(os.Geteuid()+1, os.Getegid())
	if v, err := a.fetch(other, "proc.psinfo.pid"); len(v) != 0 || !errors.Is(err, pdu.ErrPermission) {
		t.Error(v, err)
	}
	if v, err := a.fetch(other, "proc.nprocs"); len(v) != 1 || err != nil {
		t.Error(v, err)
	}
}

// TestStores checks which users may change which settings.
func TestStores(t *testing.T) {
	const all, threads, cgroups = "proc.control.all.threads", "proc.control.perclient.threads", "proc.control.perclient.cgroups"
	for _, c := range []struct {
		name  string
		r     *pmda.Request
		value pdu.Atom
		open  bool // no access checks
		err   pdu.Error
	}{
		{name: all, r: self(), value: pdu.Uint32(1)},
		{name: all, r: self(), value: pdu.Uint32(2), err: pdu.ErrBadStore},
		{name: all, r: as(-1, -1), value: pdu.Uint32(1), err: pdu.ErrPermission},
		{name: all, r: as(nobodyID-1, nobodyID), value: pdu.Uint32(1), err: pdu.ErrPermission},
		{name: all, r: as(-1, -1), value: pdu.Uint32(1), open: true},
		{name: all, r: self(), value: pdu.String("x"), err: pdu.ErrConv},
		{name: threads, r: as(nobodyID, nobodyID), value: pdu.Uint32(1)},
		{name: threads, r: as(nobodyID, nobodyID), value: pdu.Uint32(2), err: pdu.ErrBadStore},
		{name: threads, r: as(-1, -1), value: pdu.Uint32(1), err: pdu.ErrNoContext},
		{name: threads, r: as(-1, -1), value: pdu.Uint32(1), open: true, err: pdu.ErrNoContext},
		{name: cgroups, r: as(nobodyID, nobodyID), value: pdu.String("/x")},
		{name: cgroups, r: as(nobodyID, nobodyID), value: pdu.String(""), err: pdu.ErrBadStore},
		{name: cgroups, r: as(nobodyID, nobodyID), value: pdu.String("x"), err: pdu.ErrBadStore},
		{name: cgroups, r: as(-1, -1), value: pdu.String("/x"), err: pdu.ErrNoContext},
		{name: "proc.nprocs", r: self(), value: pdu.Uint32(1), err: pdu.ErrPermission},
	} {
		a := newAgent(t, &pmdaproc.Options{NoAccessChecks: c.open})
		if err := a.store(c.r, c.name, c.value); c.err == 0 && err != nil || c.err != 0 && !errors.Is(err, c.err) {
			t.Errorf("%s = %v of %+v: %v, want %v", c.name, c.value, c.r.Client, err, c.err)
		}
	}
}

// TestThreads checks that only a client that requested threads gets them.
func TestThreads(t *testing.T) {
	a := newAgent(t, nil)
	mine, other := self(), self()
	other.Client.Seq++
	var w pdu.ResultWriter
	w.Begin(a.id("proc.control.perclient.threads"))
	w.Uint32(pdu.NoInst, 1)
	on, _ := w.Result()
	if err := a.Store(t.Context(), mine, on); err != nil {
		t.Fatal(err)
	}
	tid := pdu.InstID(anotherThread(t))
	sees := func(r *pmda.Request) bool {
		v, err := a.fetch(r, "proc.psinfo.tgid")
		if err != nil {
			t.Fatal(err)
		}
		return hasKey(v, tid)
	}
	if !sees(mine) || sees(other) {
		t.Error("threads are not those of the client that asked for them")
	}
	if v, _ := a.fetch(mine, "proc.psinfo.tgid"); v[tid].String() != strconv.Itoa(os.Getpid()) {
		t.Error(v[tid])
	}
	a.EndClient(mine.Client)
	if sees(mine) {
		t.Error("the next client gets threads")
	}
}

// anotherThread returns a thread of this process that is not its first.
func anotherThread(t *testing.T) int {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		if id, err := strconv.Atoi(task.Name()); err == nil && id != os.Getpid() {
			return id
		}
	}
	t.Skip("there is one thread")
	return 0
}

// TestContainer checks that a client that requests a container gets its processes, or an error if
// it is unknown.
func TestContainer(t *testing.T) {
	r := self()
	r.Client.Container = "box"
	if _, err := newAgent(t, nil).fetch(r, "proc.nprocs"); !errors.Is(err, pdu.ErrNoContainer) {
		t.Error(err)
	}
	tree := machine()
	tree["proc/mounts"] = "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n"
	tree["sys/fs/cgroup/machine.slice/libpod-box/container/cgroup.procs"] = "300\n20\n"
	o := &pmdaproc.Options{Root: tree.write(t), ContainerCgroup: func(_ context.Context, name string) (string, error) { return "libpod-" + name, nil }}
	if v, err := newAgent(t, o).fetch(r, "proc.psinfo.pid"); len(v) != 2 || !hasKey(v, 20) || !hasKey(v, 300) || err != nil {
		t.Error(v, err)
	}
}

// TestCgroup checks that a client that named a control group gets its processes.
func TestCgroup(t *testing.T) {
	tree := machine()
	tree["sys/fs/cgroup/a/cgroup.procs"] = "300\n20\nx\n\n300\n"
	tree["sys/fs/cgroup/b/container/cgroup.procs"] = "1\n"
	root := tree.write(t)
	for dir, want := range map[string]int{"a": 2, "b": 1, "none": 0} {
		a := newAgent(t, &pmdaproc.Options{Root: root, Cgroup: "/sys/fs/cgroup/" + dir})
		v, err := a.fetch(self(), "proc.nprocs")
		if v[pdu.NoInst].String() != strconv.Itoa(want) || err != nil {
			t.Errorf("%s: %v, %v, want %d", dir, v, err, want)
		}
		if v, err := a.fetch(self(), "proc.psinfo.pid"); len(v) != want || err != nil {
			t.Errorf("%s: %v, %v, want %d", dir, v, err, want)
		}
	}
}
