package pmapi

import (
	"context"
	"math"
	"strings"

	"github.com/pcp-go/pcp/pdu"
)

// A groupDomain is what a group knows of an instance domain.
type groupDomain struct {
	g  *Group
	id pdu.InDom

	asked bool // and as far as is known, nothing has changed since
	list  []pdu.Instance
	err   error                 // why there is none
	names map[pdu.InstID]string // "" for those of which it is known that they have none
	gen   int                   // counts lists
	at    uint64                // the result after which the list was asked for
}

const never = math.MaxUint64

// domain is that of an instance domain, nil for that of singular metrics.
func (g *Group) domain(id pdu.InDom) *groupDomain {
	if id == pdu.NoInDom {
		return nil
	}
	d := g.domains[id]
	if d == nil {
		d = &groupDomain{g: g, id: id, names: map[pdu.InstID]string{}, at: never}
		g.domains[id] = d
	}
	return d
}

// renew has the list asked for again when it is needed.
func (d *groupDomain) renew() {
	d.asked = false
	clear(d.names)
	d.gen++
}

// ask asks for the list. Its error is that of the exchange; what the collector says
// is noted, and if that passes, it is asked again.
func (d *groupDomain) ask(ctx context.Context) error {
	list, err := d.g.c.Instances(ctx, d.id)
	if err != nil && !refused(err) {
		return err
	}
	d.list, d.err = list, nil
	if err != nil {
		d.err = pdu.FromError(err)
	}
	d.renew()
	d.asked, d.at, d.g.misassigned = !isTemporary(pdu.FromError(d.err)), d.g.fetches, true
	for _, i := range list {
		d.names[i.ID] = i.Name
	}
	return nil
}

// know makes sure that the names of the instances of a set are known, as far as
// there are any: by asking for the list again, or if one is not known. That is not
// done twice about the same result.
func (d *groupDomain) know(ctx context.Context, s pdu.ValueSet, again bool) error {
	again = again || !d.asked
	for i := 0; i < s.Len() && !again; i++ {
		_, known := d.names[s.Inst(i)]
		again = !known
	}
	if again && d.at != d.g.fetches {
		if err := d.ask(ctx); err != nil {
			return err
		}
	}
	for i := range s.Len() {
		if _, known := d.names[s.Inst(i)]; !known && d.asked {
			d.names[s.Inst(i)] = ""
		}
	}
	return nil
}

// find finds the number of an instance by its name, or by that up to the first
// space.
func (d *groupDomain) find(name string) (pdu.InstID, bool) {
	for _, i := range d.list {
		if i.Name == name {
			return i.ID, true
		}
	}
	for _, i := range d.list {
		if first, _, ok := strings.Cut(i.Name, " "); ok && first == name {
			return i.ID, true
		}
	}
	return 0, false
}
