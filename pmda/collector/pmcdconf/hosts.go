package pmcdconf

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/internal/hostpattern"
)

// ruleNames makes rules of the names in access statements. It looks each up once.
type ruleNames struct {
	loader *Loader
	hosts  hostpattern.Resolver
	users  []accountEntry
	groups []accountEntry
	others map[string]bool // the kinds of which a statement was about "*"
}

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
	patterns, warnings, err := n.hosts.Patterns(spec)
	if err != nil {
		return warnings, err
	}
	a.Local = n.hosts.Local()
	var clashes []string
	for _, p := range patterns {
		h := &HostRule{Rule: r, Name: p.Name, Addr: p.Addr, Mask: p.Mask, Level: p.Level}
		if clash := a.addHost(h); clash != "" {
			clashes = append(clashes, clash)
		}
	}
	if len(clashes) == len(patterns) {
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
