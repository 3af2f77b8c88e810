package logrewrite

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// An indomSpec is the changes to an instance domain.
type indomSpec struct {
	old, new  pdu.InDom
	moved     bool
	duplicate bool
	insts     []instSpec // all instances that it ever had
	active    bool       // the current rule applies to it
	byID      map[pdu.InstID]*instSpec
	deletes   bool // whether instances are deleted
}

// An instSpec is the changes to an instance.
type instSpec struct {
	old, new         pdu.Instance
	renamed, renumed bool
	deleted          bool
}

func (s *instSpec) changes() bool { return s.renamed || s.renumed || s.deleted }

func (s *indomSpec) changes() bool { return s.moved || s.changesInsts() }

func (s *indomSpec) changesInsts() bool {
	return slices.ContainsFunc(s.insts, func(i instSpec) bool { return i.changes() })
}

// beginInDoms begins a rule for instance domains.
func (p *Plan) beginInDoms(of indomTarget) func(change) error {
	for _, s := range p.indoms {
		s.active = false
	}
	if of.id.serial != anyNumber {
		if id := of.id.of(0); p.meta.InDom(id) == nil {
			p.warn("Instance domain %v: %v", id, pdu.ErrInDomLog)
		} else {
			p.indomSpec(id).active = true
		}
		return p.changeInDoms
	}
	for _, d := range p.indomOrder {
		if of.id.matches(d.ID) {
			p.indomSpec(d.ID).active = true
		}
	}
	return p.changeInDoms
}

// indomSpec returns the changes to an instance domain of the archive.
func (p *Plan) indomSpec(id pdu.InDom) *indomSpec {
	if s := p.byInDom[id]; s != nil {
		return s
	}
	s := &indomSpec{old: id, new: id}
	for _, i := range allInstances(p.meta.InDom(id)) {
		s.insts = append(s.insts, instSpec{old: i, new: i})
	}
	p.indoms = append(p.indoms, s)
	p.byInDom[id] = s
	return s
}

// allInstances returns all instances that a domain ever had, those of the last record first, like
// pmGetInDomArchive(3).
func allInstances(d *archive.InDom) (all []pdu.Instance) {
	seen := map[pdu.InstID]bool{}
	for i := d.Len() - 1; i >= 0; i-- {
		for _, inst := range d.State(i) {
			if !seen[inst.ID] {
				seen[inst.ID] = true
				all = append(all, inst)
			}
		}
	}
	return all
}

// sameInstance reports whether two external names are equal up to the first blank.
func sameInstance(a, b string) bool { return firstWord(a) == firstWord(b) }

func firstWord(name string) string {
	word, _, _ := strings.Cut(name, " ")
	return word
}

// changeInDoms applies a change to the instance domains of the current rule.
func (p *Plan) changeInDoms(c change) error {
	var replace *pattern
	if c, ok := c.(replaceInstances); ok {
		var err error
		if replace, err = p.pattern(c.find, c.with); err != nil {
			return err
		}
	}
	for _, s := range slices.Backward(p.indoms) {
		if !s.active {
			continue
		}
		var err error
		switch c := c.(type) {
		case renameInstance:
			err = p.renameInstance(s, c)
		case redactInstances:
			err = p.renameInstances(s, func(i pdu.Instance) (string, error) { return fmt.Sprintf("%d [redacted]", i.ID), nil })
		case replaceInstances:
			err = p.renameInstances(s, func(i pdu.Instance) (string, error) {
				name, _, err := replace.replace(i.Name)
				return name, err
			})
		case renumberInstance:
			err = p.renumberInstance(s, c)
		case moveInDom:
			err = p.moveInDom(s, c)
		default:
			err = p.wrong(c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *Plan) moveInDom(s *indomSpec, c moveInDom) error {
	if s.moved {
		return p.errorf("Duplicate indom clause for indom %v", s.old)
	}
	to := c.to.of(s.old)
	if to == s.old {
		p.warn("Instance domain %v: indom: No change", s.old)
		return nil
	}
	s.new, s.moved, s.duplicate = to, true, c.duplicate
	return nil
}

func (p *Plan) renameInstance(s *indomSpec, c renameInstance) error {
	found := false
	for i := range s.insts {
		inst := &s.insts[i]
		if !sameInstance(inst.old.Name, c.old) {
			continue
		}
		found = true
		switch {
		case inst.renamed || inst.deleted || c.delete && inst.renumed:
			return p.conflicting(s, inst)
		case c.delete:
			inst.deleted, s.deletes = true, true
		case inst.old.Name == c.new:
			p.warn("Instance domain %v: Instance: \"%s\": No change", s.old, c.new)
		default:
			inst.renamed, inst.new.Name = true, c.new
		}
	}
	if !found {
		p.warn("Unknown instance \"%s\" in iname clause for indom %v", c.old, s.old)
	}
	return nil
}

// renameInstances renames all instances of a domain.
func (p *Plan) renameInstances(s *indomSpec, rename func(pdu.Instance) (string, error)) error {
	for i := range s.insts {
		inst := &s.insts[i]
		name, err := rename(inst.old)
		switch {
		case err != nil || name == "":
			return p.errorf("Instance [%d] \"%s\" of indom %v: no name: %v", inst.old.ID, inst.old.Name, s.old, errors.Join(err, pdu.ErrInst))
		case name == inst.old.Name:
			continue
		case inst.renamed || inst.deleted:
			return p.conflicting(s, inst)
		}
		inst.renamed, inst.new.Name = true, name
	}
	return nil
}

func (p *Plan) renumberInstance(s *indomSpec, c renumberInstance) error {
	for i := range s.insts {
		inst := &s.insts[i]
		if inst.old.ID != c.old {
			continue
		}
		switch {
		case inst.renumed || inst.deleted || c.delete && inst.renamed:
			return p.conflicting(s, inst)
		case c.delete:
			inst.deleted, s.deletes = true, true
		case c.old == c.new:
			p.warn("Instance domain %v: Instance: %d: No change", s.old, c.new)
		default:
			inst.renumed, inst.new.ID = true, c.new
		}
		return nil
	}
	p.warn("Unknown instance %d in inst clause for indom %v", c.old, s.old)
	return nil
}

func (p *Plan) conflicting(s *indomSpec, inst *instSpec) error {
	return p.errorf("Duplicate or conflicting clauses for instance [%d] \"%s\" of indom %v", inst.old.ID, inst.old.Name, s.old)
}
