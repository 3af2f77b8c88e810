package pmapi

import (
	"context"
	"sync"

	"github.com/pcp-go/pcp/internal/ctxwait"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/internal/source"
)

// A Context gives access to a source of metrics, usually a connected collector. Dial opens one, and
// Local opens one on a collector in this process.
//
// It is safe for concurrent use: it makes requests one after the other, in no particular order. A
// request that ends early, because of its context.Context or Dialer.RequestTimeout, leaves a late
// reply. The next request reads and discards the late reply, so that no request gets the reply of
// another. The collector may still carry out the abandoned request.
//
// A malformed reply, or one about other items than requested, fails its own request only, with
// pdu.ErrIPC. When the connection breaks, or the collector sends a reply without a request, all
// requests fail with pdu.ErrIPC until Reconnect or, with Dialer.AutoReconnect, until the context
// has reconnected.
//
// It is the counterpart of a PMAPI context of the C library. There is no current context.
type Context struct {
	name     string // for errors
	hostName string // used if the source has none
	src      source.Source
	turn     ctxwait.Mutex   // to call src
	open     context.Context // ends with Close
	close    context.CancelFunc
	follow   func() // called in turn before each request; nil for nothing

	mu      sync.Mutex
	profile *pdu.Profile // replaced, never changed
}

func newContext(name string, src source.Source) *Context {
	c := &Context{name: name, hostName: name, src: src, turn: ctxwait.NewMutex(), profile: everything}
	if a := archiveBelow(src); a != nil {
		a.SetTurn(c.turn)
		c.follow = a.Follow
	}
	c.open, c.close = context.WithCancel(context.Background())
	return c
}

// The packages pmapitest and local make contexts, too.
func init() {
	source.NewContext = func(name string, src source.Source, derived any) any {
		d, _ := derived.(*Derived)
		return newContext(name, withOverlays(src, nil, d))
	}
	source.AfterClose = func(c any, f func()) { context.AfterFunc(c.(*Context).open, f) }
	source.IsReplaced = func(c any) bool {
		a := c.(*Context).archive()
		return a != nil && a.Set().IsReplaced()
	}
}

// Close closes the context. Requests in progress, and later ones, fail with an error that
// is both pdu.ErrNoContext and net.ErrClosed. It always returns nil. The counterpart of
// pmDestroyContext(3).
func (c *Context) Close() error {
	c.close()
	return c.src.Close()
}

// isClosed reports whether Close was called.
func (c *Context) isClosed() bool { return c.open.Err() != nil }

// Reconnect replaces the connection by a new one. If that fails, it keeps the old connection. It
// may be called on a connection that works. The context keeps its profile.
//
// After a failure, Reconnect fails at once until Dialer.Backoff has passed. Both errors wrap
// ETIMEDOUT (syscall.ETIMEDOUT) and the cause of the failure. With Dialer.AutoReconnect, the next
// Fetch reports a Gap.
//
// On archives, Reconnect reads the records that were added since, also for contexts made by Dup,
// and the position stays. On agents of package local, rates start again. The counterpart of
// pmReconnectContext(3).
func (c *Context) Reconnect(ctx context.Context) error {
	return c.fail("reconnect", "", c.inTurn(ctx, func() error { return c.src.Reconnect(ctx) }))
}

// Disconnected reports whether there is no connection to the collector, because none was made, a
// request has failed, or the other end has closed it or has gone. It sends nothing and does not
// wait, so a program that seldom makes requests can call it in between. Only on Linux, and not on a
// context of Local, does it detect a loss before a request fails. It is false for archives and for
// agents of package local.
func (c *Context) Disconnected() bool {
	for src := c.src; ; {
		if h, ok := src.(*host); ok {
			return h.disconnected()
		}
		over, ok := src.(interface{ Unwrap() source.Source })
		if !ok {
			return false
		}
		src = over.Unwrap()
	}
}

// Dup opens another context on the same source, with the same profile. On a collector it has a
// separate connection. With Dialer.AutoReconnect, Dup copies the metadata that is checked after a
// Gap, and succeeds without a connection. The counterpart of pmDupContext(3).
func (c *Context) Dup(ctx context.Context) (*Context, error) {
	var src source.Source
	err := c.inTurn(ctx, func() (err error) {
		src, err = c.src.Dup(ctx)
		return err
	})
	if err != nil {
		return nil, c.fail("dup", "", err)
	}
	d := newContext(c.name, src)
	d.hostName = c.hostName
	d.profile = c.Profile()
	return d, nil
}

// waitTurn waits for the turn, which endTurn ends. It fails once Close has been called, even if the
// source is not closed yet, so that a loop that Close wakes makes no further request.
func (c *Context) waitTurn(ctx context.Context) error {
	if ctx == nil {
		panic("pmapi: the context.Context is nil")
	}
	if ctx.Err() != nil { // Lock takes a free turn even then
		return context.Cause(ctx)
	}
	if err := c.turn.Lock(ctx); err != nil {
		return err
	}
	if c.isClosed() {
		c.endTurn()
		return pdu.ErrNoContext
	}
	if c.follow != nil {
		c.follow()
	}
	return nil
}

func (c *Context) endTurn() { c.turn.Unlock() }

// inTurn calls f in turn.
func (c *Context) inTurn(ctx context.Context, f func() error) error {
	if err := c.waitTurn(ctx); err != nil {
		return err
	}
	defer c.endTurn()
	return f()
}
