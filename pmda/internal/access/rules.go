package access

import (
	"io/fs"
	"net/netip"
	"os"
	"slices"

	"github.com/pcp-go/pcp/internal/hostpattern"
)

// Accounts is the directory with the files passwd and group. Tests replace it.
var Accounts fs.FS = os.DirFS("/etc")

// Ops is a set of operations that rules allow or deny.
type Ops uint8

const (
	OpFetch Ops = 1 << iota // every request except stores
	OpStore                 // to store values

	OpAll = OpFetch | OpStore // both
)

// Rules say which hosts, users and groups may do what. Nil and zero Rules allow everything. Several
// collectors may share Rules, which must not change while one uses them.
//
// Of the host rules that match a peer, the one with the lowest level decides, separately for each
// operation. An operation that no rule mentions is allowed. Rules for users and groups can only
// deny further operations. If there are any, a client that none of them mentions may do nothing.
type Rules struct {
	// Hosts are the rules for hosts, ordered by Level.
	Hosts []*HostRule
	// Users and Groups are the rules for accounts.
	Users, Groups AccountRules
	// Local are the addresses of this host's name. A peer on the loopback interface is checked as
	// if it came from each of them.
	Local []netip.Addr
}

// NeedsAccount reports whether there are rules for users or groups, so that a collector must know
// the account of a client.
func (a *Rules) NeedsAccount() bool {
	return a != nil && (a.Users.Others != nil || a.Groups.Others != nil)
}

// A Rule says what a host or an account may do.
type Rule struct {
	Ops      Ops // the operations that the rule mentions
	Denied   Ops // the operations among Ops that the rule denies
	MaxConns int // the maximum number of connections, 0 for any number
}

// Conflicts reports whether two rules for the same peers contradict each other.
func (r *Rule) Conflicts(b Rule) bool {
	if r.MaxConns != 0 && b.MaxConns != 0 && r.MaxConns != b.MaxConns {
		return true
	}
	return r.Ops&b.Ops != 0 && r.Ops&r.Denied != b.Ops&b.Denied
}

// Merge adds another rule for the same peers.
func (r *Rule) Merge(b Rule) {
	r.Ops |= b.Ops
	r.Denied |= b.Denied
	r.MaxConns = max(r.MaxConns, b.MaxConns)
}

// A HostRule is a rule for the peers whose address is Addr where Mask has ones. If Addr is not
// valid, the rule is for all peers without an IP address: peers on unix sockets, and clients in the
// collector's process.
type HostRule struct {
	Rule
	Name       string // as the statement has it
	Addr, Mask netip.Addr
	Level      int // 0 for a single host; grows with the number of hosts
}

// Matches reports whether the rule is for a peer. The address of a peer without one is not valid.
func (r *HostRule) Matches(peer netip.Addr) bool {
	return hostpattern.Pattern{Addr: r.Addr, Mask: r.Mask}.Matches(peer)
}

// AccountRules are the rules for users, or the rules for groups. The zero value is empty.
type AccountRules struct {
	List   []*AccountRule
	Others *AccountRule // for accounts that List does not mention; nil if there are no rules
}

// Matching returns the rules of List for an account: the user id with the group member, or the
// group id with the user member. If no rule of List is for the account, it
// returns Others.
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

// An AccountRule is a rule for a user and its groups, or for a group and its users.
type AccountRule struct {
	Rule
	Account
	Members []Account // the groups of a user, or the users of a group
}

// matches reports whether the rule is for the account id or has the member.
func (r *AccountRule) matches(id, member int) bool {
	return r.ID == id || slices.ContainsFunc(r.Members, func(m Account) bool { return m.ID == member })
}

// An Account is a user or a group.
type Account struct {
	Name string
	ID   int
}
