package pmcdconf

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ruleNames makes rules of the names in access statements. It looks each up once.
type ruleNames struct {
	loader *Loader
	local  []netip.Addr
	users  []accountEntry
	groups []accountEntry
	others map[string]bool // the kinds of which a statement was about "*"
}

// An unresolvedError says that a host has no address. pmcd passes over such a
// statement.
type unresolvedError struct {
	host string
	err  error
}

func (e *unresolvedError) Error() string { return fmt.Sprintf("no address for %q: %v", e.host, e.err) }
func (e *unresolvedError) Unwrap() error { return e.err }

// A ruleError says why there can be no such rule, in pmcd's words.
type ruleError string

func (e ruleError) Error() string { return string(e) }

func ruleErrorf(format string, args ...any) error { return ruleError(fmt.Sprintf(format, args...)) }

// add adds the rule of a statement for one of its specifications. Warnings are
// about parts that could not be added while others were.
func (n *ruleNames) add(a *Access, kind, spec string, r Rule) (warnings []string, err error) {
	switch kind {
	case "user":
		return nil, n.addAccount(&a.Users, kind, spec, r)
	case "group":
		return nil, n.addAccount(&a.Groups, kind, spec, r)
	}
	rules, warnings, err := n.hostRules(spec)
	if err != nil {
		return warnings, err
	}
	a.Local = n.localAddrs()
	var clashes []string
	for _, h := range rules {
		h.Rule = r
		if clash := a.addHost(h); clash != "" {
			clashes = append(clashes, clash)
		}
	}
	if len(clashes) == len(rules) {
		return warnings, errors.New(strings.Join(clashes, "; "))
	}
	return append(warnings, clashes...), nil
}

// addHost adds a rule, or merges it with one for the same hosts.
func (a *Access) addHost(h *HostRule) (clash string) {
	for _, old := range a.Hosts {
		if old.Level != h.Level || old.Addr != h.Addr || old.Mask != h.Mask {
			continue
		}
		if old.conflicts(h.Rule) {
			return fmt.Sprintf("Permission clash for %s with earlier statement for %s", h.Name, old.Name)
		}
		old.merge(h.Rule)
		return ""
	}
	i := 0
	for i < len(a.Hosts) && a.Hosts[i].Level <= h.Level {
		i++
	}
	a.Hosts = slices.Insert(a.Hosts, i, h)
	return ""
}

// hostRules are the rules, still without operations, of a host specification:
//
//   - all              level 4 for IPv4, 8 for IPv6, 1 for unix sockets
//     .*  :*  ::*     all of a family
//     1.2.*           by octets        level 3, 2, 1
//     fe80:1:*        by groups        8 less the groups
//     unix:           unix sockets     1
//     local:          unix: and localhost
//     localhost       the addresses of this host's name
//     NAME, ADDRESS   a host           0
func (n *ruleNames) hostRules(spec string) (rules []*HostRule, warnings []string, err error) {
	all4 := &HostRule{Name: ".*", Addr: netip.IPv4Unspecified(), Mask: netip.IPv4Unspecified(), Level: 4}
	all6 := &HostRule{Name: ":*", Addr: netip.IPv6Unspecified(), Mask: netip.IPv6Unspecified(), Level: 8}
	unix := &HostRule{Name: "unix:", Level: 1}
	if i := strings.IndexByte(spec, '*'); i >= 0 && i < len(spec)-1 {
		return nil, nil, ruleErrorf("Wildcard in host pattern \"%s\" is not at the end", spec)
	}
	scheme, path, _ := strings.Cut(spec, ":")
	socket := (scheme == "unix" || scheme == "local") && len(spec) > len(scheme)
	if socket && strings.Trim(path, "/*") != "" {
		warnings = []string{fmt.Sprintf("Ignoring the path in host pattern \"%s\"", path)}
	}
	switch {
	case spec == "*":
		return []*HostRule{all4, all6, unix}, nil, nil
	case spec == ".*":
		return []*HostRule{all4}, nil, nil
	case spec == ":*", spec == "::*":
		all6.Name = spec
		return []*HostRule{all6}, nil, nil
	case socket && scheme == "unix":
		return []*HostRule{unix}, warnings, nil
	case socket:
		return append([]*HostRule{unix}, singleHosts("localhost", n.localAddrs())...), warnings, nil
	case strings.HasSuffix(spec, "*") && strings.Contains(spec, ":"):
		rules, err = wildcard6(spec)
		return rules, nil, err
	case strings.HasSuffix(spec, "*"):
		rules, err = wildcard4(spec)
		return rules, nil, err
	case strings.EqualFold(spec, "localhost"):
		return singleHosts(spec, n.localAddrs()), nil, nil
	}
	addrs, err := n.resolve(spec)
	if err != nil {
		return nil, nil, &unresolvedError{spec, err}
	}
	return singleHosts(spec, addrs), nil, nil
}

func singleHosts(name string, addrs []netip.Addr) []*HostRule {
	var rules []*HostRule
	for _, addr := range addrs {
		var ones [16]byte
		for i := range ones {
			ones[i] = 0xff
		}
		mask := netip.AddrFrom16(ones)
		if addr.Is4() {
			mask = netip.AddrFrom4([4]byte(ones[:]))
		}
		rules = append(rules, &HostRule{Name: name, Addr: addr, Mask: mask})
	}
	return rules
}

// wildcard4 reads "A.*" to "A.B.C.*"; the last dot may be missing unless it is
// the only one.
func wildcard4(spec string) ([]*HostRule, error) {
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
		return nil, ruleErrorf("Bad IP address wildcard, %s", spec)
	case len(octets) >= len(addr):
		return nil, ruleErrorf("Too many dots in host pattern \"%s\"", spec)
	}
	return []*HostRule{{Name: spec, Addr: netip.AddrFrom4(addr), Mask: netip.AddrFrom4(mask), Level: 4 - len(octets)}}, nil
}

// wildcard6 reads "G:*" to "G:G:G:G:G:G:G:*". One group but the first may be
// empty: it stands for as many groups as are missing, which like the last group
// may be anything.
func wildcard6(spec string) ([]*HostRule, error) {
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
		return nil, ruleErrorf("Too many empty regions in host pattern \"%s\"", spec)
	case bad || groups[0] == "":
		return nil, ruleErrorf("Bad IPv6 address wildcard, %s", spec)
	case len(groups) > 7:
		return nil, ruleErrorf("Too many colons in host pattern \"%s\"", spec)
	}
	return []*HostRule{{Name: spec, Addr: netip.AddrFrom16(addr), Mask: netip.AddrFrom16(mask), Level: 8 - len(groups)}}, nil
}

// resolve finds the addresses of a host.
func (n *ruleNames) resolve(host string) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr.WithZone("")}, nil
	}
	if host == "" {
		return nil, errors.New("empty name")
	}
	found, err := n.loader.LookupHost(host)
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

// lookupHost asks the system's resolver.
func lookupHost(name string) ([]netip.Addr, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return net.DefaultResolver.LookupNetIP(ctx, "ip", name)
}

// localAddrs are the addresses of this host's name, or else those of localhost.
func (n *ruleNames) localAddrs() []netip.Addr {
	if n.local != nil {
		return n.local
	}
	var err error
	name, _ := n.loader.Hostname()
	if n.local, err = n.resolve(name); err != nil {
		if n.local, err = n.resolve("localhost"); err != nil {
			n.local = []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
		}
	}
	return n.local
}
