package pmdalinux_test

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestProtocols compares the values of good and damaged files.
func TestProtocols(t *testing.T) {
	const none = "Metric not supported by this version of monitored application"
	names := []string{"network.icmpmsg.intype", "network.icmpmsg.outtype", "network.mptcp.rmaddr", "network.sockstat.frag6.memory",
		"network.sockstat.tcp.inuse", "network.sockstat.tcp.mem", "network.tcp.maxconn", "network.tcp.timewaited", "network.udp.indatagrams",
		"network.udp.noports", "network.udp6.indatagrams", "network.udp6.noports"}
	for _, tt := range []struct {
		name string
		tree files
		want []string // by name
	}{
		{"no files", files{}, []string{": " + none, ": " + none, ": " + none, ": " + none, ": " + none, ": " + none,
			": " + none, ": " + none, ": " + none, ": " + none, ": " + none, ": " + none}},
		{"empty", files{"proc/net/snmp": "", "proc/net/netstat": "", "proc/net/snmp6": "", "proc/net/sockstat": "", "proc/net/sockstat6": ""},
			[]string{"", "", "", ": " + none, ": " + none, ": " + none, "", "", "", "", ": " + none, ": " + none}},
		{"good", files{
			"proc/net/snmp": "IcmpMsg: InType0 OutType8 InType255 OutType256\nIcmpMsg: 1 2 3 4\n" +
				"Tcp: RtoAlgorithm New MaxConn\nTcp: 1 7 -1\nUdp: NoPorts InDatagrams\nUdp: 18446744073709551615 6\n",
			"proc/net/netstat":   "TcpExt: TCPLoss TW\nTcpExt: 4 5\nMPTcpExt: RmAddr TW\nMPTcpExt: 9 8\n",
			"proc/net/snmp6":     "Udp6InDatagrams                 \t34\nUdp6New 1\nUdp6NoPorts 2\n",
			"proc/net/sockstat":  "sockets: used 3\nTCP: mem 7 inuse 6 new 8\n",
			"proc/net/sockstat6": "FRAG6: inuse 0 memory 2147483647\n",
		}, []string{` 0 "Type0" 1 255 "Type255" 3`, ` 8 "Type8" 2`, " 9", " 2147483647", " 6", " 7", " 18446744073709551615", " 5", " 6",
			" 18446744073709551615", " 34", " 2"}},
		{"cut short", files{
			"proc/net/snmp":      "Udp: InDatagrams NoPorts\nUdp: 1 2",
			"proc/net/netstat":   "TcpExt: TW\n",
			"proc/net/snmp6":     "Udp6InDatagrams 34\nUdp6NoPorts 2",
			"proc/net/sockstat":  "TCP: inuse 6 mem\n",
			"proc/net/sockstat6": "FRAG6: inuse 0 memory 21",
		}, []string{"", "", "", ": " + none, " 6", ": " + none, "", "", "", "", " 34", ": " + none}},
		{"damaged", files{
			"proc/net/snmp": "IcmpMsg: InType0\nTcp: MaxConn\nTcp: 99999999999999999999\nUdp: InDatagrams NoPorts\nUdp: x 2\n" +
				"Udp InDatagrams\n\n:\n: 1\n",
			"proc/net/netstat":   "TcpExt: TW New\nTcpExt: 1 2 3\nMPTcpExt: RmAddr New\nMPTcpExt: 1\n",
			"proc/net/snmp6":     "Udp6InDatagrams\nUdp6NoPorts 2 3\n\x00\n",
			"proc/net/sockstat":  "TCP inuse 6\nTCP: inuse 2147483648 mem -2147483649\n",
			"proc/net/sockstat6": "FRAG6: memory -\n",
		}, []string{"", "", "", ": " + none, ": " + none, ": " + none, "", "", "", " 2", ": " + none, ": " + none}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var want strings.Builder
			for i, name := range names {
				want.WriteString(name + tt.want[i] + "\n")
			}
			if diff := cmp.Diff(want.String(), tt.tree.valuesOf(t, names...)); diff != "" {
				t.Error("(-want +got)\n", diff)
			}
		})
	}
}

// protocolFiles returns this machine's files of protocols, with numbers that all differ.
func protocolFiles(t testing.TB) files {
	t.Helper()
	f, next := files{}, 1000
	number := regexp.MustCompile(`(?m)[ \t]-?[0-9]+\b`)
	for _, name := range []string{"proc/net/snmp", "proc/net/netstat", "proc/net/snmp6", "proc/net/sockstat", "proc/net/sockstat6"} {
		text, err := os.ReadFile("/" + name)
		if err != nil {
			t.Skip("no Linux: ", err)
		}
		f[name] = number.ReplaceAllStringFunc(string(text), func(s string) string {
			next++
			return s[:1] + strconv.Itoa(next)
		})
	}
	return f
}

// TestProtocolsSameAsC compares the counters of protocols with those of the C agent. All counters
// differ.
func TestProtocolsSameAsC(t *testing.T) {
	root := protocolFiles(t).write(t)
	their, our := cAgent(t, root), ourAgent(t, root)
	protocol := regexp.MustCompile(`^network\.(ip|icmp|icmpmsg|tcp|udp|udplite|mptcp|ip6|icmp6|udp6|udplite6|sockstat)\.`)
	var names []string
	for _, name := range commonMetrics(t, our, their) {
		if protocol.MatchString(name) {
			names = append(names, name)
		}
	}
	want, got := their.snapshot(names), our.snapshot(names)
	for _, d := range differences(names, want, got, want) {
		t.Error(d)
	}
	seen := 0
	for _, name := range names {
		seen += len(got.values[name])
	}
	if seen < 200 {
		t.Errorf("only %d values of %d metrics", seen, len(names))
	}
}

func TestProtocolsAllocs(t *testing.T) {
	allocatesNothing(t, protocolFiles(t).write(t), "network.tcp.insegs", "network.tcp.timewaited", "network.udp6.indatagrams",
		"network.icmpmsg.intype", "network.sockstat.tcp.inuse", "network.sockstat.tcp6.inuse")
}

func BenchmarkProtocols(b *testing.B) {
	fetch := steadyFetch(b, protocolFiles(b).write(b), "network.tcp.insegs", "network.tcp.timewaited", "network.udp6.indatagrams")
	b.ReportAllocs()
	for b.Loop() {
		fetch()
	}
}
