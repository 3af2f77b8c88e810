package collector

import (
	"fmt"
	"net"
	"testing"
	"time"
)

// An address may fail as often in a minute as the limit says, at once or evenly; others are not concerned, however many
// there are.
func TestFailedLoginsOfAddresses(t *testing.T) {
	var f failedLogins
	now := time.Unix(1e9, 0)
	failures := func(address string, limit int) (n int) {
		for n < 1000 && f.allowed(address, limit, now) {
			f.add(address, limit, now)
			n++
		}
		return n
	}
	if n := failures("a", 10); n != 10 {
		t.Errorf("%d failures at once, want 10", n)
	}
	if n := failures("b", 0); n != defaultLogins {
		t.Errorf("%d failures at once without a limit of their own, want %d", n, defaultLogins)
	}
	if n := failures("", 10); n != 1000 {
		t.Errorf("%d failures of this process, want no limit", n)
	}
	now = now.Add(12 * time.Second)
	if n := failures("a", 10); n != 2 {
		t.Errorf("%d failures 12 s later, want 2", n)
	}
	for i := range 3 * mostLoginAddresses {
		if !f.allowed(fmt.Sprint(i), 10, now) {
			t.Fatalf("address %d is refused for others", i)
		}
		f.add(fmt.Sprint(i), 10, now)
	}
	if n := len(f.until); n > mostLoginAddresses {
		t.Errorf("%d addresses are remembered", n)
	}
	if f.allowed("a", 10, now) {
		t.Error("one at its limit was forgotten for others that are not")
	}
	now = now.Add(time.Hour)
	f.add("new", 10, now)
	if n := len(f.until); n != 1 {
		t.Errorf("%d addresses are remembered after an hour, want 1", n)
	}
}

type connFrom struct {
	net.Conn
	addr net.Addr
}

func (c connFrom) RemoteAddr() net.Addr { return c.addr }

// A host has one address, whichever of its network's it takes.
func TestLoginAddress(t *testing.T) {
	for _, tt := range []struct {
		addr net.Addr
		want string
	}{
		{&net.TCPAddr{IP: net.ParseIP("192.0.2.7"), Port: 9}, "192.0.2.7/32"},
		{&net.TCPAddr{IP: net.ParseIP("::ffff:192.0.2.7"), Port: 8}, "192.0.2.7/32"},
		{&net.TCPAddr{IP: net.ParseIP("2001:db8::1")}, "2001:db8::/64"},
		{&net.TCPAddr{IP: net.ParseIP("fe80::1:2"), Zone: "eth0"}, "fe80::/64"},
		{&net.UnixAddr{Net: "unix"}, "user -1"},
		{nil, ""},
	} {
		if got := loginAddress(connFrom{addr: tt.addr}); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.addr, got, tt.want)
		}
	}
}
