package collector

import (
	"net"
	"testing"
	"time"
)

// A from is a connection with a given remote address.
type from struct {
	net.Conn
	addr net.Addr
}

func (c from) RemoteAddr() net.Addr { return c.addr }

// TestHostNames checks that tables have the name of a client's host, or its address if the time for
// lookups is used up.
func TestHostNames(t *testing.T) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	c, err := net.Dial("tcp4", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	late := newHostNames(-time.Second)
	defer late.end()
	if name := late.of(from{c, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 200)}}); name != "192.0.2.200" {
		t.Errorf("the name when it is too late is %q", name)
	}
	names := newHostNames(time.Minute)
	defer names.end()
	want, err := net.LookupAddr("127.0.0.1")
	if err != nil || len(want) == 0 {
		t.Skip("the system has no name of 127.0.0.1: ", err)
	}
	for range 2 { // looked up, then cached
		if name := names.of(c); name != want[0] || names.byAddr["127.0.0.1"] != name {
			t.Errorf("the name is %q, want %q; kept are %v", name, want[0], names.byAddr)
		}
	}
}
