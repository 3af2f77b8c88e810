package pmdaproc

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pmda"
)

// FuzzCgroupParsers checks that no parser of a control group file panics, or keeps values of an
// earlier text.
func FuzzCgroupParsers(f *testing.F) {
	f.Add([]byte("usage_usec 12\nuser_usec x\nsystem_usec 1 2\nuser 5\nsystem 6\nnr_periods 1\nnr_throttled 2\nthrottled_time 3\n"))
	f.Add([]byte("some avg10=0.00 avg60=0.12 avg300=1.00 total=12\nfull avg10=nan avg60=-1 avg300=1e9 total=99999999999999999999\n"))
	f.Add([]byte("8:0 Read 1\n8:0 Total 5\n8:0 7\nTotal 5\n99:9 Read 1\n8:1 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6 x=1\n"))
	f.Add([]byte("cache 12\ntotal_cache 5 6\nrecent_rotated_anon -1\nworkingset_refault\n"))
	f.Add([]byte("c /cg\\040x cgroup2 rw 0 0\ncgroup /x cgroup rw,cpu,,memory\n   8       0 sda 1 2\n 8 0 sdb\n 8 1 \n#name\ncpu\t1\t2\t3\ncpu 1 2 3\n"))
	f.Add([]byte("max\n"))
	f.Add([]byte("-1\n"))
	var cpu cpuStat
	var acct cpuacctStat
	var throttle throttling
	var stall pressure
	var memory memoryStat
	var number cgroupNumber
	var overview cgroupOverview
	devices := new(blockDevices)
	f.Fuzz(func(t *testing.T, text []byte) {
		sameParse(t, "cpu.stat", text, &cpu, (*cpuStat).parse)
		sameParse(t, "cpuacct.stat", text, &acct, (*cpuacctStat).parse)
		sameParse(t, "throttling", text, &throttle, (*throttling).parse)
		sameParse(t, "pressure", text, &stall, (*pressure).parse)
		sameParse(t, "memory.stat", text, &memory, (*memoryStat).parse)
		sameParse(t, "number", text, &number, (*cgroupNumber).parse)
		for _, m := range parseCgroupMounts(text) {
			if strings.ContainsRune(m.dir, 0) && !bytes.ContainsRune(text, 0) || !pmda.ValidInstanceName(m.name) {
				t.Errorf("mount %+v", m)
			}
		}
		overview.parseSubsystems(text)
		checkNames(t, overview.rows.Names)
		devices.parse(text)
		for _, name := range devices.rows.Names {
			if !pmda.ValidInstanceName(name) || strings.Contains(name, ":") {
				t.Errorf("device %q", name)
			}
		}
		devices.parse([]byte("8 0 sda\n8 1 sda1\n"))
		for i := range blkioFiles {
			blkioFiles[i].parse(text, devices, func(device int, _ [5]uint64) {
				if device < 0 || device > 1 {
					t.Error(device)
				}
			})
		}
		var io ioStat
		io.parse(text)
	})
}

// sameParse checks that a reused value and a new one are equal after parse.
func sameParse[T comparable](t *testing.T, name string, text []byte, used *T, parse func(*T, []byte)) {
	t.Helper()
	var fresh T
	parse(used, text)
	if parse(&fresh, text); *used != fresh {
		t.Errorf("%s: %+v, want %+v", name, *used, fresh)
	}
}

func checkNames(t *testing.T, names []string) {
	t.Helper()
	known := map[string]bool{}
	for _, name := range names {
		if known[name] || !pmda.ValidInstanceName(name) {
			t.Errorf("name %q", name)
		}
		known[name] = true
	}
}

// FuzzCgroupName checks that each path yields a valid instance name of one word.
func FuzzCgroupName(f *testing.F) {
	f.Add([]byte(`/a\x2db\xzz\x`))
	f.Add([]byte(`/\xc2\x9b \x20\x00`))
	var w cgroupWalk
	f.Fuzz(func(t *testing.T, path []byte) {
		name := string(w.cgroupName(append([]byte("/"), path...)))
		if !pmda.ValidInstanceName(name) || strings.Contains(name, " ") || name[0] != '/' {
			t.Errorf("%q is %q", path, name)
		}
		isOfContainer([]byte(name), "docker-")
	})
}

// TestIsOfContainer checks that a container has only the groups with its name and those below them.
func TestIsOfContainer(t *testing.T) {
	for _, tt := range []struct {
		group, container string
		want             bool
	}{
		{"/lxc/web", "lxc/web", true},
		{"/lxc/web", "/lxc/web", true},
		{"/lxc/web/init.scope", "lxc/web", true},
		{"/lxc/web2", "lxc/web", false},
		{"/lxc/web-2", "lxc/web", false},
		{"/lxc", "lxc/web", false},
		{"/system.slice/docker-0123.scope", "docker-0123", true},
		{"/system.slice/docker-0123.scope", "docker-0123.scope", true},
		{"/system.slice/docker-01234.scope", "docker-0123", false},
		{"/docker-0123.scope/inner", "docker-0123", true},
		{"/machine.slice/web", "web", true},
		{"/machine.slice/web.old", "web", false},
	} {
		if got := isOfContainer([]byte(tt.group), tt.container); got != tt.want {
			t.Errorf("group %q of container %q: %v, want %v", tt.group, tt.container, got, tt.want)
		}
	}
}

// TestCgroupMounts checks mounts without a device and with blanks in the path.
func TestCgroupMounts(t *testing.T) {
	got := parseCgroupMounts([]byte(" /sys/fs/cgroup cgroup2 rw 0 0\ncgroup /a\\040b cgroup rw,cpu 0 0\ncgroup /a\\040b cgroup rw,memory 0 0\n/dev/sda1 / ext4 rw 0 0\n"))
	want := []cgroupMount{
		{name: "/sys/fs/cgroup", dir: "/sys/fs/cgroup", unified: true},
		{name: `/a\040b`, dir: "/a b", options: []string{"rw", "cpu"}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(cgroupMount{})); diff != "" {
		t.Error("(-want +got)\n", diff)
	}
}
