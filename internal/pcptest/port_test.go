package pcptest

import (
	"fmt"
	"net"
	"testing"
)

// No two tests get the same port, however many ask for one.
func TestFreePort(t *testing.T) {
	seen := map[int]bool{}
	for range 300 {
		port := FreePort(t)
		if seen[port] {
			t.Fatalf("port %d was handed out twice", port)
		}
		if port < firstPort || port > lastPort {
			t.Fatalf("port %d is not from %d to %d", port, firstPort, lastPort)
		}
		seen[port] = true
		ln, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			t.Fatal(err)
		}
		ln.Close()
	}
}

// TestPortInUse checks that a port with a listener is not free, and that the port of an ended test
// is.
func TestPortInUse(t *testing.T) {
	var port int
	t.Run("holder", func(t *testing.T) {
		port = FreePort(t)
		if _, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}); err == nil {
			t.Errorf("port %d is not reserved", port)
		}
		for _, addr := range []string{"127.0.0.1", ""} {
			ln, err := net.Listen("tcp", fmt.Sprintf("%s:%d", addr, port))
			if err != nil {
				t.Fatal(err)
			}
			if free(port) {
				t.Errorf("port %d is said to be free while %s is listened on", port, ln.Addr())
			}
			ln.Close()
		}
	})
	reserved, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
	if err != nil {
		t.Fatalf("after the test: %v", err)
	}
	reserved.Close()
}
