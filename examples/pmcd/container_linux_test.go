package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// containerScript makes its process, which has separate namespaces, a container until its input
// ends.
const containerScript = `set -e
mount --make-rprivate /
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tmpfs -o size=3m,nr_inodes=100 conttmp /mnt
hostname conthost1
ip link set lo up
echo ready
exec cat
`

// containerIDs are the IDs of containers as docker has them, by their names.
var containerIDs = map[string]string{
	"web": fmt.Sprintf("c0ffee%08x", os.Getpid()) + strings.Repeat("0", 50), "host": strings.Repeat("1", 64), "stopped": strings.Repeat("2", 64), "dead": strings.Repeat("3", 64),
}

// dockerDir writes a directory as docker has it.
func dockerDir(t *testing.T, pids map[string]int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, pid := range pids {
		of := filepath.Join(dir, "containers", containerIDs[name])
		text := fmt.Sprintf(`{"State":{"Running":%t,"Paused":false,"Restarting":false,"Pid":%d},"ID":"%s","Name":"/%s"}`, pid != 0, pid, containerIDs[name], name)
		if err := os.MkdirAll(of, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(of, "config.v2.json"), []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// joinCgroup makes a process the only member of a control group, named as docker names that of a
// container, in a hierarchy that PCP knows. ok is false if the machine lacks the hierarchy.
func joinCgroup(t *testing.T, pid int, id string) (ok bool) {
	t.Helper()
	mount := "/sys/fs/cgroup/memory"
	if _, err := os.Stat(mount + "/cgroup.procs"); err != nil {
		return false
	}
	dir := filepath.Join(mount, "docker", id)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return false
	}
	t.Cleanup(func() { // before the container ends
		os.WriteFile(filepath.Join(mount, "cgroup.procs"), fmt.Appendln(nil, pid), 0)
		os.Remove(dir)
		os.Remove(filepath.Dir(dir)) // unless others are in it
	})
	return os.WriteFile(filepath.Join(dir, "cgroup.procs"), fmt.Appendln(nil, pid), 0) == nil
}

// withRoot starts a pmcd with pmdaroot, whose socket it returns, and the agents of the kernel and
// of processes.
func withRoot(t *testing.T, program, docker, linux, proc string) (p *pcptest.PMCD, socket string) {
	t.Helper()
	vars := pcptest.ShortDir(t)
	for _, sub := range []string{"pmcd", "config/pmda"} {
		if err := os.MkdirAll(filepath.Join(vars, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	pmdas := pcptest.Conf("PCP_PMDAS_DIR")
	set := pcptest.Agents(t, "pmcd")
	p = pcptest.StartPMCD(t, pcptest.Config{
		Program: program,
		PMNS:    pcptest.Names(t, "pmcd", "linux", "proc"),
		Agents: []string{ // pmcd's own agent connects to pmdaroot when it starts
			fmt.Sprintf("root 1 pipe binary %s/root/pmdaroot -l %s/root.log", pmdas, vars),
			strings.TrimSpace(set.Conf),
			fmt.Sprintf("linux 60 pipe binary %s -d 60 -l %s/linux.log", linux, vars),
			fmt.Sprintf("proc 3 pipe binary %s -d 3 -l %s/proc.log", proc, vars),
		},
		Env: append(set.Env, "PMCD_ROOT_AGENT=1", "PCP_VAR_DIR="+vars, "PCP_DOCKER_DIR="+docker, "PCP_LXC_DIR="+vars+"/none",
			"PCP_PODMAN_DATADIR="+vars+"/none", "PCP_PODMAN_RUNDIR="+vars+"/none"),
	})
	return p, filepath.Join(vars, "pmcd", "root.socket")
}

// steadyInContainer are metrics that stay the same in a container without traffic, and that PCP's
// agents have right.
var steadyInContainer = []string{
	"kernel.uname.nodename", "kernel.uname.release", "pmda.uname", "hinv.machine", "hinv.ninterface", "hinv.nfilesys", "hinv.ncpu",
	"network.interface.in.bytes", "network.interface.out.packets", "network.interface.mtu", "network.interface.up", "network.interface.hw_addr",
	"network.interface.inet_addr", "network.interface.ipv6_addr", "network.all.in.bytes", "network.sockstat.tcp.inuse", "network.sockstat.udp.inuse",
	"network.tcpconn.established", "network.tcpconn.listen", "network.udpconn.listen", "network.rawconn.count", "network.unix.stream.listen",
	"network.unix.datagram.count", "network.ip.inreceives", "network.tcp.activeopens", "network.udp.indatagrams",
	"filesys.mountdir", "filesys.capacity", "filesys.readonly",
}

// steadyOnHost are those of them that stay the same on the machine.
var steadyOnHost = []string{"kernel.uname.nodename", "pmda.uname", "network.interface.mtu", "network.interface.hw_addr", "network.interface.inet_addr", "filesys.mountdir"}

// TestInteropContainers: clients that ask for a container see the same of it under C pmcd, with
// PCP's agents, and under ours, with our agents: values, instances and errors.
func TestInteropContainers(t *testing.T) {
	pmdas := pcptest.Conf("PCP_PMDAS_DIR")
	pcptest.Need(t, "pmcd", "pminfo", "pmval", filepath.Join(pmdas, "root", "pmdaroot"))
	pid := pcptest.StartContainer(t, syscall.CLONE_NEWPID, nil, containerScript)
	inCgroup := joinCgroup(t, pid, containerIDs["web"])
	docker := dockerDir(t, map[string]int{"web": pid, "host": os.Getpid(), "stopped": 0, "dead": 1 << 30})
	theirs, theirSocket := withRoot(t, "", docker, filepath.Join(pmdas, "linux", "pmdalinux"), filepath.Join(pmdas, "proc", "pmdaproc"))
	ours, ourSocket := withRoot(t, pcptest.Build(t, "./examples/pmcd"), docker, pcptest.Build(t, "./examples/pmdalinux"), pcptest.Build(t, "./examples/pmdaproc"))
	run := func(p *pcptest.PMCD, container string, argv ...string) string {
		t.Helper()
		host := "pcp://" + p.Addr()
		if container != "" {
			host += "?container=" + container
		}
		out, errs, status := pcptest.Run(t, nil, "", append([]string{argv[0], "-h", host}, argv[1:]...)...)
		return fmt.Sprint(out, errs, status)
	}
	checkRootSocket(t, theirSocket, pid)
	checkRootSocket(t, ourSocket, pid)
	for _, tt := range []struct {
		containers []string
		metrics    []string
		want       string
	}{
		{[]string{"", "host", containerIDs["host"]}, steadyOnHost, "nodename"},
		{[]string{"web", containerIDs["web"], containerIDs["web"][:15]}, steadyInContainer, `"conthost1"`},
		{[]string{"stopped", "dead"}, steadyInContainer, "Operation not permitted"},
		{[]string{"nosuch", strings.Repeat("n", 200)}, append([]string{"proc.nprocs", "cgroup.subsys.count", "hotproc.nprocs", "disk.all.read"}, steadyInContainer...), "Container not found"},
	} {
		for _, container := range tt.containers {
			for _, argv := range [][]string{append([]string{"pminfo", "-f"}, tt.metrics...), {"pminfo", "-f", "pmcd.hostname", "pmcd.client.container"}} {
				c, our := run(theirs, container, argv...), run(ours, container, argv...)
				if diff := cmp.Diff(c, our); diff != "" || argv[2] != "pmcd.hostname" && !strings.Contains(our, tt.want) {
					t.Errorf("%q: %s (-C +ours)\n%s", container, argv, diff)
				}
			}
		}
	}
	for _, container := range []string{"web", "stopped", "nosuch"} {
		for _, argv := range [][]string{{"pmval", "-s", "1", "network.interface.mtu"}, {"pminfo", "-f", "kernel.all.hz"}, {"pminfo", "-dm", "network.interface.mtu"}, {"pminfo", "--labels", "kernel.uname.nodename"}} {
			c, our := run(theirs, container, argv...), run(ours, container, argv...)
			if diff := cmp.Diff(c, our); diff != "" {
				t.Errorf("%q: %s (-C +ours)\n%s", container, argv, diff)
			}
		}
	}
	// PCP's agents have these wrong: they call statfs on the machine, and look for the control
	// group at a fixed place.
	if out := run(ours, "web", "pminfo", "-f", "tmpfs.capacity", "tmpfs.maxfiles"); !strings.Contains(out, `or "/mnt"] value 3072`+"\n") || !strings.Contains(out, `or "/mnt"] value 100`+"\n") {
		t.Errorf("tmpfs of the container: %s", out)
	}
	if !inCgroup {
		t.Log("this machine has no control groups of version 1, in which PCP would look for containers")
		return
	}
	if out := run(ours, "web", "pminfo", "-f", "proc.nprocs", "cgroup.memory.usage"); !strings.Contains(out, "proc.nprocs\n    value 1\n") ||
		strings.Count(out, "inst [") != 1 || !strings.Contains(out, "/docker/"+containerIDs["web"]) {
		t.Errorf("processes and groups of the container: %s", out)
	}
}
