package pmapi

import (
	"context"

	"github.com/pcp-go/pcp/pdu"
)

// Fetch fetches the values of metrics into r: one set for each metric, in their order,
// with the instances that the profile includes. A metric that fails has its error in its
// set. r.Time is the time of the values by the collector's clock, in nanoseconds if the
// collector has them. r.Changed are the changes in the collector since the fetch before.
// r owns its memory, which is reused: into a used Result, Fetch allocates nothing. On an
// error r is empty.
//
// More than 16,377 metrics, which are too many for pmcd, are fetched in several
// requests, one after the other, and r.Time is that of the first.
//
// Errors: pdu.ErrTooSmall without metrics; a *Gap, with Dialer.AutoReconnect. The
// counterpart of pmFetch(3) and pmFetchHighRes(3).
func (c *Context) Fetch(ctx context.Context, ids []pdu.PMID, r *pdu.Result) error {
	return c.FetchProfile(ctx, nil, ids, r)
}

// FetchProfile is like Fetch with the profile p instead of that of the context; nil means that of
// the context. p must not be changed after the call: the same pointer means the same profile, which
// is not sent to the collector again. It is for programs that fetch several selections in turn,
// such as loggers.
func (c *Context) FetchProfile(ctx context.Context, p *pdu.Profile, ids []pdu.PMID, r *pdu.Result) error {
	err := c.fetch(ctx, p, ids, r)
	if err != nil {
		empty(r)
	}
	return c.fail("fetch", "", err)
}

func (c *Context) fetch(ctx context.Context, p *pdu.Profile, ids []pdu.PMID, r *pdu.Result) error {
	if len(ids) == 0 {
		return pdu.ErrTooSmall
	}
	if err := c.waitTurn(ctx); err != nil {
		return err
	}
	defer c.endTurn()
	if p == nil {
		p = c.Profile()
	}
	return c.src.Fetch(ctx, ids, p, r)
}

// empty empties a Result and keeps its memory.
func empty(r *pdu.Result) {
	r.Format = pdu.FormatHighRes
	_ = r.Decode(noSets[:]) // no sets at no time: it cannot fail
}

var noSets [20]byte

// everything is a profile with all instances. It is one value, so that a context
// and its groups do not send equal profiles again and again.
var everything = new(pdu.Profile)

// Profile returns the profile, which selects the instances that Fetch returns. The caller
// must not change it.
func (c *Context) Profile() *pdu.Profile {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.profile
}

// SetProfile replaces the profile; nil means all instances. The context keeps a copy.
// Requests that still wait for their turn use the new one.
func (c *Context) SetProfile(p *pdu.Profile) {
	if p == nil {
		p = everything
	} else {
		p = p.Clone()
	}
	c.mu.Lock()
	c.profile = p
	c.mu.Unlock()
}

// AddProfile adds instances of a domain to the profile: all instances of the domain if insts is
// empty, and all instances of all domains for pdu.NoInDom. Instances of pdu.NoInDom are
// pdu.ErrProfileSpec. The counterpart of pmAddProfile(3).
func (c *Context) AddProfile(d pdu.InDom, insts ...pdu.InstID) error {
	return c.changeProfile(func(p *pdu.Profile) error { return p.Add(d, insts...) })
}

// DelProfile removes instances of a domain from the profile: all instances of the domain if insts
// is empty, and all instances of all domains for pdu.NoInDom. As in the C library, if the profile
// does not name the domain yet, removing some instances removes all of them. To exclude only some,
// first add the whole domain with AddProfile. Instances of pdu.NoInDom are pdu.ErrProfileSpec. The
// counterpart of pmDelProfile(3).
func (c *Context) DelProfile(d pdu.InDom, insts ...pdu.InstID) error {
	return c.changeProfile(func(p *pdu.Profile) error { return p.Delete(d, insts...) })
}

func (c *Context) changeProfile(change func(*pdu.Profile) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.profile.Clone()
	if err := change(p); err != nil {
		return c.fail("profile", "", err)
	}
	c.profile = p
	return nil
}
