package sockdiag

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// counter is a Counter of the TCP sockets of IPv4, if this kernel counts them.
func counter(t testing.TB) *Counter {
	t.Helper()
	c := &Counter{Family: syscall.AF_INET, Protocol: syscall.IPPROTO_TCP}
	if _, err := c.Count(); err != nil {
		t.Skip("this kernel, or sandbox, has no netlink for sockets: ", err)
	}
	t.Cleanup(c.Close)
	return c
}

// openSockets makes TCP sockets that listen, and returns a function that closes them.
func openSockets(t testing.TB, n int) (closeAll func()) {
	t.Helper()
	var all []net.Listener
	for range n {
		ln, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, ln)
	}
	return func() {
		for _, ln := range all {
			ln.Close()
		}
	}
}

const listening = 10 // the state

// mostOf describes the error if n differs by more than a tenth from opened, the number of sockets
// that the test has opened. Other programs also open and close sockets, so the test is repeated.
func mostOf(opened int, n uint32, what string) (wrong string) {
	if int(n) < opened*9/10 || int(n) > opened*11/10 {
		return fmt.Sprintf("%d more sockets %s, of which %d were opened here", int32(n), what, opened)
	}
	return ""
}

// TestCount counts sockets that are opened, and those that /proc/net/tcp has.
func TestCount(t *testing.T) {
	c := counter(t)
	const opened = 300 // their list takes several parts
	pcptest.Retry(t, func() string {
		before, err := c.Count()
		if err != nil {
			t.Fatal(err)
		}
		defer openSockets(t, opened)()
		after, err := c.Count()
		if err != nil {
			t.Fatal(err)
		}
		return mostOf(opened, after.State[listening]-before.State[listening], "listen")
	})
	if n := testing.AllocsPerRun(20, func() { c.Count() }); n != 0 {
		t.Errorf("%v allocations a count", n)
	}
}

// TestCountUnix counts sockets of the Unix domain that are opened.
func TestCountUnix(t *testing.T) {
	var c UnixCounter
	defer c.Close()
	if _, err := c.Count(); err != nil {
		t.Skip("this kernel, or sandbox, has no netlink for sockets: ", err)
	}
	const opened = 400 // pairs; their list takes several parts
	pcptest.Retry(t, func() string {
		before, err := c.Count()
		if err != nil {
			t.Fatal(err)
		}
		defer openPairs(t, opened)()
		after, err := c.Count()
		if err != nil {
			t.Fatal(err)
		}
		return mostOf(opened, after.Datagram-before.Datagram, "are datagram") + mostOf(opened, after.Stream-before.Stream, "are stream") +
			mostOf(opened, after.Connected-before.Connected, "are connected")
	})
	if n := testing.AllocsPerRun(20, func() { c.Count() }); n != 0 {
		t.Errorf("%v allocations a count", n)
	}
}

// openPairs makes pairs of sockets, half of them streams, and returns a function that closes them.
func openPairs(t *testing.T, n int) (closeAll func()) {
	t.Helper()
	var all []int
	for i := range n {
		pair, err := syscall.Socketpair(syscall.AF_UNIX, []int{syscall.SOCK_STREAM, syscall.SOCK_DGRAM}[i%2]|syscall.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, pair[0], pair[1])
	}
	return func() {
		for _, fd := range all {
			syscall.Close(fd)
		}
	}
}

// TestCountLinear: a count reads as many bytes more as there are sockets more, and nothing
// twice.
func TestCountLinear(t *testing.T) {
	c := counter(t)
	bytes := func() (n int, sockets int) {
		before := c.bytes
		counts, err := c.Count()
		if err != nil {
			t.Fatal(err)
		}
		return c.bytes - before, int(counts.All)
	}
	const most = 512 // bytes that the kernel has to say about a socket
	for range 3 {
		defer openSockets(t, 200)()
		if n, sockets := bytes(); n > most*(sockets+1) || n < inetSocketLength*sockets {
			t.Errorf("%d bytes are read for %d sockets", n, sockets)
		}
	}
}

// TestCountErrors: a protocol that the kernel does not know is an error and no zeros, and a
// closed Counter opens anew.
func TestCountErrors(t *testing.T) {
	c := counter(t)
	for range 3 {
		unknown := &Counter{Family: syscall.AF_INET, Protocol: 250}
		if n, err := unknown.Count(); err == nil || unknown.conn != nil || n != (Counts{}) {
			t.Errorf("%+v, %v", n, err)
		}
	}
	c.conn.close()
	if _, err := c.Count(); !errors.Is(err, syscall.EBADF) {
		t.Error("on a closed descriptor:", err)
	}
	if _, err := c.Count(); err != nil {
		t.Error("opened again:", err)
	}
}

// TestCounterIsCollected: the netlink socket of a Counter that is garbage is closed.
func TestCounterIsCollected(t *testing.T) {
	counter(t) // or skip
	count := func() (n int) {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			if target, _ := os.Readlink("/proc/self/fd/" + e.Name()); strings.HasPrefix(target, "socket:") {
				n++
			}
		}
		return n
	}
	before := count()
	func() {
		for range 50 {
			c := &Counter{Family: syscall.AF_INET, Protocol: syscall.IPPROTO_TCP}
			if _, err := c.Count(); err != nil {
				t.Fatal(err)
			}
		}
	}()
	for n := 0; count() > before+5 && n < 500; n++ {
		runtime.GC()
		time.Sleep(10 * time.Millisecond)
	}
	if n := count(); n > before+5 {
		t.Errorf("%d sockets are open, and were %d", n, before)
	}
}
