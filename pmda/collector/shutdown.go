package collector

import (
	"context"
	"time"
)

// idleTime is how long a client has sent nothing when Shutdown takes it to be between two samples.
// A client that asks for one thing after another, as pminfo does, never pauses that long.
const idleTime = 500 * time.Millisecond

// Shutdown ends the Server as Close does, but lets clients finish what they are doing: it closes
// the listeners of Serve, disconnects each client as soon as that has sent nothing for half a
// second, and when there are none, or ctx has ended, it does what is left of Close. Serve returns
// then. The error is that of Close; the end of ctx is none.
//
// It is for a program whose place another process takes without a gap, as examples/pmcd has itself
// replaced on SIGUSR2: clients that connect meanwhile wait at the listener for the other process,
// which listens there too. That gets what ListenerFile returns by exec.Cmd.ExtraFiles, makes a
// listener of it with net.FileListener, and says when it serves; then call SetUnlinkOnClose(false)
// of a *net.UnixListener, and Shutdown.
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
		case <-s.accepted: // a client that was accepted at the last moment is among the others
		case <-s.ended:
		case <-ctx.Done():
		}
	}
	s.drain(ctx)
	return s.Close()
}

// drain disconnects clients when they are idle, until there are none or the context or the Server
// ends.
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

// progress is how many requests the client has sent, and whether it waits for no reply.
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

// awaitDrain waits, if Shutdown was called, until it has disconnected the clients, or ctx ends.
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
