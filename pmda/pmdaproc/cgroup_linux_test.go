package pmdaproc_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/pmdaproc"
)

// groups returns the instances of an instance domain by name.
func (a directAgent) groups(r *pmda.Request, serial int) map[string]pdu.InstID {
	a.t.Helper()
	list, err := a.Instances(a.t.Context(), r, pdu.MakeInDom(pmdaproc.Domain, serial), pdu.NoInst, "")
	if err != nil {
		a.t.Fatal(err)
	}
	all := map[string]pdu.InstID{}
	for _, i := range list {
		if !pmda.ValidInstanceName(i.Name) {
			a.t.Errorf("%q is no name", i.Name)
		}
		all[i.Name] = i.ID
	}
	return all
}

// byGroup returns the values of a metric by instance name.
func (a directAgent) byGroup(serial int, metric string) map[string]string {
	a.t.Helper()
	values, err := a.fetch(self(), metric)
	if err != nil {
		a.t.Fatal(metric, err)
	}
	all := map[string]string{}
	for name, id := range a.groups(self(), serial) {
		if v, ok := values[id]; ok {
			all[name] = v.String()
		}
	}
	if len(all) != len(values) {
		a.t.Errorf("%s: %v, but %v", metric, values, all)
	}
	return all
}

// TestCgroupsOfTwo checks values of version 2 that the C agent lacks.
func TestCgroupsOfTwo(t *testing.T) {
	a := newAgent(t, &pmdaproc.Options{Root: cgroupsTwo().write(t)})
	container := "/machine.slice/libpod-" + containerDir + ".scope"
	if got := a.groups(self(), 17); len(got) != 11 || !hasGroup(got, "/::sda") || !hasGroup(got, "/user.slice/bad::sda1") {
		t.Errorf("groups with devices before any fetch: %v", got)
	}
	if got := a.byGroup(16, "cgroup.pressure.irq.full.total"); len(got) != 5 {
		t.Errorf("interrupts alone: %v", got)
	}
	for metric, want := range map[string]map[string]string{
		"cgroup.pressure.cpu.some.avg5min": {"/": "1.006750e+03", "/machine.slice": "1.047750e+03", container: "1.126750e+03", "/user.slice": "1.205750e+03", "/user.slice/a-b.mount": "1.284750e+03"},
		"cgroup.cpuset.cpus":               {"/": `"0-1"`, "/machine.slice": `"0-1"`, container: `"0-1"`, "/user.slice": `"0-1"`, "/user.slice/a-b.mount": `"0-1"`},
	} {
		serial := 16
		if metric == "cgroup.cpuset.cpus" {
			serial = 20
		}
		if diff := cmp.Diff(want, a.byGroup(serial, metric)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", metric, diff)
		}
	}
	if got := a.groups(self(), 21); len(got) != 0 {
		t.Errorf("groups that count time of processors: %v", got)
	}
}

func hasGroup(m map[string]pdu.InstID, name string) bool { _, ok := m[name]; return ok }

// TestHybridCgroups checks that with hierarchies of both versions, the groups of both are listed.
func TestHybridCgroups(t *testing.T) {
	tree := cgroupsOne()
	tree["proc/mounts"] += "cgroup2 /sys/fs/cgroup/with\\040space cgroup2 rw 0 0\ncgroup2 /sys/fs/cgroup/with\\040space cgroup2 rw 0 0\n"
	tree["sys/fs/cgroup/with space/a/cpu.stat"] = "usage_usec 12\n"
	a := newAgent(t, &pmdaproc.Options{Root: tree.write(t), Hertz: 250})
	for _, c := range []struct {
		metric, group, want string
		serial, n           int
	}{
		{"cgroup.memory.usage", "/docker", "1037", 24, 6},
		{"cgroup.cpu.stat.usage", "/a", "12", 16, 1},
		{"cgroup.mounts.subsys", "/sys/fs/cgroup/cpu,cpuacct", `"cpu,cpuacct"`, 38, 7},
		{"cgroup.mounts.subsys", `/sys/fs/cgroup/with\040space`, `"?"`, 38, 7},
		{"cgroup.netclass.classid", "/", "1001", 25, 6},
	} {
		got := a.byGroup(c.serial, c.metric)
		if c.metric == "cgroup.memory.usage" {
			c.want = got[c.group] // some number
		}
		if v, ok := got[c.group]; !ok || v != c.want || len(got) != c.n {
			t.Errorf("%s: %v, want %s for %s and %d in all", c.metric, got, c.want, c.group, c.n)
		}
	}
}

// TestStrangeCgroups checks groups with unusual names and malformed files.
func TestStrangeCgroups(t *testing.T) {
	tree := files{"proc/mounts": "c /cg cgroup2 rw 0 0\n", "proc/diskstats": diskstats}
	for path := range map[string]bool{`a\x2db`: true, `a-b`: true, `bad\xzz`: true, `end\x4`: true, "two words": true, "two more": true, `sys\x20temd`: true, "line\nbreak": true, `c1\xc2\x9b`: true, "é": true,
		`q"uote\`: true, "pair::sda": true, "invalid\xff": true, "docker-" + containerDir + ".scope": true, containerDir: true} {
		tree["cg/"+path+"/cpu.stat"] = "usage_usec 1\n"
		tree["cg/"+path+"/io.stat"] = "8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6\n"
	}
	tree["cg/loop"] = "->."
	tree["cg/file"] = "usage_usec 1\n"
	tree["cg/linked/cpu.stat"] = "->../a-b/cpu.stat"
	tree["cg/nofile/cpu.stat/"] = ""
	tree["cg/huge/cpu.stat"] = strings.Repeat("usage_usec 1\n", 400000)
	a := newAgent(t, &pmdaproc.Options{Root: tree.write(t)})
	want := []string{"/", "/a-b", `/bad\xzz`, `/end\x4`, `/two\x20words`, `/two\x20more`, `/sys\x20temd`, `/line\x0abreak`, `/c1\xc2\x9b`, "/é", `/q"uote\`, "/pair::sda", "/invalid\xff", "/docker-" + containerDir + ".scope", "/" + containerDir,
		"/linked", "/nofile", "/nofile/cpu.stat", "/huge"}
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(a.groups(self(), 16)))); diff != "" {
		t.Errorf("groups (-want +got)\n%s", diff)
	}
	values := a.byGroup(16, "cgroup.cpu.stat.usage")
	if len(values) != 14 {
		t.Errorf("values %v", values)
	}
	d := pdu.MakeInDom(pmdaproc.Domain, 17)
	names := a.groups(self(), 17)
	sets, err := a.Labels(t.Context(), self(), pdu.LabelsOfInstances(d))
	if err != nil || len(sets) != 14 {
		t.Fatal(len(sets), err)
	}
	labels := map[pdu.InstID]string{}
	for _, s := range sets {
		labels[s.Inst] = string(s.JSON)
	}
	for name, want := range map[string]string{`/q"uote\::sda`: `{"cgroup":"/q\"uote\\","device_name":"sda"}`, "/pair::sda::sda": `{"cgroup":"/pair::sda","device_name":"sda"}`} {
		if got := labels[names[name]]; got != want {
			t.Errorf("labels of %s are %s", name, got)
		}
	}
}

// TestCgroupsComeAndGo checks that a group that returns has its earlier ID.
func TestCgroupsComeAndGo(t *testing.T) {
	root := cgroupsOne().write(t)
	a := newAgent(t, &pmdaproc.Options{Root: root})
	before := a.groups(self(), 24)
	dir, away := filepath.Join(root, "sys/fs/cgroup/memory/docker"), filepath.Join(root, "away")
	move := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	move(dir, away)
	files{"sys/fs/cgroup/memory/new/memory.failcnt": "7\n"}.writeTo(t, root)
	if got := a.groups(self(), 24); hasGroup(got, "/docker") || int(got["/new"]) != len(before) || a.byGroup(24, "cgroup.memory.failcnt")["/new"] != "7" {
		t.Errorf("%v, before %v", got, before)
	}
	move(away, dir)
	if got := a.groups(self(), 24); got["/docker"] != before["/docker"] || len(got) != len(before)+1 {
		t.Errorf("%v, before %v", got, before)
	}
	move(filepath.Join(root, "sys/fs/cgroup/memory"), filepath.Join(root, "unmounted"))
	if got := a.groups(self(), 24); len(got) != 0 {
		t.Errorf("without a hierarchy: %v", got)
	}
}

// TestCgroupValues checks malformed values.
func TestCgroupValues(t *testing.T) {
	root := cgroupsOne().write(t)
	a := newAgent(t, &pmdaproc.Options{Root: root, Hertz: 250})
	files{"sys/fs/cgroup/cpu,cpuacct/cpuacct.stat": "user 1000\nsystem 18446744073709551616\n"}.writeTo(t, root)
	files{"sys/fs/cgroup/cpu,cpuacct/cpuacct.usage_percpu": "5 x 7\n"}.writeTo(t, root)
	if err := os.Remove(filepath.Join(root, "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us")); err != nil {
		t.Fatal(err)
	}
	if got := a.byGroup(21, "cgroup.cpuacct.stat.user"); got["/"] != "4000" || len(got) != 6 {
		t.Errorf("ticks: %v", got)
	}
	if got := a.byGroup(21, "cgroup.cpuacct.stat.system"); len(got) != 5 {
		t.Errorf("too large: %v", got)
	}
	if got := a.byGroup(22, "cgroup.cpuacct.usage_percpu"); got["/::cpu0"] != "5" || len(got) != 16 {
		t.Errorf("processors: %v", got)
	}
	if got := a.byGroup(23, "cgroup.cpusched.cfs_quota"); len(got) != 4 { // neither / nor /docker, which has no quota
		t.Errorf("quotas: %v", got)
	}
}

// TestContainerCgroups checks that a client that requests a container gets only its groups, and
// others all groups.
func TestContainerCgroups(t *testing.T) {
	a := newAgent(t, &pmdaproc.Options{Root: cgroupsOne().write(t), ContainerCgroup: func(_ context.Context, name string) (string, error) {
		switch name {
		case "path":
			return "/docker/" + containerDir, nil
		case "unit":
			return "docker-" + containerDir, nil
		}
		return "", pdu.ErrNoContainer
	}})
	for name, want := range map[string]string{"path": "/docker/" + containerDir, "unit": "/system.slice/docker-" + containerDir + ".scope"} {
		r := self()
		r.Client.Container = name
		if got := a.groups(r, 24); len(got) != 1 || !hasGroup(got, want) {
			t.Errorf("%s: %v", name, got)
		}
		if v, err := a.fetch(r, "cgroup.blkio.dev.sectors"); len(v) != 2 || err != nil {
			t.Errorf("%s: %v, %v", name, v, err)
		}
	}
	if got := a.groups(self(), 24); len(got) != 7 {
		t.Errorf("all: %v", got)
	}
	r := self()
	r.Client.Container = "none"
	if v, err := a.fetch(r, "cgroup.subsys.count"); !errors.Is(err, pdu.ErrNoContainer) {
		t.Error(v, err)
	}
}

// TestDeepCgroups checks deeply nested groups.
func TestDeepCgroups(t *testing.T) {
	tree := files{"proc/mounts": "c /cg cgroup2 rw 0 0\n", "cg" + strings.Repeat("/"+strings.Repeat("d", 30), 60) + "/cpu.stat": "usage_usec 5\n", "cg/x" + strings.Repeat("/x", 300) + "/": ""}
	a := newAgent(t, &pmdaproc.Options{Root: tree.write(t)})
	if got := a.groups(self(), 16); len(got) != 1+60+256 {
		t.Errorf("%d groups", len(got))
	}
	if got := a.byGroup(16, "cgroup.cpu.stat.usage"); len(got) != 1 {
		t.Errorf("%v", got)
	}
}

// TestCgroupAllocations checks that a fetch of unchanged groups allocates nothing.
func TestCgroupAllocations(t *testing.T) {
	for version, c := range map[string]struct {
		tree files
		few  []string
	}{
		"1": {cgroupsOne(), []string{"cgroup.memory.stat.cache", "cgroup.cpuacct.usage_percpu", "cgroup.blkio.dev.io_merged.read", "cgroup.blkio.all.time", "cgroup.cpuset.cpus", "cgroup.subsys.count"}},
		"2": {cgroupsTwo(), []string{"cgroup.memory.stat.file", "cgroup.cpu.stat.user", "cgroup.io.stat.rios", "cgroup.pressure.cpu.some.avg10sec"}},
	} {
		for i := range 30 {
			c.tree[fmt.Sprintf("sys/fs/cgroup/more%d/memory.stat", i)] = "cache 1\nfile 2\n"
			c.tree[fmt.Sprintf("sys/fs/cgroup/memory/more%d/memory.stat", i)] = "cache 1\nfile 2\n"
		}
		a := newAgent(t, &pmdaproc.Options{Root: c.tree.write(t)})
		var ids []pdu.PMID
		for _, name := range c.few {
			ids = append(ids, a.id(name))
		}
		var w pdu.ResultWriter
		r := self()
		fetch := func() {
			w.Reset()
			if err := a.Fetch(t.Context(), r, ids, &w); err != nil {
				t.Fatal(err)
			}
		}
		fetch()
		if n := testing.AllocsPerRun(5, fetch); n > 30 {
			t.Errorf("version %s: %v allocations", version, n)
		}
	}
}
