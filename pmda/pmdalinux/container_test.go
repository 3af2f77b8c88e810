package pmdalinux_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/pmdalinux"
)

// containerTree is a machine with a container, whose first process has the ID 15.
var containerTree = files{
	"proc/net/dev":      titles + "    lo: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n  eth0: 5 1 0 0 0 0 0 0 6 1 0 0 0 0 0 0\n",
	"proc/self/mounts":  "/dev/sda1 / ext4 rw 0 0\n",
	"proc/stat":         "cpu 1 2 3 4\ncpu0 1 2 3 4\nintr 7\n",
	"proc/net/if_inet6": "00000000000000000000000000000001 01 80 10 80       lo\n",

	"proc/15/net/dev":            titles + "  veth: 7 1 0 0 0 0 0 0 8 1 0 0 0 0 0 0\n    lo: 3 1 0 0 0 0 0 0 3 1 0 0 0 0 0 0\n",
	"proc/15/mounts":             "/dev/sda2 / ext4 ro 0 0\n",
	"proc/15/root/x":             "",
	"proc/15/net/if_inet6":       "fd000000000000000000000000000002 04 40 00 80     veth\n",
	"sys/class/net/lo/mtu":       "65536\n",
	"sys/class/net/eth0/mtu":     "1500\n",
	"sys/class/net/lo/address":   "00:00:00:00:00:00\n",
	"sys/class/net/eth0/address": "02:00:00:00:00:01\n",

	"proc/15/root/sys/class/net/veth/mtu":     "1400\n",
	"proc/15/root/sys/class/net/veth/address": "02:00:00:00:00:02\n",
}

// containersOf returns an agent on a tree that knows the containers web (running), stopped and
// ended.
func containersOf(t *testing.T, tree files) *pmda.Agent {
	t.Helper()
	a, err := pmdalinux.New(pmdalinux.Options{Root: tree.write(t), ContainerProcess: func(_ context.Context, name string) (int, error) {
		pid, ok := map[string]int{"web": 15, "stopped": -1, "ended": 16}[name]
		if !ok {
			return 0, pdu.ErrNoContainer
		}
		return pid, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// request returns a request of a client that selects a container.
func request(container string) *pmda.Request {
	c := pmda.NewClient(1, 1)
	c.Container = container
	return &pmda.Request{Client: c}
}

// fetched returns the number of values of metrics that a client gets, and the 64-bit numbers.
func fetched(t *testing.T, a *pmda.Agent, container string, names ...string) (string, error) {
	t.Helper()
	ids := make([]pdu.PMID, len(names))
	for i, name := range names {
		id, err := a.Namespace().Lookup(name)
		if err != nil {
			t.Fatal(name, err)
		}
		ids[i] = id
	}
	var w pdu.ResultWriter
	if err := a.Fetch(t.Context(), request(container), ids, &w); err != nil {
		return "", err
	}
	r, err := w.Result()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	i := 0
	for _, set := range r.All() {
		if i >= len(ids) || set.PMID != ids[i] {
			t.Fatalf("set %d is of %v", i, set.PMID)
		}
		d, err := a.Desc(t.Context(), request(container), ids[i])
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(&b, names[i])
		if set.Err() != nil {
			fmt.Fprint(&b, " ", set.Err())
		}
		for inst, value := range set.All(d.Type) {
			fmt.Fprintf(&b, " %d=%v", int32(inst), value)
		}
		b.WriteByte('\n')
		i++
	}
	return strings.ReplaceAll(b.String(), `"`, ""), nil
}

// TestContainer checks that a client of a container gets the container's network and file systems
// and the machine's other metrics in one fetch. The instance IDs are those of the machine and do
// not depend on the order of the clients.
func TestContainer(t *testing.T) {
	a := containersOf(t, containerTree)
	names := []string{"kernel.all.intr", "network.interface.in.bytes", "network.interface.mtu", "network.interface.hw_addr",
		"kernel.all.cpu.user", "network.interface.ipv6_addr", "filesys.readonly", "hinv.ninterface"}
	for container, want := range map[string]string{
		"web": `kernel.all.intr -1=7
network.interface.in.bytes 0=3 2=7
network.interface.mtu 2=1400
network.interface.hw_addr 2=02:00:00:00:00:02
kernel.all.cpu.user -1=10
network.interface.ipv6_addr 2=fd00::2/64
filesys.readonly 1=1
hinv.ninterface -1=2
`,
		"": `kernel.all.intr -1=7
network.interface.in.bytes 0=1 1=5
network.interface.mtu 0=65536 1=1500
network.interface.hw_addr 0=00:00:00:00:00:00 1=02:00:00:00:00:01
kernel.all.cpu.user -1=10
network.interface.ipv6_addr 0=::1/128
filesys.readonly 0=0
hinv.ninterface -1=2
`,
	} {
		if container == "web" {
			fetched(t, a, "", names...) // assigns their IDs
		}
		got, err := fetched(t, a, container, names...)
		if diff := cmp.Diff(want, sortedAddresses(got)); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got)\n%s", container, err, diff)
		}
	}
	for container, want := range map[string]string{"": "lo eth0", "web": "lo veth"} {
		var list []string
		instances, err := a.Instances(t.Context(), request(container), pdu.MakeInDom(pmdalinux.Domain, 3), pdu.NoInst, "")
		for _, i := range instances {
			list = append(list, i.Name)
		}
		if got := strings.Join(list, " "); got != want || err != nil {
			t.Errorf("instances of %q: %s, %v", container, got, err)
		}
		sets, err := a.Labels(t.Context(), request(container), pdu.LabelsOfInstances(pdu.MakeInDom(pmdalinux.Domain, 3)))
		if len(sets) != 2 || err != nil {
			t.Errorf("labels of %q: %v, %v", container, sets, err)
		}
	}
}

// sortedAddresses numbers the instances of addresses as if the directory had been listed in the
// order lo, eth0. File systems list a directory in any order.
func sortedAddresses(got string) string {
	return strings.NewReplacer(
		"hw_addr 0=02:00:00:00:00:01 1=00:00:00:00:00:00", "hw_addr 0=00:00:00:00:00:00 1=02:00:00:00:00:01",
		"ipv6_addr 1=::1/128", "ipv6_addr 0=::1/128").Replace(got)
}

// TestContainerErrors checks that requests for a container that does not run or that is unknown
// fail as with PCP's agent.
func TestContainerErrors(t *testing.T) {
	a := containersOf(t, containerTree)
	for container, want := range map[string]error{"stopped": syscall.EPERM, "ended": syscall.EPERM} {
		for _, name := range []string{"network.interface.in.bytes", "filesys.readonly", "kernel.uname.nodename", "pmda.uname"} {
			if got, err := fetched(t, a, container, "kernel.all.intr", name); !errors.Is(err, want) {
				t.Errorf("%s of %s: %q, %v", name, container, got, err)
			}
		}
		if list, err := a.Instances(t.Context(), request(container), pdu.MakeInDom(pmdalinux.Domain, 3), pdu.NoInst, ""); !errors.Is(err, want) {
			t.Errorf("instances of %s: %v, %v", container, list, err)
		}
		if got, err := fetched(t, a, container, "kernel.all.intr"); got != "kernel.all.intr -1=7\n" || err != nil {
			t.Errorf("of the machine for %s: %q, %v", container, got, err)
		}
	}
	none, err := pmdalinux.New(pmdalinux.Options{Root: containerTree.write(t)})
	if err != nil {
		t.Fatal(err)
	}
	for container, a := range map[string]*pmda.Agent{"nosuch": a, "web": none} {
		if got, err := fetched(t, a, container, "kernel.all.intr"); !errors.Is(err, pdu.ErrNoContainer) {
			t.Errorf("%s: %q, %v", container, got, err)
		}
		if list, err := a.Instances(t.Context(), request(container), pdu.MakeInDom(pmdalinux.Domain, 1), pdu.NoInst, ""); !errors.Is(err, pdu.ErrNoContainer) {
			t.Errorf("instances of %s: %v, %v", container, list, err)
		}
	}
}

// TestManyContainers serves many clients of many containers at the same time.
func TestManyContainers(t *testing.T) {
	tree := files{"proc/stat": "cpu 1 2 3 4\n"}
	for pid := 1; pid <= 200; pid++ {
		tree[fmt.Sprintf("proc/%d/net/dev", pid)] = fmt.Sprintf("%sveth%d: %d 1 0 0 0 0 0 0 6 1 0 0 0 0 0 0\n", titles, pid, pid)
	}
	a, err := pmdalinux.New(pmdalinux.Options{Root: tree.write(t), ContainerProcess: func(_ context.Context, name string) (int, error) { return strconv.Atoi(name) }})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for pid := 1; pid <= 200; pid++ {
				got, err := fetched(t, a, strconv.Itoa(pid), "network.interface.in.bytes")
				if !strings.HasSuffix(got, fmt.Sprintf("=%d\n", pid)) || strings.Count(got, "=") != 1 || err != nil {
					t.Errorf("%d: %q, %v", pid, got, err)
				}
			}
		})
	}
	wg.Wait()
}
