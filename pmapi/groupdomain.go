package pmapi

import (
	"context"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/pdu"
)

// A groupDomain is an instance domain, as far as a group knows it.
type groupDomain struct {
	g  *Group
	id pdu.InDom

	current bool // whether list is up to date, as far as the group knows
	list    []pdu.Instance
	err     error                 // why there is no list
	names   map[pdu.InstID]string // "" for instances without a name
	aliases map[string]pdu.InstID // instances of names that are not in list; NoInst if unknown
	gen     int                   // counts lists
	at      uint64                // how many results there were when the list was requested
	missing bool                  // an instance that is selected had no value
}

const never = math.MaxUint64

// domain returns the groupDomain of an instance domain, nil for pdu.NoInDom.
func (g *Group) domain(id pdu.InDom) *groupDomain {
	if id == pdu.NoInDom {
		return nil
	}
	d := g.domains[id]
	if d == nil {
		d = &groupDomain{g: g, id: id, names: map[pdu.InstID]string{}, aliases: map[string]pdu.InstID{}, at: never}
		g.domains[id] = d
	}
	return d
}

// forgetNames drops the names, so that the list is requested again when it is needed.
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
	if !slices.Equal(list, d.list) {
		d.expireAliases(list)
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

// requestMissing requests the instances of domains where a selected instance had no value: it may
// have gone, or come, or have another number.
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
		if err := g.requestSelected(ctx, d); err != nil {
			d.missing, g.instsMissing = true, true
			return err
		}
	}
	return nil
}

// requestSelected requests the list and, for the selected names that are not in it, their
// instances.
func (g *Group) requestSelected(ctx context.Context, d *groupDomain) error {
	if err := d.requestList(ctx); err != nil {
		return err
	}
	for _, m := range g.members {
		if b := m.base(); b.domain == d && b.opts.hasInstance {
			if err := d.requestAlias(ctx, b.opts.instance); err != nil {
				return err
			}
		}
	}
	return nil
}

// requestAlias requests the instance of a name that is not in the list, once for each list. An
// agent may accept other names than those in its list: proc accepts "1" for the process "000001
// init". Archives have no other names.
func (d *groupDomain) requestAlias(ctx context.Context, name string) error {
	if _, known := d.find(name); known || name == "" || d.err != nil || d.g.c.archive() != nil {
		return nil
	}
	if _, known := d.aliases[name]; known {
		return nil
	}
	id, err := d.g.c.InstID(ctx, d.id, name)
	if err != nil {
		if !isReply(err) {
			return err
		}
		id = pdu.NoInst
	}
	d.aliases[name] = id
	return nil
}

// expireAliases drops the aliases whose instances are not in a new list.
func (d *groupDomain) expireAliases(list []pdu.Instance) {
	maps.DeleteFunc(d.aliases, func(_ string, id pdu.InstID) bool {
		return !slices.ContainsFunc(list, func(i pdu.Instance) bool { return i.ID == id })
	})
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

// find returns the number of the instance with a name, or with that name up to the first space, or
// with a name that only the source knows.
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
	id, ok := d.aliases[name]
	return id, ok && id != pdu.NoInst
}
