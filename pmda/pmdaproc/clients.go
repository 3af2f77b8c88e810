package pmdaproc

import (
	"sync"
	"sync/atomic"

	"github.com/pcp-go/pcp/pmda"
)

// clients are the settings of clients, which come from stores into proc.control.
type clients struct {
	threads atomic.Pointer[bool] // last store into proc.control.all.threads, or nil

	mu    sync.Mutex
	bySeq map[uint64]settings
}

// settings are the settings of a client.
type settings struct {
	threads *bool  // nil if not set
	cgroup  string // directory of a control group, empty if not set
}

// of returns the settings of a client.
func (c *clients) of(client *pmda.Client) settings {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bySeq[client.Seq]
}

// change changes the settings of a client.
func (c *clients) change(client *pmda.Client, change func(*settings)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bySeq == nil {
		c.bySeq = map[uint64]settings{}
	}
	s := c.bySeq[client.Seq]
	change(&s)
	c.bySeq[client.Seq] = s
}

// end removes the settings of a client that has disconnected.
func (c *clients) end(client *pmda.Client) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.bySeq, client.Seq)
}
