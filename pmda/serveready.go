package pmda

import (
	"context"
	"io"
	"net"
	"sync"

	"github.com/pcp-go/pcp/pdu"
)

// A readyNotice tells the collector of a session that the agent is ready again, while the session
// waits for its next PDU. A collector that sends no request meanwhile learns it only from the
// notice.
type readyNotice struct {
	of Serving // nil if the Handler does not implement it

	writing sync.Mutex     // held to write to the connection, and for what follows
	sent    chan struct{}  // closed when the latest notice was sent; nil before the first
	pending bool           // the latest notice has not been sent yet
	told    bool           // the collector was told that the agent is not ready
	wg      sync.WaitGroup // waits for the goroutine that sends the notice
	ended   chan struct{}  // closed with the session
}

// start begins a session. A collector waits for a notice if its configuration says that the agent
// starts not ready. It can say so only for pipes.
func (n *readyNotice) start(s *session, rw io.ReadWriter) {
	n.ended = make(chan struct{})
	_, socket := rw.(net.Conn)
	if a, ok := As[interface{ announcesReady() bool }](s.h); ok && !socket && a.announcesReady() {
		n.send(s)
	}
}

// send sends the notice when the Handler is ready. The caller holds n.writing, except at the start
// of the session.
func (n *readyNotice) send(s *session) {
	sent, ready := make(chan struct{}), n.of.WhenReady()
	n.sent, n.pending = sent, true
	n.wg.Go(func() {
		defer close(sent)
		select {
		case <-ready:
		case <-n.ended:
			return
		}
		n.writing.Lock()
		defer n.writing.Unlock()
		n.pending = false
		s.conn.Queue(0, pdu.Status{Code: pdu.ErrPMDAReady})
		s.conn.Flush() // if it fails, the next read fails, too
	})
}

// notReady records that the collector gets ErrPMDANotReady as a reply, and sends the notice when
// the Handler is ready. It does nothing for a Handler without Serving. The caller holds
// n.writing.
func (n *readyNotice) notReady(s *session) {
	if n.of == nil {
		return
	}
	if !n.pending {
		n.send(s)
	}
	n.told = true
}

// await delays a request if the collector was told that the agent is not ready, until it has been
// told that the agent is ready. C agents do not read requests meanwhile, either.
func (n *readyNotice) await(ctx context.Context) {
	if n.told {
		n.told = false
		select {
		case <-n.sent:
		case <-ctx.Done():
		}
	}
}

// end ends the session.
func (n *readyNotice) end() {
	if n.ended != nil {
		close(n.ended)
	}
	n.wg.Wait()
}
