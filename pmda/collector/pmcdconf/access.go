package pmcdconf

import (
	"net/netip"
	"slices"

	"github.com/pcp-go/pcp/internal/hostpattern"
)

// Ops is a set of the operations that access rules are about.
type Ops uint8

const (
	OpFetch Ops = 1 << iota // every request but those that store values
	OpStore                 // to store values

	OpAll = OpFetch | OpStore // both
)

// Access is the rules of an access section: who may do what. A nil Access allows
// everything, as does a zero one. It must not be changed while a collector uses it;
// several collectors may use the same.
//
// Of the host rules that match a peer the one with the lower level wins,
// operation by operation; an operation that no rule mentions is allowed. Rules for
// users and groups then only take away. Where there are any, a client that none
// of them mentions may do nothing.
type Access struct {
	// Hosts are the rules for hosts, in the order of Level.
	Hosts []*HostRule
	// Users and Groups are the rules for accounts.
	Users, Groups AccountRules
	// Local are the addresses of this host's name: a peer on the loopback interface
	// is checked as if it came from each of them.
	Local []netip.Addr
}

// NeedsAccount reports whether there are rules for users or groups, so that a
// collector must know who a client is.
func (a *Access) NeedsAccount() bool {
	return a != nil && (a.Users.Others != nil || a.Groups.Others != nil)
}

// A Rule says what a host or an account may do.
type Rule struct {
	Ops      Ops // the operations that it mentions
	Denied   Ops // those of them that it denies
	MaxConns int // the connections that it allows, 0 for any number
}

// conflicts reports whether two rules for the same peers contradict each other.
func (r *Rule) conflicts(b Rule) bool {
	if r.MaxConns != 0 && b.MaxConns != 0 && r.MaxConns != b.MaxConns {
		return true
	}
	return r.Ops&b.Ops != 0 && r.Ops&r.Denied != b.Ops&b.Denied
}

// merge adds what another rule for the same peers says.
func (r *Rule) merge(b Rule) {
	r.Ops |= b.Ops
	r.Denied |= b.Denied
	r.MaxConns = max(r.MaxConns, b.MaxConns)
}

// A HostRule is a rule for the peers whose address is Addr where Mask has ones. If
// Addr is not valid, it is a rule for all peers without an IP address: those on
// unix sockets, and clients in the collector's process.
type HostRule struct {
	Rule
	Name       string // as the statement has it
	Addr, Mask netip.Addr
	Level      int // 0 for a single host; it grows with the number of hosts
}

// Matches reports whether the rule is about a peer, whose address is not valid if
// it has none.
func (r *HostRule) Matches(peer netip.Addr) bool {
	return hostpattern.Pattern{Addr: r.Addr, Mask: r.Mask}.Matches(peer)
}

// AccountRules are the rules for users, or those for groups. The zero value has
// none.
type AccountRules struct {
	List   []*AccountRule
	Others *AccountRule // for accounts that List does not mention; nil if there are no rules at all
}

// Matching returns the rules of List that are about an account: a user id with the
// group member, or a group id with the user member. If there are none it returns
// Others.
func (l *AccountRules) Matching(id, member int) []*AccountRule {
	var rules []*AccountRule
	for _, r := range l.List {
		if r.matches(id, member) {
			rules = append(rules, r)
		}
	}
	if rules == nil && l.Others != nil {
		rules = append(rules, l.Others)
	}
	return rules
}

// An AccountRule is a rule for a user and the groups it is in, or for a group and
// the users in it.
type AccountRule struct {
	Rule
	Account
	Members []Account // the groups of a user, or the users of a group
}

// matches reports whether the rule is about the account id or has the member.
func (r *AccountRule) matches(id, member int) bool {
	return r.ID == id || slices.ContainsFunc(r.Members, func(m Account) bool { return m.ID == member })
}

// An Account is a user or a group.
type Account struct {
	Name string
	ID   int
}
