package pmdalinux

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
	"github.com/pcp-go/pcp/pmda/pmdalinux/internal/sockdiag"
)

// A countedList is a list of sockets and its counts.
type countedList struct {
	*socketList
	copy func() []uint32 // returns the counts
}

// listOf returns a list of this machine or of another root directory.
func listOf(l *linux, name string) countedList {
	if name == "unix" {
		u := &unixSockets{}
		list, _ := l.socketList(name, u.parse, u.count)
		return countedList{list, func() []uint32 {
			c := u.counts
			return []uint32{c.Datagram, c.Stream, c.Connected, c.Unconnected}
		}}
	}
	family, protocol := uint8(syscall.AF_INET), uint8(syscall.IPPROTO_TCP)
	if strings.HasSuffix(name, "6") {
		family = syscall.AF_INET6
	}
	if strings.HasPrefix(name, "udp") {
		protocol = syscall.IPPROTO_UDP
	}
	s := &inetSockets{diag: sockdiag.Counter{Family: family, Protocol: protocol}}
	list, _ := l.socketList(name, s.parse, s.count)
	return countedList{list, func() []uint32 { return append(s.counts.State[:], s.counts.All) }}
}

// thisMachine returns an unfinished agent for this machine.
func thisMachine() *linux { return newLinux(Options{Root: "/"}) }

// needsNetlink skips a test if netlink does not list such sockets.
func needsNetlink(t testing.TB, name string) {
	t.Helper()
	if err := listOf(thisMachine(), name).count(); err != nil {
		t.Skip("this kernel, or sandbox, has no netlink for these sockets: ", err)
	}
}

// openEachState opens sockets in as many states as one program can cause.
func openEachState(t *testing.T, ip string) {
	t.Helper()
	closeAtEnd := func(c interface{ Close() error }, err error) {
		t.Helper()
		if err != nil {
			t.Skip("no such sockets: ", err)
		}
		t.Cleanup(func() { c.Close() })
	}
	address := net.JoinHostPort(ip, "0")
	ln, err := net.Listen("tcp", address)
	closeAtEnd(ln, err)
	for _, closes := range []int{0, 0, 0, 1, 1, 2} {
		near, err := net.Dial("tcp", ln.Addr().String())
		closeAtEnd(near, err)
		far, err := ln.Accept()
		closeAtEnd(far, err)
		if closes > 0 {
			near.(*net.TCPConn).CloseWrite() // now in FIN_WAIT2 and CLOSE_WAIT
		}
		if closes > 1 {
			far.Close() // TIME_WAIT on one side
		}
	}
	for range 4 {
		open, err := net.ListenPacket("udp", address)
		closeAtEnd(open, err)
		bound, err := net.Dial("udp", open.LocalAddr().String())
		closeAtEnd(bound, err)
	}
}

// openUnix opens Unix domain sockets that listen, are connected, or neither.
func openUnix(t *testing.T) {
	t.Helper()
	for i := range 3 {
		path := filepath.Join(t.TempDir(), "s")
		ln, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ln.Close() })
		for range i + 2 { // one of them is accepted
			c, err := net.Dial("unix", path)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
		}
		c, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		for _, kind := range []int{syscall.SOCK_STREAM, syscall.SOCK_DGRAM, syscall.SOCK_SEQPACKET} {
			fd, err := syscall.Socket(syscall.AF_UNIX, kind|syscall.SOCK_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { syscall.Close(fd) })
		}
	}
}

// TestNetlinkSameAsFile checks that netlink and the file have the same number of sockets of each
// kind and state.
func TestNetlinkSameAsFile(t *testing.T) {
	inet4 := func(t *testing.T) { openEachState(t, "127.0.0.1") }
	inet6 := func(t *testing.T) { openEachState(t, "::1") }
	for name, open := range map[string]func(*testing.T){"tcp": inet4, "tcp6": inet6, "udp": inet4, "udp6": inet6, "unix": openUnix} {
		t.Run(name, func(t *testing.T) {
			needsNetlink(t, name)
			open(t)
			fromNetlink, fromFile := listOf(thisMachine(), name), listOf(thisMachine(), name)
			if fromNetlink.count == nil {
				t.Fatal("the list of this machine does not come from netlink")
			}
			fromFile.count = nil
			sameCounts(t, fromNetlink, fromFile)
			if !fromNetlink.retry.IsZero() {
				t.Error("the file was read, as netlink failed")
			}
		})
	}
}

// sameCounts compares the counts of two lists. Other programs open and close sockets, so it
// compares each count until the second list has the same value before and after the first.
func sameCounts(t *testing.T, one, other countedList) {
	t.Helper()
	var same map[int]bool
	for n := 0; n < 100 && (n == 0 || len(same) < len(one.copy())); n++ {
		before, now, after := refreshed(t, other), refreshed(t, one), refreshed(t, other)
		if n == 0 {
			same = map[int]bool{}
		}
		for i := range now {
			if before[i] == now[i] && now[i] == after[i] {
				same[i] = true
			}
		}
	}
	if len(same) < len(one.copy()) {
		t.Errorf("of the counts %d, wanted %d, only %v were ever the same", one.copy(), other.copy(), slices.Sorted(maps.Keys(same)))
	}
}

// refreshed counts the sockets of a list.
func refreshed(t testing.TB, list countedList) []uint32 {
	t.Helper()
	if err := list.refresh(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	return list.copy()
}

// TestNetlinkOnlyOfThisMachine checks that the list of another root directory is read from its
// file.
func TestNetlinkOnlyOfThisMachine(t *testing.T) {
	for root, want := range map[string]bool{"/": true, "//": true, "/./": true, t.TempDir(): false, "/proc/..": true} {
		for _, name := range []string{"tcp", "unix"} {
			if got := listOf(newLinux(Options{Root: root}), name).count != nil; got != want {
				t.Errorf("sockets of %s are counted by netlink: %v", root, got)
			}
		}
	}
}

// TestNetlinkFails checks that if netlink fails, the file is read, and netlink is not tried again
// for some time.
func TestNetlinkFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tcp")
	writeSockets(t, path, 3)
	list := listOf(thisMachine(), "tcp")
	list.file = &procfile.File{Path: path}
	tries := 0
	fails := errors.New("no netlink")
	list.count = func() error { tries++; return fails }
	for _, n := range []int{3, 5, 2} {
		writeSockets(t, path, n)
		if got := refreshed(t, list); got[10] != uint32(n) || got[len(got)-1] != uint32(n) {
			t.Errorf("counted %d, want %d that listen", got, n)
		}
	}
	if wait := time.Until(list.retry); tries != 1 || wait <= 0 || wait > retryNetlink {
		t.Errorf("netlink was tried %d times, and is again after %v", tries, wait)
	}
	list.retry = time.Now().Add(-time.Second)
	refreshed(t, list)
	if tries != 2 || time.Until(list.retry) <= 0 {
		t.Errorf("netlink was tried %d times", tries)
	}
	fails, list.retry = nil, time.Now().Add(-time.Second)
	refreshed(t, list)
	if refreshed(t, list); tries != 4 || !list.retry.IsZero() {
		t.Errorf("netlink was tried %d times, and works", tries)
	}
}

// writeSockets writes a list of n listening sockets.
func writeSockets(t *testing.T, path string, n int) {
	t.Helper()
	text := "  sl  local_address rem_address   st\n"
	for i := range n {
		text += strconv.Itoa(i) + ": 0100007F:4E02 00000000:0000 0A 0\n"
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestNetlinkWithoutFile checks that netlink is not used if the kernel has no list, as without
// IPv6.
func TestNetlinkWithoutFile(t *testing.T) {
	list := listOf(thisMachine(), "tcp6")
	list.file = &procfile.File{Path: filepath.Join(t.TempDir(), "tcp6")}
	if err := list.refresh(t.Context(), nil); !errors.Is(err, pdu.ErrAppVersion) {
		t.Error(err)
	}
}

// BenchmarkSockets opens many TCP sockets and counts the machine's through netlink and from the
// file.
func BenchmarkSockets(b *testing.B) {
	const opened = 5000
	needsNetlink(b, "tcp")
	for range opened {
		ln, err := net.Listen("tcp4", "127.0.0.1:0")
		if errors.Is(err, syscall.EMFILE) {
			b.Skip("too few descriptors: ", err)
		}
		if err != nil {
			b.Fatal(err)
		}
		defer ln.Close()
	}
	for _, from := range []string{"netlink", "file"} {
		b.Run(fmt.Sprintf("sockets=%d/from=%s", opened, from), func(b *testing.B) {
			list := listOf(thisMachine(), "tcp")
			if from == "file" {
				list.count = nil
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := list.refresh(b.Context(), nil); err != nil {
					b.Fatal(err)
				}
			}
			if n := list.copy()[10]; n < opened {
				b.Errorf("%d sockets listen", n)
			}
		})
	}
}
