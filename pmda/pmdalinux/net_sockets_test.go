package pmdalinux_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// socketTree returns a tree with sockets of every state, one more of each state than of the one
// before.
func socketTree() files {
	const title = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
	var b strings.Builder
	b.WriteString(title)
	for state := 1; state <= 12; state++ {
		for n := range state {
			fmt.Fprintf(&b, "%4d: 0100007F:%04X 00000000:0000 %02X 00000000:00000000 00:00000000 00000000     0        0 %d 2 0000000000000000 100 0 0 10 0\n",
				n, n, state, 100*state+n)
		}
	}
	f := files{}
	for _, name := range []string{"tcp", "tcp6", "udp", "udp6", "raw", "raw6"} {
		f["proc/net/"+name] = b.String()
	}
	b.Reset()
	b.WriteString("Num       RefCount Protocol Flags    Type St Inode Path\n")
	for kind := 1; kind <= 5; kind++ {
		for state := 1; state <= 4; state++ {
			for n := range 2*kind + state {
				fmt.Fprintf(&b, "0000000000000000: 00000002 00000000 00010000 %04d %02d %d /run/a b%d\n", kind, state, n, n)
			}
		}
	}
	f["proc/net/unix"] = b.String()
	return f
}

// TestSocketsSameAsC compares the counts with those of the C agent. All counts differ.
func TestSocketsSameAsC(t *testing.T) {
	root := socketTree().write(t)
	their, our := cAgent(t, root), ourAgent(t, root)
	var names []string
	for _, name := range commonMetrics(t, our, their) {
		if strings.Contains(name, "conn.") || strings.Contains(name, "conn6.") || strings.HasPrefix(name, "network.unix.") {
			names = append(names, name)
		}
	}
	if len(names) != 32 {
		t.Error("there are other metrics:", names)
	}
	want := their.snapshot(names)
	for _, d := range differences(names, want, our.snapshot(names), want) {
		t.Error(d)
	}
}

// TestSockets checks that a list with a malformed line has no counts.
func TestSockets(t *testing.T) {
	const title = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
	const udp = "   0: 00000000:07E8 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 630 1\n"
	const unix = "0000000000000000: 00000003 00000000 00000000 0001 03 626\n"
	const none = "Metric not supported by this version of monitored application"
	const bad = ": Generic error, already reported above\n"
	for _, tt := range []struct{ name, udp, unix, listen, stream string }{
		{"good", title + udp + udp, title + unix, " 2\n", " 1\n"},
		{"no sockets", title, title, " 0\n", " 0\n"},
		{"empty", "", "", bad, bad},
		{"cut", title + udp[:40], title + unix + unix[:len(unix)-1], bad, bad},
		{"missing", title + udp + "\n", title + "0: 1 2 3 0001\n", bad, bad},
		{"names of several lines", title + udp, title + unix[:len(unix)-1] + " @a\n\nb: c\n0: 1 2\n" + unix, " 1\n", " 2\n"},
		{"words", title + "0: a b xx c\n", title + "0: 1 2 3 000x 01\n", bad, bad},
		{"no state", title + "0: a b 107 c\n", title + "0: 1 2 3 0001 x\n", bad, bad},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := files{"proc/net/udp": tt.udp, "proc/net/unix": tt.unix}.valuesOf(t, "network.udpconn.listen", "network.unix.stream.count")
			if diff := cmp.Diff("network.udpconn.listen"+tt.listen+"network.unix.stream.count"+tt.stream, got); diff != "" {
				t.Error("(-want +got)\n", diff)
			}
		})
	}
	if got := (files{}).valuesOf(t, "network.rawconn.count"); got != "network.rawconn.count: "+none+"\n" {
		t.Error("without a file: ", got)
	}
}

func TestSocketsAllocs(t *testing.T) {
	allocatesNothing(t, socketTree().write(t), "network.tcpconn.listen", "network.udpconn6.listen", "network.rawconn.count", "network.unix.stream.count")
}
