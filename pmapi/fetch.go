package pmapi

import (
	"context"
	"fmt"
	"slices"

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
// Errors: pdu.ErrTooSmall without metrics; a *Gap from a context that survives.
// The counterpart of pmFetch(3) and pmFetchHighRes(3).
func (c *Context) Fetch(ctx context.Context, ids []pdu.PMID, r *pdu.Result) error {
	err := c.fetch(ctx, ids, r)
	if err == nil && hasEvents(ids) {
		err = withoutEvents(r)
	}
	if err != nil {
		empty(r)
	}
	return c.fail("fetch", "", err)
}

// empty leaves a Result its memory alone.
func empty(r *pdu.Result) {
	r.Format = pdu.FormatHighRes
	_ = r.Decode(noSets[:]) // no sets at no time: it cannot fail
}

var noSets [20]byte

// fetch fetches values, unless there is a gap to be told of first.
func (c *Context) fetch(ctx context.Context, ids []pdu.PMID, r *pdu.Result) error {
	if len(ids) == 0 {
		return pdu.ErrTooSmall
	}
	l, err := c.begin(ctx)
	if err != nil {
		return err
	}
	if gap := c.handed.takeGap(); gap != nil {
		return c.end(ctx, l, gap)
	}
	return c.end(ctx, l, c.fetchOn(l, ids, c.currentProfile(), r))
}

// fetchOn fetches, and counts what is told of changes.
func (c *Context) fetchOn(l *link, ids []pdu.PMID, profile *pdu.Profile, r *pdu.Result) error {
	if err := l.fetchValues(ids, profile, r); err != nil {
		return err
	}
	if r.Changed&renaming != 0 {
		c.renames.Add(1)
	}
	return nil
}

// fetchAtOnce is how many metrics fit into the 65536 bytes to which pmcd limits a
// request; a longer one costs the connection.
const fetchAtOnce = 16377

// fetchParts asks for values in several requests.
func (l *link) fetchParts(ids []pdu.PMID, profile *pdu.Profile, r *pdu.Result) error {
	var w pdu.ResultWriter
	var part pdu.Result
	for some := range slices.Chunk(ids, fetchAtOnce) {
		if err := l.fetchValues(some, profile, &part); err != nil {
			return err
		}
		l.news = part.Changed // not reported yet: another part may fail
		if w.Time.IsZero() {
			w.Time = part.Time
		}
		for _, s := range part.All() {
			w.Copy(s)
		}
		l.wait()
	}
	whole, err := w.Result()
	if err != nil {
		return err
	}
	whole.Format = part.Format
	whole.Changed, l.news = l.news, 0
	*r = *whole
	return nil
}

// fetchValues tells the profile and asks for values, in one write.
func (l *link) fetchValues(ids []pdu.PMID, profile *pdu.Profile, r *pdu.Result) error {
	if len(ids) > fetchAtOnce {
		return l.fetchParts(ids, profile, r)
	}
	if err := l.tellProfile(profile); err != nil {
		return err
	}
	l.fetch = pdu.Fetch{HighRes: l.features&pdu.FeatureHighRes != 0, PMIDs: ids}
	r.Format = pdu.FormatLowRes
	if l.fetch.HighRes {
		r.Format = pdu.FormatHighRes
	}
	body, err := l.ask(&l.fetch, r.Kind())
	l.fetch.PMIDs = nil // the caller's
	if err != nil {
		return err
	}
	if err := r.Decode(body); err != nil {
		return err
	}
	if err := holds(r, ids); err != nil {
		return err
	}
	r.Changed, l.news = l.news, 0
	return nil
}

// holds wants the sets to be those of ids, in order. The C pmcd counts what agents
// say, but does not look at it.
func holds(r *pdu.Result, ids []pdu.PMID) error {
	if r.Len() != len(ids) {
		return lostError{fmt.Errorf("values of %d metrics in place of %d", r.Len(), len(ids))}
	}
	for i, id := range ids {
		if is := r.At(i).PMID; is != id {
			return fmt.Errorf("values of %v in place of %v: %w", is, id, pdu.ErrIPC)
		}
	}
	return nil
}

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
	low := *r
	low.Format = pdu.FormatLowRes // the only one that collectors take
	return c.exchange(ctx, &low, pdu.KindError, nil, nil)
}

// everything is a profile with all instances. It is one value, so that contexts and
// groups that want all do not tell it to the collector in turns.
var everything = new(pdu.Profile)

// Profile returns the profile, which says what instances fetches return. It must
// not be changed.
func (c *Context) Profile() *pdu.Profile { return c.currentProfile() }

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

func (c *Context) currentProfile() *pdu.Profile {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.profile
}
