package pmcdconf

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/internal/hostpattern"
	"github.com/pcp-go/pcp/pmda/internal/access"
)

// ruleNames makes rules from the names in access statements. It looks up each name once.
type ruleNames struct {
	loader *loader
	hosts  hostpattern.Resolver
	users  []accountEntry
	groups []accountEntry
	others map[string]bool // the kinds that had a statement for "*"

	hostRules    map[hostKey]*access.HostRule
	accountRules map[accountKey]*access.AccountRule
}

// A hostKey identifies the hosts of a rule.
type hostKey struct {
	addr, mask netip.Addr
	level      int
}

// An accountKey identifies the account of a rule.
type accountKey struct {
	kind string
	id   int
}

// A ruleError says why a rule is invalid, in pmcd's words.
type ruleError string

func (e ruleError) Error() string { return string(e) }

func ruleErrorf(format string, args ...any) error { return ruleError(fmt.Sprintf(format, args...)) }

// add adds the rule of a statement for one of its specifications. The warnings are about parts that
// could not be added, if other parts were.
func (n *ruleNames) add(a *Access, kind, spec string, r access.Rule) (warnings []string, err error) {
	switch kind {
	case "user":
		return nil, n.addAccount(&a.Users, kind, spec, r)
	case "group":
		return nil, n.addAccount(&a.Groups, kind, spec, r)
	}
	patterns, warnings, err := n.hosts.Patterns(spec)
	if err != nil {
		return warnings, err
	}
	a.Local = n.hosts.Local()
	var clashes []string
	for _, p := range patterns {
		h := &access.HostRule{Rule: r, Name: p.Name, Addr: p.Addr, Mask: p.Mask, Level: p.Level}
		if clash := n.addHost(a, h); clash != "" {
			clashes = append(clashes, clash)
		}
	}
	if len(clashes) == len(patterns) {
		return warnings, errors.New(strings.Join(clashes, "; "))
	}
	return append(warnings, clashes...), nil
}

// addHost adds a rule, or merges it with an earlier one for the same hosts.
func (n *ruleNames) addHost(a *Access, h *access.HostRule) (clash string) {
	key := hostKey{h.Addr, h.Mask, h.Level}
	if old := n.hostRules[key]; old != nil {
		if old.Conflicts(h.Rule) {
			return fmt.Sprintf("Permission clash for %s with earlier statement for %s", h.Name, old.Name)
		}
		old.Merge(h.Rule)
		return ""
	}
	if n.hostRules == nil {
		n.hostRules = map[hostKey]*access.HostRule{}
	}
	n.hostRules[key] = h
	i, _ := slices.BinarySearchFunc(a.Hosts, h.Level+1, func(r *access.HostRule, level int) int { return r.Level - level })
	a.Hosts = slices.Insert(a.Hosts, i, h) // after those of its level
	return ""
}
