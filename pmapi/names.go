package pmapi

import (
	"context"

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

// The limits of one request for PMIDs of names, and how many such requests are on
// their way at one time: so many that their answers fit into any socket's buffers.
const (
	maxNamesLen    = 63 << 10
	maxNamesFlight = 16
)

// Lookup finds the metrics of names, all in one round trip: one PMID for each
// name, in their order. pdu.NoPMID stands where there is none, and then there is
// an error too, about the first such name: pdu.ErrName for one that is unknown,
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
	for i, id := range ids {
		if id != pdu.NoPMID {
			continue
		}
		if codes[i] == 0 { // only a question about one name tells why
			if _, codes1, err := c.lookup(ctx, names[i:i+1]); err == nil {
				codes[i] = codes1[0]
			}
		}
		if codes[i] == 0 {
			codes[i] = pdu.ErrName
		}
		return ids, c.fail("lookup", names[i], codes[i])
	}
	if c.handed != nil {
		c.handed.names(names, ids)
	}
	return ids, nil
}

// lookup finds PMIDs. A code is why there is none, or 0 if that is not known.
func (c *Context) lookup(ctx context.Context, names []string) ([]pdu.PMID, []pdu.Error, error) {
	ids, codes := make([]pdu.PMID, len(names)), make([]pdu.Error, len(names))
	if c.local != nil {
		for i, name := range names {
			var err error
			if ids[i], err = c.local.Lookup(name); err != nil {
				ids[i], codes[i] = pdu.NoPMID, pdu.FromError(err)
			}
		}
		return ids, codes, nil
	}
	l, err := c.begin(ctx)
	if err != nil {
		return nil, nil, err
	}
	for at := 0; at < len(names) && err == nil; {
		at, err = l.lookup(names, at, ids, codes)
	}
	return ids, codes, c.end(ctx, l, err)
}

// lookup asks for the PMIDs of names from one on, in as many requests as may be
// on their way, and returns where to go on.
func (l *link) lookup(names []string, at int, ids []pdu.PMID, codes []pdu.Error) (int, error) {
	var sent [maxNamesFlight]int // how many names each request has
	n, next := 0, at
	for n < maxNamesFlight && next < len(names) {
		size, end := 0, next
		for end < len(names) && (end == next || size+len(names[end])+8 <= maxNamesLen) {
			size += len(names[end]) + 8
			end++
		}
		if err := l.queue(pdu.NameList{Names: names[next:end]}); err != nil {
			return next, err // that of a name that no PDU holds; those before are answered to the next request
		}
		sent[n], next = end-next, end
		n++
	}
	if err := l.send(); err != nil {
		return next, err
	}
	var worst error
	for _, k := range sent[:n] {
		if err := l.pmids(ids[at:at+k], codes[at:at+k]); err != nil {
			if _, said := err.(pdu.Error); !said {
				return next, err
			}
			worst = err
		}
		at += k
	}
	return next, worst
}

// pmids reads the answer to one request for PMIDs.
func (l *link) pmids(ids []pdu.PMID, codes []pdu.Error) error {
	var p pdu.PMIDList
	body, err := l.answer(pdu.KindPMNSIDs)
	if err == nil {
		err = p.Decode(body)
	}
	if code, said := err.(pdu.Error); said && (code == pdu.ErrName || code == pdu.ErrNonLeaf || len(ids) == 1) {
		for i := range ids {
			ids[i], codes[i] = pdu.NoPMID, code
		}
		return nil
	}
	if err != nil {
		return err
	}
	if len(p.PMIDs) != len(ids) {
		return pdu.ErrIPC
	}
	copy(ids, p.PMIDs)
	return nil
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
	if c.local != nil {
		if names := c.local.Names(id); len(names) > 0 {
			return names, nil
		}
		return nil, c.fail("name", id.String(), pdu.ErrPMID)
	}
	p, err := c.names(ctx, pdu.PMIDList{PMIDs: []pdu.PMID{id}})
	if err == nil && len(p.Names) == 0 {
		err = pdu.ErrPMID
	}
	return p.Names, c.fail("name", id.String(), err)
}

// names asks a question that is answered by names.
func (c *Context) names(ctx context.Context, ask pdu.PDU) (pdu.NameList, error) {
	var p pdu.NameList
	err := c.exchange(ctx, ask, pdu.KindPMNSNames, &p)
	if err == nil && p.Err < 0 {
		err = p.Err
	}
	if err != nil {
		return pdu.NameList{}, err
	}
	return p, nil
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
		return children, c.fail("children", name, err)
	}
	p, err := c.names(ctx, pdu.ChildReq{Name: name, Status: true})
	if err == nil && len(p.Statuses) != len(p.Names) {
		err = pdu.ErrIPC
	}
	if err != nil {
		return nil, c.fail("children", name, err)
	}
	for i, n := range p.Names {
		children = append(children, Child{Name: n, Leaf: p.Statuses[i] == pdu.Leaf})
	}
	return children, nil
}

// Traverse are the names of all metrics at and below a name, "" for all there
// are, in the order of the name space. An unknown name is pdu.ErrName. The
// counterpart of pmTraversePMNS(3).
func (c *Context) Traverse(ctx context.Context, name string) ([]string, error) {
	if c.local == nil {
		p, err := c.names(ctx, pdu.TraverseReq{Name: name})
		return p.Names, c.fail("traverse", name, err)
	}
	all, err := c.local.Traverse(name)
	if err != nil {
		return nil, c.fail("traverse", name, err)
	}
	var names []string
	for n := range all {
		names = append(names, n)
	}
	return names, nil
}
