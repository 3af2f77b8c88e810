package local

import (
	"context"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// A fetch holds the memory of fetches for reuse.
type fetch struct {
	parts  []*part // the first ones are in use
	order  []int   // index of the part of each metric
	merged pdu.ResultWriter
	buf    []byte
}

// A part holds the metrics of one domain with their values.
type part struct {
	domain pdu.Domain
	ids    []pdu.PMID
	w      pdu.ResultWriter
	next   int // the next set to merge
}

func (c *client) Fetch(ctx context.Context, ids []pdu.PMID, profile *pdu.Profile, r *pdu.Result) error {
	if err := c.begin(ctx, profile); err != nil {
		return err
	}
	defer c.unwind()
	return c.end(ctx, c.fetchValues(ctx, ids, r))
}

func (c *client) fetchValues(ctx context.Context, ids []pdu.PMID, r *pdu.Result) error {
	f := &c.fetch
	parts := f.split(ids)
	now := time.Now()
	var changed pdu.Change
	for _, p := range parts {
		if err := p.fetch(ctx, c); err != nil {
			return err
		}
		changed |= p.w.Changed
		p.w.Changed = 0
	}
	w := f.merge(parts)
	w.Time = now
	b, err := w.Append(append(f.buf[:0], make([]byte, pdu.HeaderLen)...), pdu.FormatHighRes)
	if err != nil {
		return err
	}
	f.buf = b
	r.Format = pdu.FormatHighRes
	if err := r.Decode(b[pdu.HeaderLen:]); err != nil {
		return err
	}
	if r.Changed = changed & (pdu.ChangeLabels | pdu.ChangeNames); r.Changed&pdu.ChangeNames != 0 {
		c.mu.Lock()
		c.epoch.Names++
		c.mu.Unlock()
	}
	return nil
}

// split returns a part for each domain.
func (f *fetch) split(ids []pdu.PMID) []*part {
	n := 0
	f.order = f.order[:0]
	for _, id := range ids {
		at := n - 1
		for at >= 0 && f.parts[at].domain != id.Domain() {
			at--
		}
		if at < 0 {
			at = n
			if n++; n > len(f.parts) {
				f.parts = append(f.parts, new(part))
			}
			p := f.parts[at]
			p.domain, p.ids, p.next = id.Domain(), p.ids[:0], 0
			p.w.Reset()
		}
		f.parts[at].ids = append(f.parts[at].ids, id)
		f.order = append(f.order, at)
	}
	return f.parts[:n]
}

// fetch gets the values of a part: one set for each metric, even if the agent fails. It returns an
// error only of ctx or of the writer.
func (p *part) fetch(ctx context.Context, c *client) error {
	h, err := c.agents.handler(ctx, p.domain)
	if err == nil {
		err = h.Fetch(ctx, &c.request, p.ids, &p.w)
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil && p.w.Err() != nil:
		return p.w.Err()
	case err == nil && p.w.HasSets(p.ids):
		return nil
	case err == nil:
		err = pdu.ErrPMID // the agent returned other sets
	}
	changed := p.w.Changed
	p.w.Reset()
	p.w.Changed = changed
	for _, id := range p.ids {
		p.w.Begin(id)
		p.w.Fail(code(err))
	}
	return nil
}

// merge returns the values in the order of the request.
func (f *fetch) merge(parts []*part) *pdu.ResultWriter {
	if len(parts) == 1 {
		return &parts[0].w
	}
	f.merged.Reset()
	for i := 0; i < len(f.order); {
		p, n := parts[f.order[i]], 1
		for i+n < len(f.order) && f.order[i+n] == f.order[i] {
			n++
		}
		f.merged.CopySets(&p.w, p.next, p.next+n)
		p.next += n
		i += n
	}
	return &f.merged
}

// Store changes one metric after the other, and ends with the first that fails.
func (c *client) Store(ctx context.Context, r *pdu.Result) error {
	if err := c.begin(ctx, nil); err != nil {
		return err
	}
	defer c.unwind()
	return c.end(ctx, c.store(ctx, r))
}

func (c *client) store(ctx context.Context, r *pdu.Result) error {
	for _, set := range r.All() {
		h, err := c.agents.handler(ctx, set.PMID.Domain())
		if err == nil {
			err = c.storeSet(ctx, h, set)
		}
		if err != nil {
			return code(err)
		}
	}
	return nil
}

func (c *client) storeSet(ctx context.Context, h pmda.Handler, set pdu.ValueSet) error {
	var w pdu.ResultWriter
	w.Copy(set)
	one, err := w.Result()
	if err != nil {
		return err
	}
	return h.Store(ctx, &c.request, one)
}
