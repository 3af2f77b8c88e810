package pmlc

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/pcp-go/pcp/internal/hostpattern"
	"github.com/pcp-go/pcp/internal/logconf"
)

// Access holds the access rules of a configuration, with addresses in place of names. If several
// rules match a client, the rule for the fewest hosts wins, separately for each operation. An
// operation without a rule is allowed. A client on the loopback interface counts as a client at
// each of the addresses of this host's name. A nil Access allows everything.
type Access struct {
	rules []accessRule // those about fewer hosts first
	local []netip.Addr // of this host's name
}

// An accessRule is a rule for one pattern.
type accessRule struct {
	hostpattern.Pattern
	ops, denied logconf.Ops
}

// A RuleError is an error or a warning about a rule.
type RuleError struct {
	logconf.Place
	Host string // of the rule, as it stands there
	Err  error
	// Warning says that the rule, or this part of it, has no effect, but others have: the host is
	// unknown, say.
	Warning bool
}

// Error is the place and what is wrong.
func (e *RuleError) Error() string {
	return fmt.Sprintf("%s:%d: host %q: %v", e.File, e.Line, e.Host, e.Err)
}

// Unwrap returns the cause.
func (e *RuleError) Unwrap() error { return e.Err }

// NewAccess looks up the hosts of rules; it returns nil if there are no rules. Errors are
// RuleErrors, joined. NewAccess returns no Access unless all of them are Warnings. Two rules that
// contradict each other for the same hosts are an error. An unknown host is a Warning.
func NewAccess(rules []logconf.Rule) (*Access, error) {
	if len(rules) == 0 {
		return nil, nil
	}
	var resolver hostpattern.Resolver
	a := &Access{local: resolver.Local()}
	var errs []error
	fatal := false
	for _, r := range rules {
		for _, host := range r.Hosts {
			patterns, warnings, err := resolver.Patterns(host)
			for _, w := range warnings {
				errs = append(errs, &RuleError{r.Place, host, errors.New(w), true})
			}
			_, unknown := errors.AsType[*hostpattern.UnresolvedError](err)
			if err == nil {
				err = a.add(r, patterns)
			}
			if err != nil {
				errs = append(errs, &RuleError{r.Place, host, err, unknown})
				fatal = fatal || !unknown
			}
		}
	}
	if fatal {
		a = nil
	}
	return a, errors.Join(errs...)
}

// add adds a rule for patterns.
func (a *Access) add(r logconf.Rule, patterns []hostpattern.Pattern) error {
	for _, p := range patterns {
		rule := accessRule{Pattern: p, ops: r.Ops}
		if !r.Allow {
			rule.denied = r.Ops
		}
		at := 0
		for at < len(a.rules) && a.rules[at].Level <= p.Level {
			old := &a.rules[at]
			if old.Level != p.Level || old.Addr != p.Addr || old.Mask != p.Mask {
				at++
				continue
			}
			if both := old.ops & rule.ops; old.denied&both != rule.denied&both {
				return fmt.Errorf("contradicts an earlier rule for %s", old.Name)
			}
			old.ops, old.denied = old.ops|rule.ops, old.denied|rule.denied
			break
		}
		if at == len(a.rules) || a.rules[at].Level > p.Level {
			a.rules = slices.Insert(a.rules, at, rule)
		}
	}
	return nil
}

// denied is what a peer may not do.
func (a *Access) denied(peer net.Addr) (denied logconf.Ops) {
	if a == nil {
		return 0
	}
	addrs := []netip.Addr{hostpattern.PeerAddr(peer)}
	if addrs[0].IsLoopback() {
		addrs = a.local
	}
	for _, addr := range addrs {
		for _, r := range slices.Backward(a.rules) {
			if r.Matches(addr) {
				denied = denied&^r.ops | r.denied
			}
		}
	}
	return denied
}
