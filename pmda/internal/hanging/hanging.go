// Package hanging limits calls that may never return, such as those about a file on a file system
// that does not answer.
package hanging

import (
	"context"
	"sync"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

const (
	Time = time.Second // so long is waited for a call
	Most = 8           // so many calls of an owner may hang
)

// Calls limits calls that may hang. Each call runs in a separate goroutine until it returns. O is
// the type of the owner, such as a user or a container. K distinguishes the calls of one owner.
// The zero Calls is ready to use. It is safe for concurrent use.
type Calls[O, K comparable] struct {
	mu      sync.Mutex
	hanging map[O]map[K]int // how many calls of each kind hang
}

// Len is how many different calls hang.
func (c *Calls[O, K]) Len() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, calls := range c.hanging {
		n += len(calls)
	}
	return n
}

// Do calls f and returns its result. The error is pdu.ErrAgain if f does not return in time, or is
// not called since an earlier call hangs, or too many of the owner. Then late, unless it is nil,
// gets the result once there is one.
func Do[O, K comparable, T any](ctx context.Context, c *Calls[O, K], owner O, call K, f func() T, late func(T)) (result T, err error) {
	if c.hangs(owner, call) {
		return result, pdu.ErrAgain
	}
	done := make(chan T, 1)
	go func() { done <- f() }()
	timer := time.NewTimer(Time)
	defer timer.Stop()
	select {
	case result := <-done:
		return result, nil
	case <-timer.C:
	case <-ctx.Done():
	}
	c.add(owner, call, 1)
	go func() {
		result := <-done
		c.add(owner, call, -1)
		if late != nil {
			late(result)
		}
	}()
	return result, pdu.ErrAgain
}

// hangs reports whether a call would hang, as far as is known, or whether too many of the owner do.
func (c *Calls[O, K]) hangs(owner O, call K) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls := c.hanging[owner]
	return calls[call] > 0 || len(calls) >= Most
}

func (c *Calls[O, K]) add(owner O, call K, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hanging == nil {
		c.hanging = map[O]map[K]int{}
	}
	calls := c.hanging[owner]
	if calls == nil {
		calls = map[K]int{}
		c.hanging[owner] = calls
	}
	if calls[call] += n; calls[call] == 0 {
		delete(calls, call)
	}
	if len(calls) == 0 {
		delete(c.hanging, owner)
	}
}
