package webapi

import (
	"context"
	"time"

	"github.com/pcp-go/pcp/internal/ctxlock"
	"github.com/pcp-go/pcp/pmapi"
)

const (
	sharedIdle = time.Minute      // how long a shared source stays open when no context is opened on it
	sharedLife = 10 * time.Minute // how long contexts are opened on it, for a file may take its place
)

// Shared returns a function for Gateway.Sources whose contexts share what open has opened, such as
// the metadata of an archive. Each context begins with what has been recorded until then. Without
// Shared, each context of a client reads the metadata again and keeps a copy in memory.
func Shared(open func(context.Context) (*pmapi.Context, error)) func(context.Context) (*pmapi.Context, error) {
	s := &sharedSource{open: open, turn: ctxlock.New()}
	return s.context
}

// A sharedSource opens contexts on a source that is open.
type sharedSource struct {
	open func(context.Context) (*pmapi.Context, error)
	turn ctxlock.Mutex // guards what follows

	base   *pmapi.Context // nil if it is not open
	opened time.Time
	idle   *time.Timer // closes base
}

// context opens a context.
func (s *sharedSource) context(ctx context.Context) (*pmapi.Context, error) {
	if err := s.turn.Lock(ctx); err != nil {
		return nil, err
	}
	defer s.turn.Unlock()
	if s.base != nil && time.Since(s.opened) >= sharedLife {
		s.close()
	}
	if s.base != nil {
		c, err := s.dup(ctx)
		if err == nil || ctx.Err() != nil {
			return c, err
		}
		s.close()
	}
	base, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	s.base, s.opened = base, time.Now()
	s.idle = time.AfterFunc(sharedIdle, s.closeIdle)
	return s.base.Dup(ctx)
}

// dup opens a context on the base, with what has been recorded since that was opened.
func (s *sharedSource) dup(ctx context.Context) (*pmapi.Context, error) {
	c, err := s.base.Dup(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.Reconnect(ctx); err != nil {
		_ = c.Close()
		return nil, err
	}
	s.idle.Reset(sharedIdle)
	return c, nil
}

// closeIdle closes the base unless a context is being opened on it.
func (s *sharedSource) closeIdle() {
	if s.turn.TryLock() {
		defer s.turn.Unlock()
		s.close()
	}
}

// close closes the base. Contexts that were opened on it keep what they need.
func (s *sharedSource) close() {
	if s.base != nil {
		s.idle.Stop()
		_ = s.base.Close()
		s.base = nil
	}
}
