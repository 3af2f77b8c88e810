package pmapi

import (
	"context"
	"errors"

	"github.com/pcp-go/pcp/pdu"
)

// A sight is what a group has seen of its context: results on their way to others
// tell of changes too.
type sight struct {
	started bool
	link    *link
	gap     *Gap
	renames uint64
}

// A news says what has happened since the sight before.
type news struct {
	connection bool // another one, or none any more
	names      bool // may stand for other metrics
}

// renaming are the changes after which names are looked up again.
const renaming = pdu.ChangeAddAgent | pdu.ChangeRestartAgent | pdu.ChangeDropAgent | pdu.ChangeNames

// fetchFor is a fetch for a group, under a profile of its own.
func (c *Context) fetchFor(ctx context.Context, ids []pdu.PMID, profile *pdu.Profile, r *pdu.Result, s *sight) (news, error) {
	var n news
	l, err := c.begin(ctx)
	if err != nil {
		n.connection = s.lost(err)
		return n, err
	}
	n.connection = s.link != nil && s.link != l
	s.link = l
	if gap := s.nextGap(c.handed); gap != nil {
		n.connection = true
		return n, c.end(ctx, l, gap)
	}
	err = c.end(ctx, l, c.fetchOn(l, ids, profile, r))
	n.connection = s.lost(err) || n.connection
	if renames := c.renames.Load(); s.renames != renames {
		s.renames, n.names = renames, true
	}
	return n, err
}

// nextGap is a gap that the group has not heard of, or nil. One from before its
// first fetch is none, if that was told to another.
func (s *sight) nextGap(h *handed) *Gap {
	if h == nil {
		return nil
	}
	gap := h.takeGap()
	if s.started && s.gap != h.latest {
		gap = h.latest
	}
	s.started, s.gap = true, h.latest
	return gap
}

// lost reports whether an error is that of a connection that has broken.
func (s *sight) lost(err error) bool {
	_, broken := errors.AsType[lostError](err)
	if broken {
		s.link = nil
	}
	return broken
}
