package pmapi

import (
	"context"

	"github.com/pcp-go/pcp/pdu"
)

// Fetch asks for the values of metrics under the profile: r gets one set for each,
// in their order; a metric that fails alone has its error in its set. r.Time is
// the collector's clock, with nanoseconds where the collector has them; r.Changed
// are the changes in the collector since the fetch before. r owns its memory, which
// is reused: into a used Result, Fetch allocates nothing. On an error r is empty.
//
// More than 16,377 metrics, which are too many for pmcd, are fetched in several
// requests, one after the other, and r.Time is that of the first.
//
// Errors: pdu.ErrTooSmall without metrics; a *Gap from a context that reconnects by itself.
// The counterpart of pmFetch(3) and pmFetchHighRes(3).
func (c *Context) Fetch(ctx context.Context, ids []pdu.PMID, r *pdu.Result) error {
	err := c.fetch(ctx, ids, r)
	if err != nil {
		empty(r)
	}
	return c.fail("fetch", "", err)
}

func (c *Context) fetch(ctx context.Context, ids []pdu.PMID, r *pdu.Result) error {
	if len(ids) == 0 {
		return pdu.ErrTooSmall
	}
	if err := c.waitTurn(ctx); err != nil {
		return err
	}
	defer c.endTurn()
	return c.src.Fetch(ctx, ids, c.Profile(), r)
}

// empty leaves a Result its memory alone.
func empty(r *pdu.Result) {
	r.Format = pdu.FormatHighRes
	_ = r.Decode(noSets[:]) // no sets at no time: it cannot fail
}

var noSets [20]byte

// Store sets values, all in one request: of each metric at least one, or it is
// pdu.ErrValue; without metrics it is pdu.ErrTooSmall. A pdu.ResultWriter makes a
// Result. What fails in one agent does not keep others from storing; the error is
// pdu.ErrPermission, pdu.ErrBadStore or another code of an agent that failed. The
// counterpart of pmStore(3).
func (c *Context) Store(ctx context.Context, r *pdu.Result) error {
	return c.fail("store", "", c.store(ctx, r))
}

func (c *Context) store(ctx context.Context, r *pdu.Result) error {
	if r.Len() == 0 {
		return pdu.ErrTooSmall
	}
	for _, s := range r.All() {
		if s.Len() == 0 {
			return pdu.ErrValue
		}
	}
	return c.inTurn(ctx, func() error { return c.src.Store(ctx, r) })
}

// everything is a profile with all instances. It is one value, so that contexts and
// groups that want all do not send it to the collector in turns.
var everything = new(pdu.Profile)

// Profile returns the profile, which says what instances fetches return. It must
// not be changed.
func (c *Context) Profile() *pdu.Profile {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.profile
}

// SetProfile replaces the profile, also for requests in progress that have not
// begun yet; nil means all instances. The context keeps a copy.
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

// AddProfile adds instances of a domain to those that are wanted: all without any
// named, and all of all domains for pdu.NoInDom. Instances named for pdu.NoInDom
// are pdu.ErrProfileSpec. The counterpart of pmAddProfile(3).
func (c *Context) AddProfile(d pdu.InDom, insts ...pdu.InstID) error {
	return c.changeProfile(func(p *pdu.Profile) error { return p.Add(d, insts...) })
}

// DelProfile takes instances of a domain away from those that are wanted: all
// without any named, and all of all domains for pdu.NoInDom. For a domain that was
// not named before, it leaves none. The counterpart of pmDelProfile(3).
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
