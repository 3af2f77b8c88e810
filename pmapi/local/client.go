package local

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/pcp-go/pcp/internal/ctxwait"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/internal/source"
	"github.com/pcp-go/pcp/pmda"
)

// A client is the source of a context, and a client of the agents.
type client struct {
	agents  *Agents
	who     *pmda.Client
	request pmda.Request // of the request in progress
	fetch   fetch

	mu     sync.Mutex
	busy   bool // a request is in progress
	closed bool
	epoch  source.Epoch
}

// begin begins a request. The caller must call end.
func (c *client) begin(ctx context.Context, profile *pdu.Profile) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return pdu.ErrNoContext
	}
	c.busy = true
	c.request.Profile = profile
	c.request.Deadline, _ = ctx.Deadline()
	return nil
}

// unwind is deferred. It ends a request after an agent's panic, so that Close does not wait for it.
func (c *client) unwind() {
	c.mu.Lock()
	busy := c.busy
	c.mu.Unlock()
	if busy {
		_ = c.end(context.Background(), nil)
	}
}

// end ends a request and returns its error. If the source was closed meanwhile, end disconnects it.
func (c *client) end(ctx context.Context, err error) error {
	c.mu.Lock()
	c.busy = false
	closed := c.closed
	c.mu.Unlock()
	switch {
	case closed:
		c.agents.disconnect(c)
		return pdu.ErrNoContext
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return err
}

// Close ends the source. It tells the agents, after a request in progress.
func (c *client) Close() error {
	c.mu.Lock()
	first := !c.closed
	c.closed = true
	busy := c.busy
	c.mu.Unlock()
	if first && !busy {
		c.agents.disconnect(c)
	}
	return nil
}

func (c *client) Dup(ctx context.Context) (source.Source, error) {
	if err := c.begin(ctx, nil); err != nil {
		return nil, err
	}
	d := c.agents.connect()
	if err := c.end(ctx, nil); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// Reconnect begins a new epoch, because there is no connection.
func (c *client) Reconnect(ctx context.Context) error {
	if err := c.begin(ctx, nil); err != nil {
		return err
	}
	c.mu.Lock()
	c.epoch.Connection++
	c.mu.Unlock()
	return c.end(ctx, nil)
}

func (c *client) Epoch() source.Epoch {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.epoch
}

func (c *client) Now() time.Time { return time.Now() }

func (c *client) Sleep(ctx context.Context, d time.Duration) error { return ctxwait.Sleep(ctx, d) }

func (c *client) HostName(ctx context.Context) (string, error) {
	if err := c.begin(ctx, nil); err != nil {
		return "", err
	}
	name, err := os.Hostname()
	return name, c.end(ctx, err)
}

// code returns the code of an agent's error as a collector would send it: always less than 0.
func code(err error) pdu.Error {
	switch code := pdu.FromError(err); {
	case code == pdu.ErrPMDANotReady:
		return pdu.ErrAgain
	case code < 0:
		return code
	}
	return pdu.ErrGeneric
}

// each calls get for n items, with the agent of each item's domain.
func each[T any](ctx context.Context, c *client, n int, domain func(i int) pdu.Domain, get func(h pmda.Handler, i int) (T, error)) ([]T, source.Errors, error) {
	items := make([]T, n)
	var errs source.Errors
	for i := range n {
		h, err := c.agents.handler(ctx, domain(i))
		if err == nil {
			items[i], err = get(h, i)
		}
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		if err != nil {
			errs.Set(i, n, code(err))
		}
	}
	return items, errs, nil
}
