package pmapi

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/pcp-go/pcp/pdu"
)

// A Location says where a context looks names up.
type Location int

// The numbers are those of pmGetPMNSLocation(3).
const (
	LocalNames   Location = 1 // in Dialer.Names
	RemoteNames  Location = 2 // at the collector
	ArchiveNames Location = 3 // in an archive
)

// NamesLocation says where names are looked up. The counterpart of
// pmGetPMNSLocation(3).
func (c *Context) NamesLocation() Location {
	if c.local != nil {
		return LocalNames
	}
	return RemoteNames
}

// maxNamesLen is how long one request for PMIDs of names gets.
const maxNamesLen = 63 << 10

// Lookup finds the metrics of names, all in one exchange: one PMID for each name,
// in their order. pdu.NoPMID stands where there is none, and then there is an error
// too, about the first such name: pdu.ErrName for one that is unknown,
// pdu.ErrNonLeaf for one that has others below it. Without names it is
// pdu.ErrTooSmall. The counterpart of pmLookupName(3), where several names of
// which some are unknown are no error.
func (c *Context) Lookup(ctx context.Context, names ...string) ([]pdu.PMID, error) {
	if len(names) == 0 {
		return nil, c.fail("lookup", "", pdu.ErrTooSmall)
	}
	ids, codes, err := c.lookup(ctx, names)
	if err != nil {
		return nil, c.fail("lookup", names[0], err)
	}
	lookupEvents(names, ids)
	i := slices.Index(ids, pdu.NoPMID)
	if i < 0 {
		return ids, nil
	}
	if codes[i] == 0 { // only a question about one name tells why
		if _, why, err := c.lookup(ctx, names[i:i+1]); err == nil {
			codes[i] = why[0]
		}
	}
	return ids, c.fail("lookup", names[i], cmp.Or(codes[i], pdu.ErrName))
}

// lookup finds PMIDs. A code is why there is none, or 0 if that is not known.
func (c *Context) lookup(ctx context.Context, names []string) ([]pdu.PMID, []pdu.Error, error) {
	if c.local != nil {
		ids, codes := c.lookupLocal(names)
		return ids, codes, nil
	}
	l, err := c.begin(ctx)
	if err != nil {
		return nil, nil, err
	}
	ids, codes, err := l.lookup(names)
	if err == nil {
		c.handed.addNames(names, ids)
	}
	return ids, codes, c.end(ctx, l, err)
}

func (c *Context) lookupLocal(names []string) ([]pdu.PMID, []pdu.Error) {
	ids, codes := make([]pdu.PMID, len(names)), make([]pdu.Error, len(names))
	for i, name := range names {
		var err error
		if ids[i], err = c.local.Lookup(name); err != nil {
			ids[i], codes[i] = pdu.NoPMID, pdu.FromError(err)
		}
	}
	return ids, codes
}

// lookup asks for the PMIDs of names, in as many requests as they need.
func (l *link) lookup(names []string) ([]pdu.PMID, []pdu.Error, error) {
	ids, codes := make([]pdu.PMID, len(names)), make([]pdu.Error, len(names))
	var ends []int // of the names of each request
	for at := 0; at < len(names); {
		end, size := at, 0
		for end < len(names) && (end == at || size+len(names[end])+8 <= maxNamesLen) {
			size += len(names[end]) + 8
			end++
		}
		if err := l.queue(pdu.NameList{Names: names[at:end]}); err != nil {
			return nil, nil, err
		}
		ends, at = append(ends, end), end
	}
	at := 0
	err := l.answers(len(ends), pdu.KindPMNSIDs, func(i int, body []byte, err error) error {
		from := at
		at = ends[i]
		return takeIDs(body, err, ids[from:at], codes[from:at])
	})
	return ids, codes, err
}

// takeIDs takes the answer to one request for PMIDs: a code is about all of them.
func takeIDs(body []byte, err error, ids []pdu.PMID, codes []pdu.Error) error {
	var p pdu.PMIDList
	code, said := err.(pdu.Error)
	switch {
	case said:
		for i := range ids {
			ids[i], codes[i] = pdu.NoPMID, code
		}
		return nil
	case err == nil:
		err = p.Decode(body)
	}
	if err == nil && len(p.PMIDs) != len(ids) {
		err = fmt.Errorf("%d PMIDs of %d names: %w", len(p.PMIDs), len(ids), pdu.ErrIPC)
	}
	copy(ids, p.PMIDs)
	return err
}

// Name is the name of a metric, or one of them. Errors: pdu.ErrPMID, and
// pdu.ErrNoAgent for a domain that nobody serves. The counterpart of pmNameID(3).
func (c *Context) Name(ctx context.Context, id pdu.PMID) (string, error) {
	names, err := c.Names(ctx, id)
	if err != nil {
		return "", err
	}
	return names[0], nil
}

// Names are all names of a metric, at least one. Errors as those of Name. The
// counterpart of pmNameAll(3).
func (c *Context) Names(ctx context.Context, id pdu.PMID) ([]string, error) {
	if m := eventMetricOf(id); m != nil {
		return []string{m.name}, nil
	}
	if c.local != nil {
		if names := c.local.Names(id); len(names) > 0 {
			return names, nil
		}
		return nil, c.fail("name", id.String(), pdu.ErrPMID)
	}
	var p nameList
	err := c.exchange(ctx, pdu.PMIDList{PMIDs: []pdu.PMID{id}}, pdu.KindPMNSNames, &p, func() {
		c.handed.addNames(p.Names, slices.Repeat([]pdu.PMID{id}, len(p.Names)))
	})
	if err == nil && len(p.Names) == 0 {
		err = pdu.ErrPMID
	}
	if err != nil {
		return nil, c.fail("name", id.String(), err)
	}
	return p.Names, nil
}

// A nameList is an answer that has names, or a code instead.
type nameList struct{ pdu.NameList }

func (p *nameList) Decode(body []byte) error {
	if err := p.NameList.Decode(body); err != nil {
		return err
	}
	if p.Err < 0 {
		return p.Err
	}
	return nil
}

// A Child is what a name has directly below it.
type Child struct {
	Name string // the last component alone
	Leaf bool   // a metric
}

// Children are what lies directly below a name, "" for the root, in the order of
// the name space: nothing below a metric. An unknown name is pdu.ErrName. The
// counterpart of pmGetChildrenStatus(3).
func (c *Context) Children(ctx context.Context, name string) ([]Child, error) {
	var children []Child
	if c.local != nil {
		list, err := c.local.Children(name)
		for _, e := range list {
			children = append(children, Child(e))
		}
		children, err = eventChildren(name, children, err)
		return children, c.fail("children", name, err)
	}
	var p nameList
	err := c.exchange(ctx, pdu.ChildReq{Name: name, Status: true}, pdu.KindPMNSNames, &p, nil)
	if err == nil && len(p.Statuses) != len(p.Names) {
		err = fmt.Errorf("children without a status: %w", pdu.ErrIPC)
	}
	if err == nil {
		for i, n := range p.Names {
			children = append(children, Child{Name: n, Leaf: p.Statuses[i] == pdu.Leaf})
		}
	}
	children, err = eventChildren(name, children, err)
	return children, c.fail("children", name, err)
}

// Traverse are the names of all metrics at and below a name, "" for all there
// are, in the order of the name space. An unknown name is pdu.ErrName. The
// counterpart of pmTraversePMNS(3).
func (c *Context) Traverse(ctx context.Context, name string) ([]string, error) {
	if c.local == nil {
		var p nameList
		err := c.exchange(ctx, pdu.TraverseReq{Name: name}, pdu.KindPMNSNames, &p, nil)
		names, err := traverseEvents(name, p.Names, err)
		return names, c.fail("traverse", name, err)
	}
	var names []string
	all, err := c.local.Traverse(name)
	if err == nil {
		for n := range all {
			names = append(names, n)
		}
	}
	names, err = traverseEvents(name, names, err)
	return names, c.fail("traverse", name, err)
}
