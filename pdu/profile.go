package pdu

import (
	"encoding/binary"
	"slices"

	"github.com/pcp-go/pcp/internal/wire"
)

// A Profile says which instances a client wants. Its zero value wants all. It
// never applies to singular metrics.
//
// A Profile that several goroutines can see must not be changed any more.
type Profile struct {
	// Exclude is the rule for instance domains without an entry of their own.
	Exclude bool
	// InDoms are the entries, in ascending order of InDom, each InDom once.
	InDoms []InDomProfile
}

// An InDomProfile selects instances of one domain: all but the listed, or,
// with Exclude, none but the listed.
type InDomProfile struct {
	InDom   InDom
	Exclude bool
	Insts   []InstID // in ascending order
}

// For returns the rule for an instance domain. NoInDom, of a singular metric,
// has no rule and passes.
func (p *Profile) For(d InDom) InDomProfile {
	if p == nil || d == NoInDom {
		return InDomProfile{InDom: d}
	}
	if i, ok := p.find(d); ok {
		return p.InDoms[i]
	}
	return InDomProfile{InDom: d, Exclude: p.Exclude}
}

// All reports whether the rule lets every instance pass.
func (e InDomProfile) All() bool { return !e.Exclude && len(e.Insts) == 0 }

// Includes reports whether the rule lets an instance pass.
func (e InDomProfile) Includes(i InstID) bool {
	_, listed := slices.BinarySearch(e.Insts, i)
	return listed == e.Exclude
}

// Includes reports whether an instance of a domain is wanted.
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

// Add wants instances: all of d without a list, else the listed ones as well;
// NoInDom without a list wants everything. NoInDom with a list is
// ErrProfileSpec. The counterpart of pmAddProfile(3).
func (p *Profile) Add(d InDom, insts ...InstID) error { return p.change(d, false, insts) }

// Delete does not want instances: none of d without a list, else not the listed
// ones; NoInDom without a list wants nothing. NoInDom with a list is
// ErrProfileSpec. As in the reference, a list for a domain without an entry
// excludes all of the domain: "all but these" needs Add(d) before. The
// counterpart of pmDelProfile(3).
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
		// The list has what passes if e excludes, what does not if it includes.
		switch list := e.Exclude != exclude; {
		case list && !listed:
			e.Insts = slices.Insert(e.Insts, at, i)
		case !list && listed:
			e.Insts = slices.Delete(e.Insts, at, at+1)
		}
	}
	return nil
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
// one domain the first counts, as in the reference.
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

// A SetProfile is PROFILE: it replaces the profile of one of a client's
// contexts. It has no answer.
//
//	12  int32  Context, 0 or more
//	16  int32  1 if the profile excludes by default
//	20  int32  number of entries
//	24  int32  0
//	28  …      each: uint32 InDom · int32 Exclude · int32 number of instances · int32 0
//	    …      the instances of all entries
type SetProfile struct {
	Context int32
	Profile Profile
}

// Kind is KindProfile.
func (SetProfile) Kind() Kind { return KindProfile }

// Append adds the body to b.
func (p SetProfile) Append(b []byte) ([]byte, error) {
	if p.Context < 0 {
		return b, refuse(KindProfile, ErrNoContext, "negative context")
	}
	flag := func(b []byte, exclude bool) []byte {
		if exclude {
			return append(b, 0, 0, 0, 1)
		}
		return append(b, 0, 0, 0, 0)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(p.Context))
	b = flag(b, p.Profile.Exclude)
	b = binary.BigEndian.AppendUint64(b, uint64(len(p.Profile.InDoms))<<32)
	for _, e := range p.Profile.InDoms {
		b = binary.BigEndian.AppendUint32(b, uint32(e.InDom))
		b = flag(b, e.Exclude)
		b = binary.BigEndian.AppendUint64(b, uint64(len(e.Insts))<<32)
	}
	for _, e := range p.Profile.InDoms {
		for _, i := range e.Insts {
			b = binary.BigEndian.AppendUint32(b, uint32(i))
		}
	}
	return b, nil
}

// Decode fills p from a body, with memory of its own.
func (p *SetProfile) Decode(body []byte) error {
	c := wire.New(body, HeaderLen)
	*p = SetProfile{Context: c.Int32("context")}
	if p.Context < 0 {
		c.Fail("context", 4, "negative")
	}
	p.Profile.decode(&c)
	err := c.Done()
	if err != nil {
		*p = SetProfile{}
	}
	return malformedIn(KindProfile, err)
}

func (p *Profile) decode(c *wire.Cursor) {
	p.Exclude = c.Int32("state") != 0
	n := c.Count(0, "numprof")
	if n == 0 && c.Left() == 0 {
		return // 7.x lets the word of padding be missing
	}
	c.Skip(4, "padding")
	if n > c.Left()/16 {
		c.Fail("numprof", 8, "%d entries in %d bytes", n, c.Left())
		return
	}
	if n == 0 {
		return
	}
	p.InDoms = make([]InDomProfile, n)
	counts := make([]int32, n)
	for i := range p.InDoms {
		e := &p.InDoms[i]
		e.InDom = InDom(c.Uint32("indom"))
		e.Exclude = c.Int32("state") != 0
		counts[i] = c.Int32("numinst")
		c.Skip(4, "padding")
	}
	for i, n := range counts {
		if int64(n)*4 > int64(c.Left()) || n < 0 {
			c.Fail("instances", 0, "%d instances in %d bytes", n, c.Left())
			return
		}
		if n == 0 {
			continue
		}
		insts := make([]InstID, n)
		for j := range insts {
			insts[j] = InstID(c.Int32("inst"))
		}
		p.InDoms[i].Insts = insts
	}
	p.normalise()
}
