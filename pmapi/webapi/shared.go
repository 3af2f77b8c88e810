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

// Shared returns a function for Gateway.Sources whose contexts share the metadata of what open
// opens, for example an archive. With each new context, all contexts see what has been recorded
// since. If the archive is replaced, open is called again. Without Shared, each context of a client
// reads the metadata again and keeps a copy in memory. The function is safe for concurrent use.
func Shared(open func(context.Context) (*pmapi.Context, error)) func(context.Context) (*pmapi.Context, error) {
	s := &sharedSource{open: open, turn: ctxwait.NewMutex()}
	return s.context
}

// A sharedSource opens contexts that share one open source.
type sharedSource struct {
	open func(context.Context) (*pmapi.Context, error)
	turn ctxwait.Mutex // guards the fields below

	base *pmapi.Context // nil if the source is not open
	used int            // number of open contexts on base
	idle *time.Timer    // closes base; runs while used is 0
}

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

// leave counts down used after a context is closed.
func (s *sharedSource) leave(base *pmapi.Context) {
	_ = s.turn.Lock(context.Background()) // without a deadline it does not fail
	defer s.turn.Unlock()
	if s.base != base {
		return
	}
	if s.used--; s.used == 0 {
		s.idle.Reset(sharedIdle)
	}
}

// closeIdle closes base if no context uses it.
func (s *sharedSource) closeIdle(base *pmapi.Context) {
	_ = s.turn.Lock(context.Background())
	defer s.turn.Unlock()
	if s.base == base && s.used == 0 {
		s.close()
	}
}

// close closes base. Contexts that were opened on it stay usable.
func (s *sharedSource) close() {
	s.idle.Stop()
	_ = s.base.Close()
	s.base = nil
}
