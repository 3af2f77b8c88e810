package pmapitest

import (
	"slices"

	"github.com/pcp-go/pcp/pdu"
)

// domain is the domain of instance domains, and of the PMIDs that Add chooses.
const domain = 400

// An InDom is an instance domain of a Source.
type InDom struct {
	s      *Source
	id     pdu.InDom
	list   []pdu.Instance
	next   pdu.InstID
	labels string
	inst   func(pdu.Instance) string
	err    error
}

// InDom adds an instance domain with instances numbered from 0.
func (s *Source) InDom(names ...string) *InDom {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := &InDom{s: s, id: pdu.MakeInDom(domain, len(s.indoms)+1)}
	s.indoms = append(s.indoms, d)
	d.setNames(names)
	return d
}

// ID returns the identifier of the domain.
func (d *InDom) ID() pdu.InDom { return d.id }

// SetNames replaces the instances and returns their numbers. A name that stays keeps its number,
// and a new name gets an unused one.
func (d *InDom) SetNames(names ...string) []pdu.InstID {
	d.s.mu.Lock()
	defer d.s.mu.Unlock()
	return d.setNames(names)
}

func (d *InDom) setNames(names []string) []pdu.InstID {
	var list []pdu.Instance
	var ids []pdu.InstID
	for _, n := range names {
		i := pdu.Instance{ID: d.next, Name: n}
		if at := slices.IndexFunc(d.list, func(i pdu.Instance) bool { return i.Name == n }); at >= 0 {
			i = d.list[at]
		} else {
			d.next++
		}
		list, ids = append(list, i), append(ids, i.ID)
	}
	d.list = list
	return ids
}

// SetInstances replaces the instances, with the given numbers and names.
func (d *InDom) SetInstances(list ...pdu.Instance) {
	d.s.mu.Lock()
	defer d.s.mu.Unlock()
	d.list = slices.Clone(list)
	for _, i := range list {
		d.next = max(d.next, i.ID+1)
	}
}

// SetLabels replaces the labels of the domain by a JSON object, and those of each instance by the
// result of each. A nil each means that the instances have no labels.
func (d *InDom) SetLabels(labels string, each func(i pdu.Instance) string) {
	d.s.mu.Lock()
	defer d.s.mu.Unlock()
	d.labels, d.inst = labels, each
	d.s.notify(pdu.ChangeLabels)
}

// Fail makes every request for instances fail with an error, until Fail(nil). Values are not
// affected.
func (d *InDom) Fail(err error) {
	d.s.mu.Lock()
	defer d.s.mu.Unlock()
	d.err = err
}
