package pmapi

import (
	"context"
	"math"
	"strings"

	"github.com/pcp-go/pcp/pdu"
)

// A groupDomain is an instance domain, as far as a group knows it.
type groupDomain struct {
	g  *Group
	id pdu.InDom

	current bool // the list is, unless instances have changed unnoticed
	list    []pdu.Instance
	err     error                 // why there is no list
	names   map[pdu.InstID]string // "" for instances without a name
	gen     int                   // counts lists
	at      uint64                // how many results there were when the list was requested
	missing bool                  // an instance that is selected had no value
}

const never = math.MaxUint64

// domain is the groupDomain of an instance domain, nil for pdu.NoInDom.
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

// forgetNames makes the list be requested again when it is needed.
func (d *groupDomain) forgetNames() {
	d.current = false
	clear(d.names)
	d.gen++
}

// requestList requests the list. Its error is that of the request as a whole. An error
// that the source has replied with is kept in err, and if it is temporary, the list is
// requested again later.
func (d *groupDomain) requestList(ctx context.Context) error {
	list, err := d.g.c.knownInstances(ctx, d.id)
	if err != nil && !isReply(err) {
		return err
	}
	d.list, d.err = list, nil
	if err != nil {
		d.err = pdu.FromError(err)
	}
	d.forgetNames()
	d.current, d.at, d.g.instsChanged = !isTemporary(pdu.FromError(d.err)), d.g.fetches, true
	for _, i := range list {
		d.names[i.ID] = i.Name
	}
	return nil
}

// requestMissing requests the instances of domains in which one that is selected had no value:
// it may have gone, or come, or have another number.
func (g *Group) requestMissing(ctx context.Context) error {
	if !g.instsMissing {
		return nil
	}
	g.instsMissing = false
	for _, d := range g.domains {
		if !d.missing {
			continue
		}
		d.missing = false
		if err := d.requestList(ctx); err != nil {
			d.missing, g.instsMissing = true, true
			return err
		}
	}
	return nil
}

// ensureNames requests the list, if it has to be requested again or if it lacks an instance of
// a set: at most once for each result. Instances that are not in it have no name.
func (d *groupDomain) ensureNames(ctx context.Context, s pdu.ValueSet, again bool) error {
	again = again || !d.current
	for i := 0; i < s.Len() && !again; i++ {
		_, known := d.names[s.Inst(i)]
		again = !known
	}
	if again && d.at != d.g.fetches {
		if err := d.requestList(ctx); err != nil {
			return err
		}
	}
	for i := range s.Len() {
		if _, known := d.names[s.Inst(i)]; !known && d.current {
			d.names[s.Inst(i)] = ""
		}
	}
	return nil
}

// find is the number of an instance with a name, or with that up to its first space.
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
