package pdu

import "slices"

// A Profile selects the instances whose values a client requests. The zero Profile selects all. It
// does not apply to singular metrics.
//
// Do not change a Profile that several goroutines use.
type Profile struct {
	// Exclude excludes all instances of domains that have no entry in InDoms.
	Exclude bool
	// InDoms are the entries, in ascending order of InDom, each InDom once.
	InDoms []InDomProfile
}

// An InDomProfile selects instances of one domain: all except those in
// Insts, or, with Exclude, only those in Insts.
type InDomProfile struct {
	InDom   InDom
	Exclude bool
	Insts   []InstID // in ascending order
}

// For returns the selection for an instance domain. If p is nil or d is NoInDom (the domain of
// singular metrics), it selects all.
func (p *Profile) For(d InDom) InDomProfile {
	if p == nil || d == NoInDom {
		return InDomProfile{InDom: d}
	}
	if i, ok := p.find(d); ok {
		return p.InDoms[i]
	}
	return InDomProfile{InDom: d, Exclude: p.Exclude}
}

// All reports whether e selects every instance.
func (e InDomProfile) All() bool { return !e.Exclude && len(e.Insts) == 0 }

// Includes reports whether e selects an instance.
func (e InDomProfile) Includes(i InstID) bool {
	_, listed := slices.BinarySearch(e.Insts, i)
	return listed == e.Exclude
}

// Includes reports whether p selects an instance of a domain.
func (p *Profile) Includes(d InDom, i InstID) bool { return p.For(d).Includes(i) }

func (p *Profile) find(d InDom) (int, bool) {
	return slices.BinarySearchFunc(p.InDoms, d, func(e InDomProfile, d InDom) int {
		switch {
		case e.InDom < d:
			return -1
		case e.InDom > d:
			return 1
		}
		return 0
	})
}

// entry finds or makes the entry of a domain.
func (p *Profile) entry(d InDom) (e *InDomProfile, made bool) {
	i, ok := p.find(d)
	if !ok {
		p.InDoms = slices.Insert(p.InDoms, i, InDomProfile{InDom: d})
	}
	return &p.InDoms[i], !ok
}

// Add selects instances: all of d if insts is empty, else insts in addition to
// those selected before. NoInDom alone selects all instances of all domains;
// NoInDom with insts is ErrProfileSpec. The counterpart of pmAddProfile(3).
func (p *Profile) Add(d InDom, insts ...InstID) error { return p.change(d, false, insts) }

// Delete excludes instances: all of d if insts is empty, else insts. NoInDom
// alone excludes all instances of all domains; NoInDom with insts is
// ErrProfileSpec. As in the C library, insts of a domain without an entry exclude
// all of the domain: "all but these" needs Add(d) before. The counterpart of
// pmDelProfile(3).
func (p *Profile) Delete(d InDom, insts ...InstID) error { return p.change(d, true, insts) }

func (p *Profile) change(d InDom, exclude bool, insts []InstID) error {
	if d == NoInDom {
		if len(insts) > 0 {
			return ErrProfileSpec
		}
		*p = Profile{Exclude: exclude}
		return nil
	}
	e, made := p.entry(d)
	if len(insts) == 0 {
		*e = InDomProfile{InDom: d, Exclude: exclude}
		return nil
	}
	if made {
		e.Exclude = true
	}
	for _, i := range insts {
		at, listed := slices.BinarySearch(e.Insts, i)
		// Insts lists the selected instances if e excludes, and the others if not.
		switch list := e.Exclude != exclude; {
		case list && !listed:
			e.Insts = slices.Insert(e.Insts, at, i)
		case !list && listed:
			e.Insts = slices.Delete(e.Insts, at, at+1)
		}
	}
	return nil
}

// Equal reports whether two profiles have the same entries.
func (p *Profile) Equal(q *Profile) bool {
	return p.Exclude == q.Exclude && slices.EqualFunc(p.InDoms, q.InDoms, func(a, b InDomProfile) bool {
		return a.InDom == b.InDom && a.Exclude == b.Exclude && slices.Equal(a.Insts, b.Insts)
	})
}

// Clone returns a copy that shares nothing with p.
func (p *Profile) Clone() *Profile {
	q := &Profile{Exclude: p.Exclude, InDoms: slices.Clone(p.InDoms)}
	for i := range q.InDoms {
		q.InDoms[i].Insts = slices.Clone(q.InDoms[i].Insts)
	}
	return q
}

// normalise restores the order that Profile promises; of several entries for
// one domain the first counts, as in the C library.
func (p *Profile) normalise() {
	slices.SortStableFunc(p.InDoms, func(a, b InDomProfile) int {
		switch {
		case a.InDom < b.InDom:
			return -1
		case a.InDom > b.InDom:
			return 1
		}
		return 0
	})
	p.InDoms = slices.CompactFunc(p.InDoms, func(a, b InDomProfile) bool { return a.InDom == b.InDom })
	for i := range p.InDoms {
		e := &p.InDoms[i]
		slices.Sort(e.Insts)
		e.Insts = slices.Compact(e.Insts)
	}
}
