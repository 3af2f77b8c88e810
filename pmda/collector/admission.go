package collector

import (
	"log/slog"
	"net"
	"sync"

	"github.com/pcp-go/pcp/pmda/collector/pmcdconf"
)

// An admission is what the access rules say of a client, and the places in their
// limits that it takes. The rules are applied when the client comes, when it
// introduces itself, and, from another goroutine, when they change.
type admission struct {
	mu      sync.Mutex // held while rules are applied
	host    place
	account place
	known   bool // the client has introduced itself
	gone    bool // it takes no place any more
}

// A place is what the rules for hosts or accounts say.
type place struct {
	denied  pmcdconf.Ops
	release func() // nil if it takes none
}

// take asks for a place. The old one is free for it.
func (p *place) take(ask func() (pmcdconf.Ops, func(), error)) (err error) {
	p.leave()
	p.denied, p.release, err = ask()
	return err
}

func (p *place) leave() {
	if p.release != nil {
		p.release()
		p.release = nil
	}
}

// checkHost asks the access rules about the client's host. One in this process
// counts as one on a unix socket.
func (c *client) checkHost() error {
	c.admitted.mu.Lock()
	defer c.admitted.mu.Unlock()
	return c.checkHostLocked()
}

func (c *client) checkHostLocked() error {
	addr := c.conn.RemoteAddr()
	if _, ok := c.conn.(inProcess); ok {
		addr = &net.UnixAddr{Net: "unix"}
	}
	defer c.updateDenied()
	return c.admitted.host.take(func() (pmcdconf.Ops, func(), error) { return c.s.access.Load().checkHost(addr) })
}

// checkAccount asks the access rules about the client's user.
func (c *client) checkAccount() error {
	c.admitted.mu.Lock()
	defer c.admitted.mu.Unlock()
	c.admitted.known = true
	return c.checkAccountLocked()
}

func (c *client) checkAccountLocked() error {
	info := c.info.Load()
	defer c.updateDenied()
	return c.admitted.account.take(func() (pmcdconf.Ops, func(), error) { return c.s.access.Load().checkAccount(info.UID, info.GID) })
}

func (c *client) updateDenied() {
	c.denied.Store(uint32(c.admitted.host.denied | c.admitted.account.denied))
}

// recheck applies new access rules; a client whom they refuse is told and cut
// off.
func (c *client) recheck() {
	c.admitted.mu.Lock()
	defer c.admitted.mu.Unlock()
	if c.admitted.gone {
		return
	}
	err := c.checkHostLocked()
	if err == nil && c.admitted.known {
		err = c.checkAccountLocked()
	}
	if err != nil {
		c.s.Logger.Warn("client refused", slog.Any("addr", c.conn.RemoteAddr()), slog.Any("err", err))
		c.disconnect(failure(err))
	}
}

// giveUpPlaces makes room for other clients.
func (c *client) giveUpPlaces() {
	c.admitted.mu.Lock()
	defer c.admitted.mu.Unlock()
	c.admitted.gone = true
	c.admitted.host.leave()
	c.admitted.account.leave()
}
