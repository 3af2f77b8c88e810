package pmdalinux_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// liveInterfaces are metrics of network interfaces that come from system calls, not from a tree,
// with the reason.
var liveInterfaces = map[string]string{
	"network.interface.mtu":        "SIOCGIFMTU, where a speed in /sys cannot be read",
	"network.interface.speed":      "SIOCETHTOOL",
	"network.interface.baudrate":   "SIOCETHTOOL",
	"network.interface.duplex":     "SIOCETHTOOL",
	"network.interface.up":         "SIOCGIFFLAGS",
	"network.interface.running":    "SIOCGIFFLAGS",
	"network.interface.type":       "SIOCETHTOOL",
	"network.interface.wireless":   "SIOCGIWRATE",
	"network.interface.virtual":    "zero where the others are by ioctl",
	"network.interface.inet_addr":  "SIOCGIFCONF",
	"network.interface.ipv6_addr":  "instances are numbered after those of inet_addr",
	"network.interface.ipv6_scope": "instances are numbered after those of inet_addr",
	"network.interface.hw_addr":    "instances are numbered after those of inet_addr",
	"ipc.msg.mapent":               "IPC_INFO",
	"ipc.msg.max_defmsgq":          "IPC_INFO",
	"ipc.msg.max_msgqid":           "IPC_INFO",
	"ipc.msg.max_msgseg":           "IPC_INFO",
	"ipc.msg.max_msgsz":            "IPC_INFO",
	"ipc.msg.max_seg":              "IPC_INFO",
	"ipc.msg.num_smsghdr":          "IPC_INFO",
	"ipc.msg.sz_pool":              "IPC_INFO",
	"ipc.sem.max_exit":             "IPC_INFO",
	"ipc.sem.max_ops":              "IPC_INFO",
	"ipc.sem.max_perid":            "IPC_INFO",
	"ipc.sem.max_sem":              "IPC_INFO",
	"ipc.sem.max_semid":            "IPC_INFO",
	"ipc.sem.max_semmap":           "IPC_INFO",
	"ipc.sem.max_semval":           "IPC_INFO",
	"ipc.sem.max_undoent":          "IPC_INFO",
	"ipc.sem.num_undo":             "IPC_INFO",
	"ipc.sem.sz_semundo":           "IPC_INFO",
	"ipc.shm.max_seg":              "IPC_INFO",
	"ipc.shm.max_segproc":          "IPC_INFO",
	"ipc.shm.max_segsz":            "IPC_INFO",
	"ipc.shm.max_shmsys":           "IPC_INFO",
	"ipc.shm.min_segsz":            "IPC_INFO",
	"ipc.msg.tot_bytes":            "SHM_INFO and its like",
	"ipc.msg.tot_msg":              "SHM_INFO and its like",
	"ipc.msg.used_queues":          "SHM_INFO and its like",
	"ipc.sem.tot_sem":              "SHM_INFO and its like",
	"ipc.sem.used_sem":             "SHM_INFO and its like",
	"ipc.shm.rss":                  "SHM_INFO and its like",
	"ipc.shm.swap_attempts":        "SHM_INFO and its like",
	"ipc.shm.swap_successes":       "SHM_INFO and its like",
	"ipc.shm.swp":                  "SHM_INFO and its like",
	"ipc.shm.tot":                  "SHM_INFO and its like",
	"ipc.shm.used_ids":             "SHM_INFO and its like",
}

// madeUpInterfaces are values that the C agent invents: an unknown speed is 2³²−1 Mbit/s, an
// unknown kind of interface is 0, and without /proc/net/snmp there is no limit. It truncates limits
// that are too long.
var madeUpInterfaces = map[string]string{
	"network.interface.speed":    "5.12e+08",
	"network.interface.baudrate": "536870911875000",
	"network.interface.type":     "0",
	"network.interface.virtual":  "0",
	"network.tcp.maxconn":        "18446744073709551615",
	"vfs.files.max":              "-1",
	"ipc.shm.max_segsz":          "4278190079",
	"ipc.shm.max_shmsys":         "4278190079",
}

const titles = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
`

// interfaces is a tree with interfaces of several kinds. All have a readable speed, so that the C
// agent looks at no files outside the tree.
var interfaces = func() files {
	f := files{"proc/net/dev": titles, "proc/net/if_inet6": `fd000000000000000000000000000002 04 40 00 82     eth7
00000000000000000000000000000001 01 80 10 80       lo
fe8000000000000000fc00fffe000001 04 40 20 80     eth7
20010db8000000000001000000000001 06 08 40 80      br0
00000000000000000000ffffc0000201 06 07 05 80    bond0
000000000000000000000000c0000201 06 60 80 80     tun1
fd000000000000000000000000000007 06 60 00 80    wlan9
`}
	for i, name := range []string{"lo", "eth7", "wlan9", "br0", "bond0", "tun1", "virbr0-nic", "eth0.10", "veth0", "docker0", "virbr0", "a|b"} {
		f["proc/net/dev"] += fmt.Sprintf("%6s: %d 2 3 4 5 6 7 8 9 10 11 12 13 14 15 18446744073709551615\n", name, 100*i)
		dir := "sys/class/net/" + name + "/"
		for file, text := range map[string]string{"mtu": "1500", "speed": "100", "flags": "0x1043", "operstate": "up",
			"type": "1", "address": fmt.Sprintf("02:fc:00:00:00:%02x", i), "duplex": "full"} {
			f[dir+file] = text + "\n"
		}
	}
	for name, text := range map[string]string{
		"lo/mtu": "65536", "lo/type": "772", "lo/flags": "0x49", "lo/speed": "0", "lo/operstate": "unknown", "lo/duplex": "unknown",
		"eth7/speed": "10000", "eth7/duplex": "half", "br0/flags": "0x1002", "br0/operstate": "down", "wlan9/speed": "-1",
		"bond0/speed": "4294967295", "tun1/type": "65534", "tun1/address": "",
		"veth0/flags": "0x1003", "veth0/operstate": "lowerlayerdown",
		"docker0/address": "80:00:02:08:fe:80:00:00:00:00:00:00:f4:52:14:03:00:7b:cb:a1",
	} {
		f["sys/class/net/"+name] = text + "\n"
	}
	f["sys/class/net/wlan9/wireless/x"] = ""
	f["sys/devices/virtual/net/lo/x"] = ""
	f["sys/devices/virtual/net/br0/x"] = ""
	return f
}()

// TestInterfacesSameAsC compares the metrics of interfaces with those of the C agent, on a tree
// that has all of them.
func TestInterfacesSameAsC(t *testing.T) {
	root := interfaces.write(t)
	their, our := cAgent(t, root), ourAgent(t, root)
	var names []string
	for _, name := range commonMetrics(t, our, their) {
		if strings.HasPrefix(name, "network.interface") && name != "network.interface.inet_addr" || strings.HasPrefix(name, "network.all") {
			names = append(names, name)
		}
	}
	want := their.snapshot(names)
	for _, d := range differences(names, want, our.snapshot(names), want) {
		t.Error(d)
	}
}

// TestInterfaces compares the values of good and damaged files.
func TestInterfaces(t *testing.T) {
	const line = "lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"
	eth := func(s string) files { return files{"proc/net/dev": titles + line + "  eth0:" + s} }
	for _, tt := range []struct {
		name string
		tree files
		want string
	}{
		{"good", eth("1 2 3 4 5 6 7 8 900 10 11 12 13 14 15 16\n" + "eth1: 1 2 3 4 5 6 7 8 900 10 11 12 13 14 15 16\n"), `hinv.ninterface 3
network.all.in.bytes 2
network.all.total.bytes 1802
network.interface.in.bytes 0 "lo" 1 1 "eth0" 1 2 "eth1" 1
network.interface.out.compressed 0 "lo" 16 1 "eth0" 16 2 "eth1" 16
network.interface.total.bytes 0 "lo" 10 1 "eth0" 901 2 "eth1" 901
`},
		{"control characters in a name", files{"proc/net/dev": titles + line + "\x1b[2J: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\neth0: 1 2 3 4 5 6 7 8 900 10 11 12 13 14 15 16\n"}, `hinv.ninterface 2
network.all.in.bytes 1
network.all.total.bytes 901
network.interface.in.bytes 0 "lo" 1 1 "eth0" 1
network.interface.out.compressed 0 "lo" 16 1 "eth0" 16
network.interface.total.bytes 0 "lo" 10 1 "eth0" 901
`},
		{"aliases", eth("7 2 3 4 5 6 7 8 900 10 11 12 13 14 15 16\n" + "eth0:30: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\neth1:0: 3 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\neth1:5 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"), `hinv.ninterface 5
network.all.in.bytes 16
network.all.total.bytes 943
network.interface.in.bytes 0 "lo" 1 1 "eth0" 7 2 "eth0:30" 1 3 "eth1:0" 3 4 "eth1" 5
network.interface.out.compressed 0 "lo" 16 1 "eth0" 16 2 "eth0:30" 16 3 "eth1:0" 16 4 "eth1" 16
network.interface.total.bytes 0 "lo" 10 1 "eth0" 907 2 "eth0:30" 10 3 "eth1:0" 12 4 "eth1" 14
`},
		{"no interface", files{"proc/net/dev": titles}, `hinv.ninterface 0
network.all.in.bytes 0
network.all.total.bytes 0
network.interface.in.bytes
network.interface.out.compressed
network.interface.total.bytes
`},
		{"empty", files{"proc/net/dev": ""}, `hinv.ninterface
network.all.in.bytes
network.all.total.bytes
network.interface.in.bytes
network.interface.out.compressed
network.interface.total.bytes
`},
		{"cut short", eth("1 2 3 4"), `hinv.ninterface
network.all.in.bytes
network.all.total.bytes
network.interface.in.bytes 0 "lo" 1
network.interface.out.compressed 0 "lo" 16
network.interface.total.bytes 0 "lo" 10
`},
		{"fewer columns", eth("1 2 3 4\n"), `hinv.ninterface 2
network.all.in.bytes 1
network.all.total.bytes
network.interface.in.bytes 0 "lo" 1 1 "eth0" 1
network.interface.out.compressed 0 "lo" 16
network.interface.total.bytes 0 "lo" 10
`},
		{"words and huge numbers", eth("x 2 3 4 5 6 7 8 18446744073709551616 10 11 12 13 14 15 16\n"), `hinv.ninterface 2
network.all.in.bytes
network.all.total.bytes
network.interface.in.bytes 0 "lo" 1
network.interface.out.compressed 0 "lo" 16 1 "eth0" 16
network.interface.total.bytes 0 "lo" 10
`},
		{"zeros and no name", eth("1\x00 2 3 4 5 6 7 8 9 10 11 12 13 14 15 \x00\n: 1 2 3\n"), `hinv.ninterface
network.all.in.bytes
network.all.total.bytes
network.interface.in.bytes 0 "lo" 1
network.interface.out.compressed 0 "lo" 16
network.interface.total.bytes 0 "lo" 10
`},
		{"twice", eth("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n" + line + "eth0: 5\n"), `hinv.ninterface 2
network.all.in.bytes 1
network.all.total.bytes 10
network.interface.in.bytes 0 "lo" 1 1 "eth0" 1
network.interface.out.compressed 0 "lo" 16 1 "eth0" 16
network.interface.total.bytes 0 "lo" 10 1 "eth0" 10
`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.tree.valuesOf(t, "hinv.ninterface", "network.all.in.bytes", "network.all.total.bytes", "network.interface.in.bytes",
				"network.interface.out.compressed", "network.interface.total.bytes")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error("(-want +got)\n", diff)
			}
		})
	}
}

// TestInterfaceAttributes checks that unknown and damaged attributes have no value.
func TestInterfaceAttributes(t *testing.T) {
	tree := files{"proc/net/dev": titles, "sys/class/net/bonding_masters": "bond0\n"}
	for name, of := range map[string]map[string]string{
		"eth0": {"mtu": "1500\n", "speed": "25000\n", "duplex": "full\n", "flags": "0x1003\n", "operstate": "dormant\n", "type": "1\n",
			"phy80211/name": "phy0\n", "address": "02:fc:00:00:00:0a\n"},
		"eth1": {"mtu": "x\n", "speed": "-1\n", "duplex": "unknown\n", "flags": "1003\n", "type": "-1\n", "address": "02:fc:0g:00:00:0a\n"},
		"eth2": {"mtu": "15", "speed": "99999999999\n", "duplex": "", "flags": "0xyz\n", "type": "\x00\x01", "address": "02:fc"},
		"eth3": {"mtu": strings.Repeat("0", 5000) + "\n", "flags": "0x1003\n", "address": "02:fc:\n"},
		"eth4": {"flags": "0x1002\n", "speed": "2500\n", "address": "\n"},
	} {
		tree["proc/net/dev"] += name + ": 1\n"
		for file, text := range of {
			tree["sys/class/net/"+name+"/"+file] = text
		}
	}
	tree["proc/net/dev"] += "..: 1\n../eth4: 1\neth5: 1\n"
	tree["sys/devices/virtual/net/eth4/"] = ""
	want := `network.interface.baudrate "eth0" 3125000000 "eth4" 312500000
network.interface.duplex "eth0" 2
network.interface.hw_addr "eth0" 02:fc:00:00:00:0a
network.interface.mtu "eth0" 1500
network.interface.running "eth0" 0 "eth4" 0
network.interface.speed "eth0" 2980.2322 "eth4" 298.02322
network.interface.type "eth0" 1
network.interface.up "eth0" 1 "eth3" 1 "eth4" 0
network.interface.virtual "eth0" 0 "eth1" 0 "eth2" 0 "eth3" 0 "eth4" 1
network.interface.wireless "eth0" 1 "eth1" 0 "eth2" 0 "eth3" 0 "eth4" 0
`
	var got strings.Builder
	our := ourAgent(t, tree.write(t))
	for line := range strings.Lines(want) {
		name, _, _ := strings.Cut(line, " ")
		got.WriteString(name)
		p := our.snapshot([]string{name})
		for _, inst := range []string{"eth0", "eth1", "eth2", "eth3", "eth4", "eth5", "..", "../eth4", "bonding_masters"} {
			for at, v := range p.values[name] {
				if _, of, _ := strings.Cut(at, " "); of == fmt.Sprintf("%q", inst) {
					fmt.Fprintf(&got, " %q %s", inst, text(v))
				}
			}
		}
		got.WriteByte('\n')
	}
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Error("(-want +got)\n", diff)
	}
}

// TestInterfaceAddresses compares the values of good and damaged lists of
// IPv6 addresses.
func TestInterfaceAddresses(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"last of several", `fd000000000000000000000000000002 04 40 00 82     eth0
00000000000000000000000000010001 01 80 10 80       lo
fe8000000000000000fc00fffe000001 04 40 20 80     eth0
00000000000000000000000000000102 06 80 c0 80     tun0
`, `network.interface.ipv6_addr 0 "eth0" fe80::fc:ff:fe00:1/64 1 "lo" ::0.1.0.1/128 2 "tun0" ::102/128
network.interface.ipv6_scope 0 "eth0" Link 1 "lo" Host 2 "tun0" Unknown
`},
		{"control characters in a name", "fd000000000000000000000000000002 04 40 00 82 e\x7fth0\n" +
			"fd000000000000000000000000000002 04 40 00 82 eth1\n", `network.interface.ipv6_addr 0 "eth1" fd00::2/64
network.interface.ipv6_scope 0 "eth1" Global
`},
		{"damaged", `fd00000000000000000000000000000 04 40 00 82 short
fd0000000000000000000000000000022 04 40 00 82 long
gd000000000000000000000000000002 04 40 00 82 digit
fd000000000000000000000000000002 04 81 00 82 prefix
fd000000000000000000000000000002 04 40 100 82 scope
fd000000000000000000000000000002 04 40 00
fd000000000000000000000000000002 04 40 00 82 more eth0

fd000000000000000000000000000002 04 40 00 82 good
fd000000000000000000000000000002 04 40 00 82 cut`, `network.interface.ipv6_addr 0 "good" fd00::2/64
network.interface.ipv6_scope 0 "good" Global
`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := files{"proc/net/if_inet6": tt.text}.valuesOf(t, "network.interface.ipv6_addr", "network.interface.ipv6_scope")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error("(-want +got)\n", diff)
			}
		})
	}
}

// allocatesNothing fails the test if a fetch of metrics on a tree allocates.
func allocatesNothing(t *testing.T, root string, names ...string) {
	t.Helper()
	fetch := steadyFetch(t, root, names...)
	if n := testing.AllocsPerRun(100, fetch); n >= 1 && !raceEnabled {
		t.Errorf("a fetch of %s and others allocates %.1f times", names[0], n)
	}
}

func TestInterfacesAllocs(t *testing.T) {
	allocatesNothing(t, interfaces.write(t), "network.interface.in.bytes", "network.interface.total.bytes", "network.all.in.bytes", "hinv.ninterface")
}

// manyInterfaces returns a tree with n interfaces.
func manyInterfaces(n int) files {
	var b strings.Builder
	b.WriteString(titles)
	for i := range n {
		fmt.Fprintf(&b, "veth%08x: %d 4711 0 0 0 0 0 0 %d 815 0 0 0 0 0 0\n", i*7919, i*1000003, i*999983)
	}
	return files{"proc/net/dev": b.String()}
}

func BenchmarkInterfaces(b *testing.B) {
	for _, n := range []int{10, 1000} {
		b.Run(fmt.Sprintf("interfaces=%d/metrics=8", n), func(b *testing.B) {
			fetch := steadyFetch(b, manyInterfaces(n).write(b), "network.interface.in.bytes", "network.interface.in.packets",
				"network.interface.in.errors", "network.interface.in.drops", "network.interface.out.bytes",
				"network.interface.out.packets", "network.interface.out.errors", "network.interface.out.drops")
			b.ReportAllocs()
			for b.Loop() {
				fetch()
			}
		})
	}
}
