// Package access applies the access rules of a pmcd.conf to the peers of a server, and counts
// the connections that they limit.
package access

import (
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"

	"github.com/pcp-go/pcp/internal/hostpattern"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda/collector/pmcdconf"
)

// A Control applies access rules and counts the connections that they limit. A nil
// one allows everything. Safe for concurrent use.
type Control struct {
	rules *pmcdconf.Access

	mu    sync.Mutex
	conns map[*pmcdconf.Rule]int // connections that count against a rule with a limit
}

// New makes a Control of rules, nil if those are nil.
func New(rules *pmcdconf.Access) *Control {
	if rules == nil {
		return nil
	}
	return &Control{rules: rules, conns: map[*pmcdconf.Rule]int{}}
}

// NeedsAccount reports whether there are rules for users or groups.
func (a *Control) NeedsAccount() bool { return a != nil && a.rules.NeedsAccount() }

// WriteTables writes the rules with the number of connections that count against each, in
// the layout of pmcd's log.
func (a *Control) WriteTables(w io.Writer) error {
	if a == nil {
		return (*pmcdconf.Access)(nil).WriteTables(w, nil)
	}
	return a.rules.WriteTables(w, a.connections)
}

// connections is the number of connections that count against a rule.
func (a *Control) connections(r *pmcdconf.Rule) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.conns[r]
}

// NoHosts reports whether there are no rules for hosts.
func (a *Control) NoHosts() bool { return a == nil || len(a.rules.Hosts) == 0 }

// NumAccounts is how many rules there are for users, and for groups, those for all others included.
func (a *Control) NumAccounts() (users, groups int) {
	count := func(l *pmcdconf.AccountRules) int {
		if l.Others == nil {
			return 0
		}
		return len(l.List) + 1
	}
	if a == nil {
		return 0, 0
	}
	return count(&a.rules.Users), count(&a.rules.Groups)
}

// A FullError says that a rule allows no further connection. It wraps pdu.ErrConnLimit.
type FullError struct{ Conns, Max int }

func (e *FullError) Error() string { return pdu.ErrConnLimit.Error() }

// Unwrap returns pdu.ErrConnLimit.
func (e *FullError) Unwrap() error { return pdu.ErrConnLimit }

// releaseNothing is the release of a connection that was not counted.
func releaseNothing() {}

// CheckHost returns the operations that are denied to a peer that has just
// connected, and counts the connection until release is called, which may be done
// more than once. A peer without an IP address, on a unix socket or in this
// process, is checked as "unix:"; one on the loopback interface by the addresses
// of this host's name.
//
// Errors, with which the peer is to be refused: pdu.ErrPermission if it may do
// nothing, a *FullError if it exceeds the limit of the most specific rule
// that matches. Release is not nil then either.
func (a *Control) CheckHost(addr net.Addr) (denied pmcdconf.Ops, release func(), err error) {
	if a.NoHosts() {
		return 0, releaseNothing, nil
	}
	peers := []netip.Addr{hostpattern.PeerAddr(addr)}
	if peers[0].IsLoopback() && len(a.rules.Local) > 0 {
		peers = a.rules.Local
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	var limited []*pmcdconf.Rule
	for _, peer := range peers {
		var last *pmcdconf.Rule
		for _, r := range slices.Backward(a.rules.Hosts) {
			if !r.Matches(peer) {
				continue
			}
			denied = denied&^r.Ops | r.Denied
			last = &r.Rule
			if r.MaxConns != 0 && !slices.Contains(limited, last) {
				limited = append(limited, last)
			}
		}
		if denied == pmcdconf.OpAll {
			return pmcdconf.OpAll, releaseNothing, pdu.ErrPermission
		}
		if last != nil && a.full(last) {
			return pmcdconf.OpAll, releaseNothing, &FullError{a.conns[last], last.MaxConns}
		}
	}
	return denied, a.count(limited), nil
}

// full reports whether a rule allows no further connection. The caller holds
// a.mu.
func (a *Control) full(r *pmcdconf.Rule) bool {
	return r.MaxConns != 0 && a.conns[r] >= r.MaxConns
}

// count counts a connection against rules, until release is called. The caller
// holds a.mu.
func (a *Control) count(rules []*pmcdconf.Rule) (release func()) {
	if len(rules) == 0 {
		return releaseNothing
	}
	for _, r := range rules {
		a.conns[r]++
	}
	return sync.OnceFunc(func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		for _, r := range rules {
			a.conns[r]--
		}
	})
}

// CheckAccount returns the operations that are denied to a client of a user and a
// group, -1 where they are not known, besides what CheckHost denies. It counts the
// connection until release is called, which may be done more than once.
//
// Errors: pdu.ErrPermission if the client may do nothing, which holds for one
// that is not known where there are rules, or with needed; pdu.ErrConnLimit. All operations are
// denied then: pmcd, which forgets to, goes on serving the client what its
// host may. Nor does pmcd take a client that has gone from the count.
func (a *Control) CheckAccount(uid, gid int, needed bool) (denied pmcdconf.Ops, release func(), err error) {
	rules := a.NeedsAccount()
	switch {
	case (rules || needed) && (uid < 0 || gid < 0):
		return pmcdconf.OpAll, releaseNothing, pdu.ErrPermission
	case !rules:
		return 0, releaseNothing, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	var limited []*pmcdconf.Rule
	for _, r := range slices.Concat(a.rules.Users.Matching(uid, gid), a.rules.Groups.Matching(gid, uid)) {
		denied |= r.Denied
		if a.full(&r.Rule) {
			return pmcdconf.OpAll, releaseNothing, pdu.ErrConnLimit
		}
		if r.MaxConns != 0 {
			limited = append(limited, &r.Rule)
		}
	}
	if denied == pmcdconf.OpAll {
		return pmcdconf.OpAll, releaseNothing, pdu.ErrPermission
	}
	return denied, a.count(limited), nil
}
