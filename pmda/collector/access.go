package collector

import (
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/pcp-go/pcp/pdu"
)

// Ops is a set of the operations that access rules are about.
type Ops uint8

const (
	OpFetch Ops = 1 << iota // all requests but those to store
	OpStore                 // to store values

	OpAll = OpFetch | OpStore // both
)

// Access is the rules for who may do what, as the access section of a
// configuration gives them, and the count of the connections they limit. A nil
// Access allows everything, as does the zero one. Safe for concurrent use.
//
// A rule for hosts has an address, a mask and a level, which is 0 for a single
// host and grows with the number of hosts. Of the rules that match a peer a
// lower level wins, operation by operation; what no rule mentions is allowed.
// Rules for users and groups then only take away: from a client that no such
// rule mentions everything, if there is any.
type Access struct {
	mu     sync.Mutex
	hosts  []*hostRule // by level
	users  accountRules
	groups accountRules
	local  []netip.Addr // what a peer on the loopback interface counts as
}

// An accessRule is what a statement says of those it is about.
type accessRule struct {
	spec  Ops // operations mentioned
	deny  Ops // those of them that are denied
	limit int // of connections, 0 for none
	cur   int // connections that count against limit
}

// clash reports whether the rules cannot stand together.
func (r *accessRule) clash(b accessRule) bool {
	if r.limit != 0 && b.limit != 0 && r.limit != b.limit {
		return true
	}
	return r.spec&b.spec != 0 && r.spec&r.deny != b.spec&b.deny
}

func (r *accessRule) merge(b accessRule) {
	r.spec |= b.spec
	r.deny |= b.deny
	r.limit = max(r.limit, b.limit)
}

func (r *accessRule) full() bool { return r.limit != 0 && r.cur >= r.limit }

// A hostRule is a rule for the peers whose address is addr where the mask has
// ones, or for all unix sockets if addr is not valid.
type hostRule struct {
	accessRule
	name       string
	addr, mask netip.Addr
	level      int
}

func (r *hostRule) matches(peer netip.Addr) bool {
	if !r.addr.IsValid() || !peer.IsValid() {
		return r.addr.IsValid() == peer.IsValid()
	}
	if r.addr.BitLen() != peer.BitLen() {
		return false
	}
	a, m, p := r.addr.As16(), r.mask.As16(), peer.As16()
	for i := range p {
		if p[i]&m[i] != a[i] {
			return false
		}
	}
	return true
}

// nothing is a release that has nothing to give back.
func nothing() {}

// CheckHost says what a peer that has just connected may not do, and counts the
// connection until release is called, which may be done more than once. A peer
// without an IP address, on a unix socket or in memory, is judged as "unix:";
// one on the loopback interface by the addresses of this host's name.
//
// Errors, with which the peer is to be refused: pdu.ErrPermission if it may do
// nothing, pdu.ErrConnLimit if it exceeds the limit of the most specific rule
// that matches. Release is not nil then either.
func (a *Access) CheckHost(addr net.Addr) (denied Ops, release func(), err error) {
	if a == nil || len(a.hosts) == 0 {
		return 0, nothing, nil
	}
	peers := []netip.Addr{peerIP(addr)}
	if peers[0].IsLoopback() && len(a.local) > 0 {
		peers = a.local
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	var counted []*accessRule
	for _, peer := range peers {
		var last *hostRule
		for _, r := range slices.Backward(a.hosts) {
			if !r.matches(peer) {
				continue
			}
			denied = denied&^r.spec | r.deny
			last = r
			if r.limit != 0 && !slices.Contains(counted, &r.accessRule) {
				counted = append(counted, &r.accessRule)
			}
		}
		if denied == OpAll {
			return OpAll, nothing, pdu.ErrPermission
		}
		if last != nil && last.full() {
			return OpAll, nothing, pdu.ErrConnLimit
		}
	}
	return denied, a.count(counted), nil
}

// count adds a connection to rules. It returns what takes it from them. The
// caller holds a.mu.
func (a *Access) count(rules []*accessRule) (release func()) {
	for _, r := range rules {
		r.cur++
	}
	return sync.OnceFunc(func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		for _, r := range rules {
			r.cur--
		}
	})
}

// peerIP is the IP address of a peer, not valid if it has none.
func peerIP(addr net.Addr) netip.Addr {
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

// NeedsAccount reports whether there are rules for users or groups, so that a
// client must say who it is.
func (a *Access) NeedsAccount() bool {
	return a != nil && (a.users.any || a.groups.any)
}

// CheckAccount says what a client of a user and a group may not do, less than 0
// if they are not known, besides what CheckHost says. It counts the connection
// until release is called, which may be done more than once.
//
// Errors: pdu.ErrPermission if the client may do nothing, which holds for one
// that is not known where there are rules; pdu.ErrConnLimit. All operations are
// denied then: pmcd, which forgets to, goes on serving the client what its
// host may. Nor does pmcd take a client that has gone from the count.
func (a *Access) CheckAccount(uid, gid int) (denied Ops, release func(), err error) {
	switch {
	case !a.NeedsAccount():
		return 0, nothing, nil
	case uid < 0 || gid < 0:
		return OpAll, nothing, pdu.ErrPermission
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	rules := append(a.users.matching(uid, gid), a.groups.matching(gid, uid)...)
	var counted []*accessRule
	for _, r := range rules {
		denied |= r.deny
		if r.limit != 0 {
			counted = append(counted, r)
		}
		if r.full() {
			return OpAll, nothing, pdu.ErrConnLimit
		}
	}
	if denied == OpAll {
		return OpAll, nothing, pdu.ErrPermission
	}
	return denied, a.count(counted), nil
}

// accountRules are the rules for users, or for groups.
type accountRules struct {
	any   bool // there are rules
	list  []*accountRule
	other accountRule // for those that the list does not mention: "*"
	given bool        // a statement has said what other is
}

// An accountRule is a rule for a user and the groups it is in, or for a group
// and the users in it.
type accountRule struct {
	accessRule
	name    string
	id      int
	members []account
}

// matching are the rules for an id, or one of the kind that members are of.
func (l *accountRules) matching(id, member int) []*accessRule {
	if !l.any {
		return nil
	}
	var rules []*accessRule
	for _, r := range l.list {
		if r.id == id || slices.ContainsFunc(r.members, func(m account) bool { return m.id == member }) {
			rules = append(rules, &r.accessRule)
		}
	}
	if rules == nil {
		rules = append(rules, &l.other.accessRule)
	}
	return rules
}
