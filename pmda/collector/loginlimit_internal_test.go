package collector

import (
	"net"
	"testing"
)

type connFrom struct {
	net.Conn
	addr net.Addr
}

func (c connFrom) RemoteAddr() net.Addr { return c.addr }

func TestLoginAddress(t *testing.T) {
	for _, tt := range []struct {
		addr net.Addr
		want string
	}{
		{&net.TCPAddr{IP: net.ParseIP("192.0.2.7"), Port: 9}, "192.0.2.7/32"},
		{&net.TCPAddr{IP: net.ParseIP("fe80::1:2"), Zone: "eth0"}, "fe80::/64"},
		{&net.UnixAddr{Net: "unix"}, "user -1"},
		{nil, ""},
	} {
		if got := loginAddress(connFrom{addr: tt.addr}); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.addr, got, tt.want)
		}
	}
}
