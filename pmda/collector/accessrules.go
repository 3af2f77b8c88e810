package collector

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// accessNames turns the names in access statements into rules. It asks for what
// it needs once.
type accessNames struct {
	loader *ConfigLoader
	local  []netip.Addr
	users  []accountEntry
	groups []accountEntry
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

func refusal(format string, args ...any) error { return ruleError(fmt.Sprintf(format, args...)) }

// add adds the rule of a statement for one of its specifications. Warnings are
// about parts that could not be added while others were.
func (n *accessNames) add(a *Access, kind, spec string, r accessRule) (warnings []string, err error) {
	switch kind {
	case "user":
		return nil, n.addAccount(&a.users, kind, spec, r)
	case "group":
		return nil, n.addAccount(&a.groups, kind, spec, r)
	}
	rules, warnings, err := n.hostRules(spec)
	if err != nil {
		return warnings, err
	}
	a.local = n.localAddrs()
	var clashes []string
	for _, h := range rules {
		h.accessRule = r
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
func (a *Access) addHost(h hostRule) (clash string) {
	for _, old := range a.hosts {
		if old.level != h.level || old.addr != h.addr || old.mask != h.mask {
			continue
		}
		if old.clash(h.accessRule) {
			return fmt.Sprintf("Permission clash for %s with earlier statement for %s", h.name, old.name)
		}
		old.merge(h.accessRule)
		return ""
	}
	i := 0
	for i < len(a.hosts) && a.hosts[i].level <= h.level {
		i++
	}
	a.hosts = slices.Insert(a.hosts, i, &h)
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
func (n *accessNames) hostRules(spec string) (rules []hostRule, warnings []string, err error) {
	all4 := hostRule{name: ".*", addr: netip.IPv4Unspecified(), mask: netip.IPv4Unspecified(), level: 4}
	all6 := hostRule{name: ":*", addr: netip.IPv6Unspecified(), mask: netip.IPv6Unspecified(), level: 8}
	unix := hostRule{name: "unix:", level: 1}
	if i := strings.IndexByte(spec, '*'); i >= 0 && i < len(spec)-1 {
		return nil, nil, refusal("Wildcard in host pattern \"%s\" is not at the end", spec)
	}
	scheme, path, _ := strings.Cut(spec, ":")
	socket := (scheme == "unix" || scheme == "local") && len(spec) > len(scheme)
	if socket && strings.Trim(path, "/*") != "" {
		warnings = []string{fmt.Sprintf("Ignoring the path in host pattern \"%s\"", path)}
	}
	switch {
	case spec == "*":
		return []hostRule{all4, all6, unix}, nil, nil
	case spec == ".*":
		return []hostRule{all4}, nil, nil
	case spec == ":*", spec == "::*":
		all6.name = spec
		return []hostRule{all6}, nil, nil
	case socket && scheme == "unix":
		return []hostRule{unix}, warnings, nil
	case socket:
		return append([]hostRule{unix}, singleHosts("localhost", n.localAddrs())...), warnings, nil
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

func singleHosts(name string, addrs []netip.Addr) []hostRule {
	var rules []hostRule
	for _, addr := range addrs {
		var ones [16]byte
		for i := range ones {
			ones[i] = 0xff
		}
		mask := netip.AddrFrom16(ones)
		if addr.Is4() {
			mask = netip.AddrFrom4([4]byte(ones[:]))
		}
		rules = append(rules, hostRule{name: name, addr: addr, mask: mask})
	}
	return rules
}

// wildcard4 reads "A.*" to "A.B.C.*"; the last dot may be missing unless it is
// the only one.
func wildcard4(spec string) ([]hostRule, error) {
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
		return nil, refusal("Bad IP address wildcard, %s", spec)
	case len(octets) >= len(addr):
		return nil, refusal("Too many dots in host pattern \"%s\"", spec)
	}
	return []hostRule{{name: spec, addr: netip.AddrFrom4(addr), mask: netip.AddrFrom4(mask), level: 4 - len(octets)}}, nil
}

// wildcard6 reads "G:*" to "G:G:G:G:G:G:G:*". One group but the first may be
// empty: it stands for as many groups as are missing, which like the last group
// may be anything.
func wildcard6(spec string) ([]hostRule, error) {
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
		return nil, refusal("Too many empty regions in host pattern \"%s\"", spec)
	case bad || groups[0] == "":
		return nil, refusal("Bad IPv6 address wildcard, %s", spec)
	case len(groups) > 7:
		return nil, refusal("Too many colons in host pattern \"%s\"", spec)
	}
	return []hostRule{{name: spec, addr: netip.AddrFrom16(addr), mask: netip.AddrFrom16(mask), level: 8 - len(groups)}}, nil
}

// resolve finds the addresses of a host.
func (n *accessNames) resolve(host string) ([]netip.Addr, error) {
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
func (n *accessNames) localAddrs() []netip.Addr {
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

// addAccount adds a rule for a user or group, or merges it with one for the same.
func (n *accessNames) addAccount(l *accountRules, kind, name string, r accessRule) error {
	h := &accountRule{accessRule: r, name: name}
	if name != "*" {
		var err error
		if h.id, h.members, err = n.account(kind, name); err != nil {
			return err
		}
	}
	if !l.any {
		l.any = true
		l.other = accountRule{name: "*", accessRule: accessRule{spec: OpAll, deny: OpAll}}
	}
	old := &l.other
	if name != "*" {
		i := slices.IndexFunc(l.list, func(o *accountRule) bool { return o.id == h.id })
		if i < 0 {
			l.list = append(l.list, h)
			return nil
		}
		old = l.list[i]
	} else if !l.given {
		l.given, l.other = true, *h
		return nil
	}
	if old.clash(r) {
		return refusal("Permission clash for %s %s with earlier statement", kind, name)
	}
	old.merge(r)
	return nil
}

// An account is a user or a group.
type account struct {
	name string
	id   int
}

// An accountEntry is a line of the passwd or of the group file.
type accountEntry struct {
	account
	group   int      // of a user
	members []string // of a group
}

// account finds a user and its groups, or a group and its users.
func (n *accessNames) account(kind, name string) (id int, members []account, err error) {
	if n.users == nil {
		if err := n.readAccounts(); err != nil {
			return 0, nil, err
		}
	}
	named := func(e accountEntry) bool { return e.name == name }
	list, others := n.users, n.groups
	if kind == "group" {
		list, others = n.groups, n.users
	}
	i := slices.IndexFunc(list, named)
	if i < 0 {
		return 0, nil, refusal("Failed to lookup %s \"%s\": No such file or directory", kind, name)
	}
	e := list[i]
	for _, o := range others {
		user, group := e, o
		if kind == "group" {
			user, group = o, e
		}
		switch {
		case user.group == group.id:
			members = slices.Insert(members, 0, o.account) // a user's main group comes first
		case slices.Contains(group.members, user.name):
			members = append(members, o.account)
		}
	}
	return e.id, members, nil
}

// readAccounts reads the passwd and the group file.
func (n *accessNames) readAccounts() error {
	users, err := readAccountFile(n.loader.Accounts, "passwd")
	if err != nil {
		return err
	}
	groups, err := readAccountFile(n.loader.Accounts, "group")
	if err != nil {
		return err
	}
	n.users, n.groups = users, groups
	return nil
}

// readAccountFile reads lines of the form name:password:id:x, where x is a
// user's group, or the names of a group's members.
func readAccountFile(dir fs.FS, name string) ([]accountEntry, error) {
	f, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries := []accountEntry{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20) // a group may have many members
	for lines.Scan() {
		field := strings.Split(lines.Text(), ":")
		if len(field) < 4 {
			continue
		}
		id, err := strconv.ParseUint(field[2], 10, 32)
		if err != nil {
			continue
		}
		e := accountEntry{account: account{field[0], int(id)}, group: -1}
		if name == "passwd" {
			if e.group, err = strconv.Atoi(field[3]); err != nil {
				continue
			}
		} else {
			e.members = strings.Split(field[3], ",")
		}
		entries = append(entries, e)
	}
	return entries, lines.Err()
}
