// Package hostpattern reads the names of hosts in access rules, with wildcards, as PCP has them.
package hostpattern

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Pattern stands for the peers whose address is Addr where Mask has ones. If Addr is not valid,
// it stands for all peers without an IP address: those on unix sockets, and those in this process.
type Pattern struct {
	Name       string // as the rule has it
	Addr, Mask netip.Addr
	Level      int // 0 for a single host; it grows with the number of hosts
}

// Matches reports whether the pattern matches a peer. The zero Addr is a peer without an IP
// address.
func (r Pattern) Matches(peer netip.Addr) bool {
	if !r.Addr.IsValid() || !peer.IsValid() {
		return r.Addr.IsValid() == peer.IsValid()
	}
	if r.Addr.BitLen() != peer.BitLen() {
		return false
	}
	addr, mask, p := r.Addr.As16(), r.Mask.As16(), peer.As16()
	for i := range p {
		if p[i]&mask[i] != addr[i] {
			return false
		}
	}
	return true
}

// PeerAddr returns the IP address of a peer, or the zero Addr if the peer lacks one.
func PeerAddr(addr net.Addr) netip.Addr {
	var ip netip.Addr
	switch a := addr.(type) {
	case *net.TCPAddr:
		ip = a.AddrPort().Addr()
	case nil, *net.UnixAddr: // whose name, the peer's choice, may look like an IP address
	default:
		if ap, err := netip.ParseAddrPort(a.String()); err == nil && strings.HasPrefix(a.Network(), "tcp") {
			ip = ap.Addr()
		}
	}
	return ip.Unmap().WithZone("")
}

// A Resolver makes patterns of names. Its zero value asks the system. One goroutine at a time.
type Resolver struct {
	LookupHost func(name string) ([]netip.Addr, error) // nil asks the system's resolver
	Hostname   func() (string, error)                  // nil is os.Hostname

	local []netip.Addr
}

// An UnresolvedError says that a host has no address.
type UnresolvedError struct {
	Host string
	Err  error
}

func (e *UnresolvedError) Error() string { return fmt.Sprintf("no address for %q: %v", e.Host, e.Err) }
func (e *UnresolvedError) Unwrap() error { return e.Err }

// A SyntaxError says why there can be no such pattern, in pmcd's words.
type SyntaxError string

func (e SyntaxError) Error() string { return string(e) }

func syntaxErrorf(format string, args ...any) error { return SyntaxError(fmt.Sprintf(format, args...)) }

// Patterns returns the patterns of a host specification, and warnings about parts of it without a
// meaning:
//
//   - all              level 4 for IPv4, 8 for IPv6, 1 for unix sockets
//     .*  :*  ::*     all of a family
//     1.2.*           by octets        level 3, 2, 1
//     fe80:1:*        by groups        8 less the groups
//     unix:           unix sockets     1
//     local:          unix: and localhost
//     localhost       the addresses of this host's name
//     NAME, ADDRESS   a host           0
func (n *Resolver) Patterns(spec string) (patterns []Pattern, warnings []string, err error) {
	all4 := Pattern{Name: ".*", Addr: netip.IPv4Unspecified(), Mask: netip.IPv4Unspecified(), Level: 4}
	all6 := Pattern{Name: ":*", Addr: netip.IPv6Unspecified(), Mask: netip.IPv6Unspecified(), Level: 8}
	unix := Pattern{Name: "unix:", Level: 1}
	if i := strings.IndexByte(spec, '*'); i >= 0 && i < len(spec)-1 {
		return nil, nil, syntaxErrorf("Wildcard in host pattern \"%s\" is not at the end", spec)
	}
	scheme, path, _ := strings.Cut(spec, ":")
	socket := (scheme == "unix" || scheme == "local") && len(spec) > len(scheme)
	if socket && strings.Trim(path, "/*") != "" {
		warnings = []string{fmt.Sprintf("Ignoring the path in host pattern \"%s\"", path)}
	}
	switch {
	case spec == "*":
		return []Pattern{all4, all6, unix}, nil, nil
	case spec == ".*":
		return []Pattern{all4}, nil, nil
	case spec == ":*", spec == "::*":
		all6.Name = spec
		return []Pattern{all6}, nil, nil
	case socket && scheme == "unix":
		return []Pattern{unix}, warnings, nil
	case socket:
		return append([]Pattern{unix}, hosts("localhost", n.Local())...), warnings, nil
	case strings.HasSuffix(spec, "*") && strings.Contains(spec, ":"):
		patterns, err = wildcard6(spec)
		return patterns, nil, err
	case strings.HasSuffix(spec, "*"):
		patterns, err = wildcard4(spec)
		return patterns, nil, err
	case strings.EqualFold(spec, "localhost"):
		return hosts(spec, n.Local()), nil, nil
	}
	addrs, err := n.resolve(spec)
	if err != nil {
		return nil, nil, &UnresolvedError{spec, err}
	}
	return hosts(spec, addrs), nil, nil
}

func hosts(name string, addrs []netip.Addr) []Pattern {
	var patterns []Pattern
	for _, addr := range addrs {
		var ones [16]byte
		for i := range ones {
			ones[i] = 0xff
		}
		mask := netip.AddrFrom16(ones)
		if addr.Is4() {
			mask = netip.AddrFrom4([4]byte(ones[:]))
		}
		patterns = append(patterns, Pattern{Name: name, Addr: addr, Mask: mask})
	}
	return patterns
}

// wildcard4 reads "A.*" to "A.B.C.*"; the last dot may be missing unless it is
// the only one.
func wildcard4(spec string) ([]Pattern, error) {
	octets := strings.Split(strings.TrimSuffix(strings.TrimSuffix(spec, "*"), "."), ".")
	bad := !strings.Contains(spec, ".")
	var addr, mask [4]byte
	for i, octet := range octets {
		v, err := strconv.ParseUint(octet, 10, 8)
		bad = bad || err != nil
		if i < len(addr) {
			addr[i], mask[i] = byte(v), 0xff
		}
	}
	switch {
	case bad:
		return nil, syntaxErrorf("Bad IP address wildcard, %s", spec)
	case len(octets) >= len(addr):
		return nil, syntaxErrorf("Too many dots in host pattern \"%s\"", spec)
	}
	return []Pattern{{Name: spec, Addr: netip.AddrFrom4(addr), Mask: netip.AddrFrom4(mask), Level: 4 - len(octets)}}, nil
}

// wildcard6 reads "G:*" to "G:G:G:G:G:G:G:*". One group but the first may be
// empty: it stands for as many groups as are missing, which like the last group
// may be anything.
func wildcard6(spec string) ([]Pattern, error) {
	groups := strings.Split(strings.TrimSuffix(strings.TrimSuffix(spec, "*"), ":"), ":")
	empty := 0
	var addr, mask [16]byte
	at := 0
	var bad bool
	for i, g := range groups {
		if g == "" {
			empty++
			at = 2 * max(0, 8-(len(groups)-i)) // those after it end before the last group
			continue
		}
		v, err := strconv.ParseUint(g, 16, 16)
		bad = bad || err != nil
		if at < len(addr)-2 {
			addr[at], addr[at+1] = byte(v>>8), byte(v)
			mask[at], mask[at+1] = 0xff, 0xff
		}
		at += 2
	}
	switch {
	case empty > 1:
		return nil, syntaxErrorf("Too many empty regions in host pattern \"%s\"", spec)
	case bad || groups[0] == "":
		return nil, syntaxErrorf("Bad IPv6 address wildcard, %s", spec)
	case len(groups) > 7:
		return nil, syntaxErrorf("Too many colons in host pattern \"%s\"", spec)
	}
	return []Pattern{{Name: spec, Addr: netip.AddrFrom16(addr), Mask: netip.AddrFrom16(mask), Level: 8 - len(groups)}}, nil
}

// resolve finds the addresses of a host.
func (n *Resolver) resolve(host string) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr.WithZone("")}, nil
	}
	if host == "" {
		return nil, errors.New("empty name")
	}
	found, err := n.lookup(host)
	var addrs []netip.Addr
	for _, addr := range found {
		if addr = addr.Unmap().WithZone(""); !slices.Contains(addrs, addr) {
			addrs = append(addrs, addr)
		}
	}
	if err == nil && addrs == nil {
		err = errors.New("unknown host")
	}
	return addrs, err
}

// lookup asks the resolver.
func (n *Resolver) lookup(name string) ([]netip.Addr, error) {
	if n.LookupHost != nil {
		return n.LookupHost(name)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return net.DefaultResolver.LookupNetIP(ctx, "ip", name)
}

// Local are the addresses of this host's name, or else those of localhost.
func (n *Resolver) Local() []netip.Addr {
	if n.local != nil {
		return n.local
	}
	var err error
	hostname := n.Hostname
	if hostname == nil {
		hostname = os.Hostname
	}
	name, _ := hostname()
	if n.local, err = n.resolve(name); err != nil {
		if n.local, err = n.resolve("localhost"); err != nil {
			n.local = []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
		}
	}
	return n.local
}
