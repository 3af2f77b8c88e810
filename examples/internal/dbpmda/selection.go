package dbpmda

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/pdu"
)

// A selection is an instance profile that keeps the order of its entries and instances, because
// status shows it.
type selection struct {
	exclude bool
	entries []pdu.InDomProfile
}

// change selects or excludes instances of an instance domain, all if insts is empty. A domain
// without an entry starts with an empty one. NoInDom means all instance domains.
func (s *selection) change(dom pdu.InDom, exclude bool, insts []pdu.InstID) error {
	if dom == pdu.NoInDom {
		if len(insts) > 0 {
			return errors.New(pdu.ErrProfileSpec.Error())
		}
		*s = selection{exclude: exclude}
		return nil
	}
	i := slices.IndexFunc(s.entries, func(e pdu.InDomProfile) bool { return e.InDom == dom })
	if i < 0 {
		i = len(s.entries)
		s.entries = append(s.entries, pdu.InDomProfile{InDom: dom, Exclude: true})
	}
	e := &s.entries[i]
	if len(insts) == 0 {
		e.Exclude, e.Insts = exclude, nil
	}
	for _, inst := range insts {
		at := slices.Index(e.Insts, inst)
		switch list := e.Exclude != exclude; {
		case list && at < 0:
			e.Insts = append(e.Insts, inst)
		case !list && at >= 0:
			e.Insts = slices.Delete(e.Insts, at, at+1)
		}
	}
	return nil
}

// profile returns the selection in the order of the protocol.
func (s *selection) profile() pdu.Profile {
	p := pdu.Profile{Exclude: s.exclude}
	for _, e := range s.entries {
		insts := slices.Sorted(slices.Values(e.Insts))
		p.InDoms = append(p.InDoms, pdu.InDomProfile{InDom: e.InDom, Exclude: e.Exclude, Insts: insts})
	}
	slices.SortFunc(p.InDoms, func(a, b pdu.InDomProfile) int { return cmp.Compare(a.InDom, b.InDom) })
	return p
}

// dump returns the selection in readable form.
func (s *selection) dump() string {
	state := map[bool]string{true: "EXCLUDE", false: "INCLUDE"}
	var b strings.Builder
	fmt.Fprintf(&b, "Dump Instance Profile state=%s, %d profiles\n", state[s.exclude], len(s.entries))
	for i, e := range s.entries {
		fmt.Fprintf(&b, "\tProfile [%d] indom=%d [%v] state=%s %d instances\n", i, int32(e.InDom), e.InDom, state[e.Exclude], len(e.Insts))
		if len(e.Insts) == 0 {
			continue
		}
		b.WriteString("\t\tInstances:")
		for _, inst := range e.Insts {
			fmt.Fprintf(&b, " [%d]", inst)
		}
		b.WriteString("\n")
	}
	return b.String()
}
