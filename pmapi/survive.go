package pmapi

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// A Gap is a time in which a context that survives (Dialer.Survive) had no
// connection, and what has changed in it of what the context had handed out. Such
// a context connects again by itself, when it is asked something and not more
// often than Dialer.Backoff says; it tells its profile anew, and looks again at all
// names, descriptors and instance domains that it has given. Requests that come
// while there is no connection fail as those of other contexts do.
//
// The first Fetch on the new connection fails with the Gap, so that values before
// and after it are not taken for neighbours; the next goes on.
type Gap struct {
	Lost, Back time.Time // by this computer's clock
	Cause      error     // why the connection was lost

	Names   []NameChange   // by name
	Descs   []DescChange   // by PMID
	InDoms  []InDomChange  // by instance domain
	Missing []MissingCheck // what could not be looked at
}

// A NameChange is a name that stands for another metric now, pdu.NoPMID if for
// none.
type NameChange struct {
	Name    string
	Was, Is pdu.PMID
}

// A DescChange is a metric that is described otherwise now; Is.PMID is pdu.NoPMID
// if it is no more.
type DescChange struct{ Was, Is pdu.Desc }

// An InDomChange is an instance domain with other instances now.
type InDomChange struct {
	InDom   pdu.InDom
	Was, Is []pdu.Instance // by number
}

// A MissingCheck is something that the new collector did not tell.
type MissingCheck struct {
	What string
	Err  error
}

// Changed reports whether anything that the context had handed out is not as it
// was, or could not be looked at.
func (g *Gap) Changed() bool { return len(g.Names)+len(g.Descs)+len(g.InDoms)+len(g.Missing) > 0 }

func (g *Gap) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "no connection for %v (%v)", g.Back.Sub(g.Lost).Round(time.Millisecond), g.Cause)
	for _, part := range []struct {
		n    int
		what string
	}{
		{len(g.Names), "names"}, {len(g.Descs), "descriptors"}, {len(g.InDoms), "instance domains"},
	} {
		if part.n > 0 {
			fmt.Fprintf(&b, ", %d %s changed", part.n, part.what)
		}
	}
	if len(g.Missing) > 0 {
		fmt.Fprintf(&b, ", %d could not be looked at", len(g.Missing))
	}
	return b.String()
}

// handed is what a context that survives has handed out. A nil one holds nothing.
type handed struct {
	mu     sync.Mutex
	byName map[string]pdu.PMID
	desc   map[pdu.PMID]pdu.Desc
	insts  map[pdu.InDom][]pdu.Instance
	gap    *Gap // to be reported
	lostAt time.Time
	cause  error
}

func (h *handed) names(names []string, ids []pdu.PMID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.byName == nil {
		h.byName = map[string]pdu.PMID{}
	}
	for i, n := range names {
		h.byName[n] = ids[i]
	}
}

func (h *handed) descs(descs []pdu.Desc) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.desc == nil {
		h.desc = map[pdu.PMID]pdu.Desc{}
	}
	for _, d := range descs {
		if d.PMID != pdu.NoPMID {
			h.desc[d.PMID] = d
		}
	}
}

func (h *handed) instances(d pdu.InDom, list []pdu.Instance) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.insts == nil {
		h.insts = map[pdu.InDom][]pdu.Instance{}
	}
	h.insts[d] = sorted(list)
}

// sorted is a copy of instances by number.
func sorted(list []pdu.Instance) []pdu.Instance {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b pdu.Instance) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// lost notes when and why the connection was lost, the first time.
func (h *handed) lost(cause error) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lostAt.IsZero() {
		h.lostAt, h.cause = time.Now(), cause
	}
}

// takeGap is the gap that has not been reported yet, or nil.
func (h *handed) takeGap() *Gap {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	g := h.gap
	h.gap = nil
	return g
}

// revive connects again, and looks at what has changed. The caller has the turn.
func (c *Context) revive(ctx context.Context) (*link, error) {
	l, err := c.replace(ctx, nil)
	if err != nil {
		return nil, lostError{err}
	}
	l.waiting.Begin(ctx, deadline(ctx, c.dialer.RequestTimeout))
	defer l.waiting.End()
	gap, err := c.handed.compare(l, c.local == nil)
	if err != nil {
		return nil, c.settle(ctx, l, lostError{err})
	}
	c.dialer.Logger.Info("connected again", slog.String("host", c.name), slog.String("gap", gap.Error()))
	return l, nil
}

// compare asks for all that was handed out, and notes the gap. What an earlier gap
// has not reported yet is part of this one. An error is one of the connection.
func (h *handed) compare(l *link, remoteNames bool) (*Gap, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	g := &Gap{Lost: h.lostAt, Cause: h.cause}
	if h.gap != nil {
		*g = *h.gap
	}
	if remoteNames {
		if err := h.compareNames(l, g); err != nil {
			return nil, err
		}
	}
	if err := h.compareDescs(l, g); err != nil {
		return nil, err
	}
	if err := h.compareInDoms(l, g); err != nil {
		return nil, err
	}
	g.Back = time.Now()
	h.gap, h.lostAt, h.cause = g, time.Time{}, nil
	return g, nil
}

func (h *handed) compareNames(l *link, g *Gap) error {
	names := slices.Sorted(maps.Keys(h.byName))
	ids, codes := make([]pdu.PMID, len(names)), make([]pdu.Error, len(names))
	for at := 0; at < len(names); {
		var err error
		if at, err = l.lookup(names, at, ids, codes); err != nil {
			return g.missing("names", err)
		}
	}
	for i, n := range names {
		if was := h.byName[n]; was != ids[i] {
			g.Names = append(g.Names, NameChange{n, was, ids[i]})
			h.byName[n] = ids[i]
		}
	}
	return nil
}

func (h *handed) compareDescs(l *link, g *Gap) error {
	ids := slices.Sorted(maps.Keys(h.desc))
	descs := make([]pdu.Desc, len(ids))
	for at := 0; at < len(ids); at += descsAtOnce {
		end := min(at+descsAtOnce, len(ids))
		if err := l.descs(ids[at:end], descs[at:end]); err != nil {
			return g.missing("descriptors", err)
		}
	}
	for i, id := range ids {
		if was := h.desc[id]; was != descs[i] {
			g.Descs = append(g.Descs, DescChange{was, descs[i]})
			if h.desc[id] = descs[i]; descs[i].PMID == pdu.NoPMID {
				delete(h.desc, id)
			}
		}
	}
	return nil
}

func (h *handed) compareInDoms(l *link, g *Gap) error {
	for _, d := range slices.Sorted(maps.Keys(h.insts)) {
		var p pdu.InstanceReply
		body, err := l.ask(pdu.InstanceReq{InDom: d, Inst: pdu.NoInst}, pdu.KindInstance)
		if err == nil {
			err = p.Decode(body)
		}
		if err != nil && err != error(pdu.ErrInDom) {
			if err := g.missing("instances of "+d.String(), err); err != nil {
				return err
			}
			continue
		}
		is := sorted(p.Instances)
		if was := h.insts[d]; !slices.Equal(was, is) {
			g.InDoms = append(g.InDoms, InDomChange{d, was, is})
			h.insts[d] = is
		}
	}
	return nil
}

// missing notes what the collector has refused to tell; any other error is that of
// the connection.
func (g *Gap) missing(what string, err error) error {
	if _, said := err.(pdu.Error); !said {
		return err
	}
	g.Missing = append(g.Missing, MissingCheck{what, err})
	return nil
}
