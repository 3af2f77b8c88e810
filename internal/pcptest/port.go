package pcptest

import (
	"math/rand/v2"
	"net"
	"testing"
)

// FreePort returns ports from firstPort up to lastPort. Nothing listens there by chance: systems
// choose the ports of clients, and of servers that let them choose, from 16000 (gVisor), 32768
// (Linux) or higher.
const (
	firstPort = 10000
	lastPort  = 15999
)

// FreePort returns a TCP port without a listener. Until the test ends no other caller gets the
// port, in any process. Tests of several packages run at once, and one could otherwise connect to
// the server of another.
func FreePort(t testing.TB) int {
	t.Helper()
	const tries = 1000
	for range tries {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		// The UDP port of the same number is the reservation: it is this process's alone, and ends
		// with it.
		reserved, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
		if err != nil {
			continue
		}
		if free(port) {
			t.Cleanup(func() { reserved.Close() })
			return port
		}
		reserved.Close()
	}
	t.Fatalf("pcptest: no free port from %d to %d in %d tries", firstPort, lastPort, tries)
	return 0
}

// free says whether a server could listen on a port, on all addresses as on one.
func free(port int) bool {
	for _, ip := range []net.IP{nil, net.IPv4(127, 0, 0, 1)} {
		ln, err := net.ListenTCP("tcp", &net.TCPAddr{IP: ip, Port: port})
		if err != nil {
			return false
		}
		ln.Close()
	}
	return true
}
