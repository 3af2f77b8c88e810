package hostpattern

import (
	"errors"
	"net"
	"net/netip"
	"testing"
)

// resolver returns a Resolver that knows two hosts. One of them is this host.
func resolver() *Resolver {
	return &Resolver{
		LookupHost: func(name string) ([]netip.Addr, error) {
			switch name {
			case "here":
				return []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("fe80::1%eth0")}, nil
			case "there":
				return []netip.Addr{netip.MustParseAddr("::ffff:10.0.0.2")}, nil
			}
			return nil, errors.New("no such host")
		},
		Hostname: func() (string, error) { return "here", nil },
	}
}

func TestPatterns(t *testing.T) {
	for _, tt := range []struct {
		spec       string
		matches    []string // "" stands for a peer without an address
		others     []string
		level      int // of the first
		unresolved bool
	}{
		{spec: "*", matches: []string{"1.2.3.4", "::1", ""}, level: 4},
		{spec: ".*", matches: []string{"1.2.3.4"}, others: []string{"::1", ""}, level: 4},
		{spec: ":*", matches: []string{"::1"}, others: []string{"1.2.3.4", ""}, level: 8},
		{spec: "10.0.*", matches: []string{"10.0.0.9"}, others: []string{"10.1.0.9", "::1"}, level: 2},
		{spec: "fe80:1:*", matches: []string{"fe80:1::5"}, others: []string{"fe80:2::5"}, level: 6},
		{spec: "unix:*", matches: []string{""}, others: []string{"1.2.3.4"}, level: 1},
		{spec: "local:*", matches: []string{"", "10.0.0.1", "fe80::1"}, others: []string{"10.0.0.2"}, level: 1},
		{spec: "localhost", matches: []string{"10.0.0.1", "fe80::1"}, others: []string{"127.0.0.1"}},
		{spec: "there", matches: []string{"10.0.0.2"}, others: []string{"10.0.0.1"}},
		{spec: "10.0.0.2", matches: []string{"10.0.0.2"}, others: []string{"10.0.0.3"}},
		{spec: "nowhere", unresolved: true},
	} {
		patterns, _, err := resolver().Patterns(tt.spec)
		_, unresolved := errors.AsType[*UnresolvedError](err)
		if unresolved != tt.unresolved || err != nil && !unresolved || err == nil && patterns[0].Level != tt.level {
			t.Errorf("%s: %v, %v", tt.spec, patterns, err)
		}
		match := func(peer string) bool {
			addr, _ := netip.ParseAddr(peer)
			for _, p := range patterns {
				if p.Matches(addr) {
					return true
				}
			}
			return false
		}
		for _, peer := range tt.matches {
			if !match(peer) {
				t.Errorf("%s does not match %q", tt.spec, peer)
			}
		}
		for _, peer := range tt.others {
			if match(peer) {
				t.Errorf("%s matches %q", tt.spec, peer)
			}
		}
	}
	for _, spec := range []string{"1.*.3", "1.2.3.4.*", "256.*", "a.*", "x:*", "::1::*", ""} {
		if patterns, _, err := resolver().Patterns(spec); err == nil {
			t.Errorf("%q: %v", spec, patterns)
		}
	}
}

func TestPeerAddr(t *testing.T) {
	for _, tt := range []struct {
		addr net.Addr
		want string
	}{
		{&net.TCPAddr{IP: net.ParseIP("1.2.3.4"), Port: 5}, "1.2.3.4"},
		{&net.TCPAddr{IP: net.ParseIP("fe80::1"), Port: 5, Zone: "eth0"}, "fe80::1"},
		{&net.UnixAddr{Name: "1.2.3.4:5", Net: "unix"}, "invalid IP"},
		{nil, "invalid IP"},
	} {
		if got := PeerAddr(tt.addr).String(); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.addr, got, tt.want)
		}
	}
}
