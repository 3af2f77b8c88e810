package pmapi

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// knownMetadata is the metadata that a host with AutoReconnect has returned, as it was then or at
// the latest gap. After the next gap it is compared with the collector's.
// A nil one stays empty.
type knownMetadata struct {
	ids    map[string]pdu.PMID // pdu.NoPMID for a name that is gone
	descs  map[pdu.PMID]pdu.Desc
	insts  map[pdu.InDom][]pdu.Instance // by number
	gap    *Gap                         // not reported yet, or nil
	lostAt time.Time
	cause  error
}

func newKnownMetadata() *knownMetadata {
	return &knownMetadata{ids: map[string]pdu.PMID{}, descs: map[pdu.PMID]pdu.Desc{}, insts: map[pdu.InDom][]pdu.Instance{}}
}

func (k *knownMetadata) clone() *knownMetadata {
	n := *k
	n.ids, n.descs, n.insts = maps.Clone(k.ids), maps.Clone(k.descs), maps.Clone(k.insts)
	return &n
}

func (k *knownMetadata) addNames(names []string, ids []pdu.PMID) {
	if k == nil {
		return
	}
	for i, n := range names {
		if ids[i] != pdu.NoPMID {
			k.ids[n] = ids[i]
		}
	}
}

func (k *knownMetadata) addDescs(descs []pdu.Desc) {
	if k == nil {
		return
	}
	for _, d := range descs {
		if d.PMID != pdu.NoPMID {
			k.descs[d.PMID] = d
		}
	}
}

func (k *knownMetadata) addInstances(d pdu.InDom, list []pdu.Instance) {
	if k != nil {
		k.insts[d] = sorted(list)
	}
}

// sorted returns a copy of instances, sorted by number.
func sorted(list []pdu.Instance) []pdu.Instance {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b pdu.Instance) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// setLost notes when and why the connection was lost, the first time.
func (k *knownMetadata) setLost(cause error) {
	if k.lostAt.IsZero() {
		k.lostAt, k.cause = time.Now(), cause
	}
}

// unreportedGap returns the gap that has not been reported yet, or nil. The caller reports it.
func (k *knownMetadata) unreportedGap() *Gap {
	if k == nil {
		return nil
	}
	g := k.gap
	k.gap = nil
	return g
}

// apply makes the state after a gap the present one.
func (k *knownMetadata) apply(g *Gap) {
	for name, c := range g.Names {
		k.ids[name] = c.Is
	}
	for id, c := range g.Descs {
		k.descs[id] = c.Is
	}
	for d, c := range g.InDoms {
		k.insts[d] = slices.Clone(c.Is) // the user may change the one in the Gap
	}
	k.gap, k.lostAt, k.cause = g, time.Time{}, nil
}

// revert restores the state before the unreported gap, which becomes part of the next gap.
func (k *knownMetadata) revert() {
	for name, c := range k.gap.Names {
		k.ids[name] = c.Was
	}
	for id, c := range k.gap.Descs {
		k.descs[id] = c.Was
	}
	for d, c := range k.gap.InDoms {
		k.insts[d] = c.Was
	}
	k.lostAt, k.cause = k.gap.Lost, k.gap.Cause
}

// check compares all metadata that the host has returned with that of the collector on a new
// connection. It returns the present metadata, with the gap. An error is that of the connection.
func (h *host) check(ctx context.Context, l *link) (*knownMetadata, error) {
	k := h.known.clone()
	if k.gap != nil {
		k.revert()
	}
	k.setLost(errReconnect) // if the old connection was not lost
	g := &Gap{Lost: k.lostAt, Cause: k.cause, Names: map[string]GapChange[pdu.PMID]{}, Descs: map[pdu.PMID]GapChange[pdu.Desc]{},
		InDoms: map[pdu.InDom]GapChange[[]pdu.Instance]{}, Unchecked: map[string]error{}}
	l.begin(ctx, h.dialer.RequestTimeout)
	defer l.deadline.Stop()
	for _, compare := range []func(*link, *Gap) error{k.compareNames, k.compareDescs, k.compareInDoms} {
		if err := compare(l, g); err != nil {
			return nil, l.ended(ctx, err)
		}
	}
	g.Restored = time.Now()
	k.apply(g)
	return k, nil
}

func (k *knownMetadata) compareNames(l *link, g *Gap) error {
	names := slices.Sorted(maps.Keys(k.ids))
	ids, codes, err := l.lookup(names)
	if err != nil {
		return err
	}
	for i, n := range names {
		switch was := k.ids[n]; {
		case codes[i] != 0 && codes[i] != pdu.ErrName && codes[i] != pdu.ErrNonLeaf:
			g.Unchecked["name "+n] = error(codes[i])
		case was != ids[i]:
			g.Names[n] = GapChange[pdu.PMID]{was, ids[i]}
		}
	}
	return nil
}

func (k *knownMetadata) compareDescs(l *link, g *Gap) error {
	ids := slices.Sorted(maps.Keys(k.descs))
	descs, codes, err := l.descs(ids, 1)
	if err != nil {
		return err
	}
	for i, id := range ids {
		switch was := k.descs[id]; {
		case codes[i] != 0 && codes[i] != pdu.ErrPMID && codes[i] != pdu.ErrNoAgent:
			g.Unchecked["descriptor of "+id.String()] = error(codes[i])
		case was != descs[i]:
			g.Descs[id] = GapChange[pdu.Desc]{was, descs[i]}
		}
	}
	return nil
}

func (k *knownMetadata) compareInDoms(l *link, g *Gap) error {
	domains := slices.Sorted(maps.Keys(k.insts))
	for _, d := range domains {
		if err := l.queue(pdu.InstanceReq{InDom: d, Inst: pdu.NoInst}); err != nil {
			return err
		}
	}
	return l.readReplies(len(domains), pdu.KindInstance, func(i int, body []byte, err error) error {
		p := instanceReply{to: pdu.InstanceReq{InDom: domains[i], Inst: pdu.NoInst}}
		if err == nil {
			err = p.Decode(body)
		}
		switch was, is := k.insts[domains[i]], sorted(p.Instances); {
		case err != nil && err != error(pdu.ErrInDom) && err != error(pdu.ErrNoAgent):
			g.Unchecked["instances of "+domains[i].String()] = err
		case !slices.Equal(was, is):
			g.InDoms[domains[i]] = GapChange[[]pdu.Instance]{was, is}
		}
		return nil
	})
}
