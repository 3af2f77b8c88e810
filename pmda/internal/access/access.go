// Package access has the access rules of a pmcd.conf. It applies them to the peers of a server and
// counts the connections that they limit.
package access

import (
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"

	"github.com/pcp-go/pcp/internal/hostpattern"
	"github.com/pcp-go/pcp/pdu"
)

// A Control applies Rules and counts the connections that they limit. A nil Control allows
// everything. A Control is safe for concurrent use.
type Control struct {
	rules *Rules

	mu    sync.Mutex
	conns map[*Rule]int // connections that count against a rule with a limit
}

// New returns a Control for rules, nil if rules is nil.
func New(rules *Rules) *Control {
	if rules == nil {
		return nil
	}
	return &Control{rules: rules, conns: map[*Rule]int{}}
}

// NeedsAccount reports whether there are rules for users or groups.
func (a *Control) NeedsAccount() bool { return a != nil && a.rules.NeedsAccount() }

// WriteTables writes the rules and the number of connections that count against each, in the layout
// of pmcd's log.
func (a *Control) WriteTables(w io.Writer) error {
	if a == nil {
		return (*Rules)(nil).WriteTables(w, nil)
	}
	return a.rules.WriteTables(w, a.Connections)
}

// Connections returns the number of connections that count against a rule.
func (a *Control) Connections(r *Rule) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.conns[r]
}

// NoHosts reports whether there are no rules for hosts.
func (a *Control) NoHosts() bool { return a == nil || len(a.rules.Hosts) == 0 }

// NumAccounts returns the number of rules for users and for groups, including those for "*".
func (a *Control) NumAccounts() (users, groups int) {
	count := func(l *AccountRules) int {
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

// CheckHost returns the operations that are denied to a new peer. It counts the connection until
// release is called, which may be done more than once. A peer without an IP address, on a unix
// socket or in this process, is checked as "unix:". A peer on the loopback interface is checked by
// the addresses of this host's name.
//
// With an error the peer must be refused, and release is not nil either. Errors: pdu.ErrPermission
// if the peer may do nothing, a *FullError if the most specific rule that matches allows no further
// connection.
func (a *Control) CheckHost(addr net.Addr) (denied Ops, release func(), err error) {
	if a.NoHosts() {
		return 0, releaseNothing, nil
	}
	peers := []netip.Addr{hostpattern.PeerAddr(addr)}
	if peers[0].IsLoopback() && len(a.rules.Local) > 0 {
		peers = a.rules.Local
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	var limited []*Rule
	for _, peer := range peers {
		var last *Rule
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
		if denied == OpAll {
			return OpAll, releaseNothing, pdu.ErrPermission
		}
		if last != nil && a.full(last) {
			return OpAll, releaseNothing, &FullError{a.conns[last], last.MaxConns}
		}
	}
	return denied, a.count(limited), nil
}

// full reports whether a rule allows no further connection. The caller holds a.mu.
func (a *Control) full(r *Rule) bool {
	return r.MaxConns != 0 && a.conns[r] >= r.MaxConns
}

// count counts a connection against rules until release is called. The caller holds a.mu.
func (a *Control) count(rules []*Rule) (release func()) {
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

// CheckAccount returns the operations that are denied to a client of a user and a group, in
// addition to those that CheckHost denies. An unknown user or group is -1. It counts the connection
// until release is called, which may be done more than once.
//
// With an error all operations are denied. Errors: pdu.ErrConnLimit, and pdu.ErrPermission if the
// client may do nothing. The latter includes an unknown client if there are rules for accounts or
// an account is needed. C pmcd has two defects here: after an error the client keeps the rights of
// its host, and a client that has disconnected still counts.
func (a *Control) CheckAccount(uid, gid int, needed bool) (denied Ops, release func(), err error) {
	rules := a.NeedsAccount()
	switch {
	case (rules || needed) && (uid < 0 || gid < 0):
		return OpAll, releaseNothing, pdu.ErrPermission
	case !rules:
		return 0, releaseNothing, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	var limited []*Rule
	for _, r := range slices.Concat(a.rules.Users.Matching(uid, gid), a.rules.Groups.Matching(gid, uid)) {
		denied |= r.Denied
		if a.full(&r.Rule) {
			return OpAll, releaseNothing, pdu.ErrConnLimit
		}
		if r.MaxConns != 0 {
			limited = append(limited, &r.Rule)
		}
	}
	if denied == OpAll {
		return OpAll, releaseNothing, pdu.ErrPermission
	}
	return denied, a.count(limited), nil
}
