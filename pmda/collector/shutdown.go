package collector

import (
	"context"
	"time"
)

// idleTime is how long a client must be idle before Shutdown disconnects it. A client that sends
// one request after another, as pminfo does, is never idle that long.
const idleTime = 500 * time.Millisecond

// Shutdown ends the Server as Close does, but lets clients finish. It closes the listeners of Serve
// and disconnects each client that has sent nothing for half a second. When no client is left, or
// ctx has ended, it closes the Server, and Serve returns. The error is that of Close. The end of
// ctx is not an error.
//
// With Shutdown another process can replace this one without a gap, as in examples/pmcd on SIGUSR2.
// Pass the result of ListenerFile to the new process in exec.Cmd.ExtraFiles. It makes a listener of
// the file with net.FileListener, and new clients wait there. When it is ready to serve, call
// SetUnlinkOnClose(false) of each *net.UnixListener, and then Shutdown.
func (s *Server) Shutdown(ctx context.Context) error {
	s.init()
	s.mu.Lock()
	select {
	case <-s.draining:
	default:
		close(s.draining)
	}
	serving := s.serving
	s.mu.Unlock()
	if serving {
		select {
		case <-s.accepted: // now the table has all accepted clients
		case <-s.ended:
		case <-ctx.Done():
		}
	}
	s.drain(ctx)
	return s.Close()
}

// drain disconnects idle clients until no client is left, or the context or the Server ends.
func (s *Server) drain(ctx context.Context) {
	look := time.NewTicker(idleTime)
	defer look.Stop()
	seen := map[*client]uint64{} // requests at the last look
	for {
		clients := s.clientList()
		if len(clients) == 0 {
			return
		}
		for _, c := range clients {
			n, idle := c.progress()
			if last, ok := seen[c]; ok && idle && n == last {
				c.disconnect(0)
			}
			seen[c] = n
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		case <-s.ended:
			return
		}
	}
}

// progress returns the number of requests of the client, and whether none is in progress.
func (c *client) progress() (requests uint64, idle bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.requests, !c.busy
}

// isDraining reports whether Shutdown was called.
func (s *Server) isDraining() bool {
	select {
	case <-s.draining:
		return true
	default:
		return false
	}
}

// awaitDrain waits for a Shutdown in progress to disconnect the clients, or until ctx ends.
func (s *Server) awaitDrain(ctx context.Context) {
	select {
	case <-s.draining:
	default:
		return
	}
	select {
	case <-s.ended:
	case <-ctx.Done():
	}
}
