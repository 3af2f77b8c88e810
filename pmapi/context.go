package pmapi

import (
	"context"
	"sync"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/internal/source"
)

// A Context is access to a source of metrics, usually a collector that it is
// connected to. Dial opens one, and Local one on a collector in this process.
//
// It is safe for concurrent use: requests take turns at the source, in no particular
// order. A request that ends early, by its context.Context or the Dialer's
// RequestTimeout, leaves a reply pending, which the next request reads and discards, so
// that a reply is never taken for that of another request. What it asked for may be
// done all the same, once the collector comes to it.
//
// A reply that is malformed, or about something else, is pdu.ErrIPC, of that request
// alone. When the connection breaks, or the collector replies to what nobody asked,
// every request fails with pdu.ErrIPC until Reconnect or, with Dialer.AutoReconnect, until
// the context has connected again by itself.
//
// It is a PMAPI context of the C library. There is no current context.
type Context struct {
	name     string // for errors
	hostName string // if the source does not say
	src      source.Source
	turn     chan struct{} // filled while somebody calls src

	mu      sync.Mutex
	profile *pdu.Profile // never changed, but replaced
}

func newContext(name string, src source.Source) *Context {
	return &Context{name: name, hostName: name, src: src, turn: make(chan struct{}, 1), profile: everything}
}

// pmapitest makes contexts, too.
func init() {
	source.NewContext = func(name string, src source.Source) any { return newContext(name, withOverlays(src, nil)) }
}

// Close ends the context, also for requests in progress, which fail with
// pdu.ErrNoContext, as do later ones. The counterpart of pmDestroyContext(3).
func (c *Context) Close() error { return c.src.Close() }

// Reconnect connects anew, also if the connection has not broken; that is kept if
// it fails. The profile is kept too. After a failure it does not try again for a
// while (Dialer.Backoff), and fails at once: both are ETIMEDOUT
// (syscall.ETIMEDOUT), with the cause of the failure. A context that reconnects by itself has a
// Gap then. The counterpart of pmReconnectContext(3).
func (c *Context) Reconnect(ctx context.Context) error {
	return c.fail("reconnect", "", c.inTurn(ctx, func() error { return c.src.Reconnect(ctx) }))
}

// Dup opens another context on the same source, with the same profile and, if that is
// a collector, a connection of its own. Of a context that reconnects by itself it takes over what
// is checked after a Gap. The counterpart of pmDupContext(3).
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

// waitTurn waits for the turn, which endTurn gives back.
func (c *Context) waitTurn(ctx context.Context) error {
	if ctx.Err() != nil { // or else the choice is open
		return context.Cause(ctx)
	}
	select {
	case c.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (c *Context) endTurn() { <-c.turn }

// inTurn calls f in turn.
func (c *Context) inTurn(ctx context.Context, f func() error) error {
	if err := c.waitTurn(ctx); err != nil {
		return err
	}
	defer c.endTurn()
	return f()
}
