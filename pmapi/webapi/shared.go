package webapi

import (
	"context"
	"time"

	"github.com/pcp-go/pcp/internal/ctxwait"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/internal/source"
)

// sharedIdle is how long a shared source stays open after its last context is closed.
const sharedIdle = time.Minute

// Shared returns a function for Gateway.Sources whose contexts share what open has opened, such as
// the metadata of an archive. A new context reads what has been recorded since, and all contexts
// see that. If the archives have been replaced, open is called again. Without Shared, each context
// of a client reads the metadata again and keeps a copy in memory.
func Shared(open func(context.Context) (*pmapi.Context, error)) func(context.Context) (*pmapi.Context, error) {
	s := &sharedSource{open: open, turn: ctxwait.NewMutex()}
	return s.context
}

// A sharedSource opens contexts on a source that is open.
type sharedSource struct {
	open func(context.Context) (*pmapi.Context, error)
	turn ctxwait.Mutex // guards what follows

	base *pmapi.Context // nil if it is not open
	used int            // contexts on base
	idle *time.Timer    // closes base; it runs while there are no contexts
}

// context opens a context.
func (s *sharedSource) context(ctx context.Context) (*pmapi.Context, error) {
	if err := s.turn.Lock(ctx); err != nil {
		return nil, err
	}
	defer s.turn.Unlock()
	if s.base != nil && (source.IsReplaced(s.base) || s.base.Reconnect(ctx) != nil) {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		s.close()
	}
	if s.base == nil {
		base, err := s.open(ctx)
		if err != nil {
			return nil, err
		}
		s.base, s.used = base, 0
		s.idle = time.AfterFunc(sharedIdle, func() { s.closeIdle(base) })
	}
	c, err := s.base.Dup(ctx)
	if err != nil {
		return nil, err
	}
	s.used++
	s.idle.Stop()
	base := s.base
	source.AfterClose(c, func() { s.leave(base) })
	return c, nil
}

// leave counts a context that has been closed.
func (s *sharedSource) leave(base *pmapi.Context) {
	_ = s.turn.Lock(context.Background()) // which has no end
	defer s.turn.Unlock()
	if s.base != base {
		return
	}
	if s.used--; s.used == 0 {
		s.idle.Reset(sharedIdle)
	}
}

// closeIdle closes a base without contexts.
func (s *sharedSource) closeIdle(base *pmapi.Context) {
	_ = s.turn.Lock(context.Background())
	defer s.turn.Unlock()
	if s.base == base && s.used == 0 {
		s.close()
	}
}

// close closes the base. Contexts that were opened on it keep what they need.
func (s *sharedSource) close() {
	s.idle.Stop()
	_ = s.base.Close()
	s.base = nil
}
