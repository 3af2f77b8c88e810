package pmda

import (
	"context"
	"sync"

	"github.com/pcp-go/pcp/internal/ctxwait"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmns"
)

// Serial wraps a Handler that cannot run concurrently: its methods are called one at a time. A
// request that waits for another to end fails with the cause of ctx when ctx ends. Info, Err and
// Namespace are called at any time.
//
// EndClient and SetClient never wait: during a request they are queued, and the Handler gets them
// before its next request. When many are queued, the Handler gets only the last SetClient of each
// client. It then gets neither SetClient nor EndClient for a client that it does not know and that
// has disconnected.
func Serial(h Handler) Handler {
	if h == nil {
		return nil // which Serve and collectors refuse
	}
	return &serial{Handler: h, turn: ctxwait.NewMutex(), known: map[uint64]bool{}, compactAt: mostEvents}
}

// mostEvents is the number of events that are queued before compact removes those that no longer
// matter.
const mostEvents = 1024

type serial struct {
	Handler
	turn ctxwait.Mutex // of calling the Handler

	mu        sync.Mutex
	events    []clientEvent   // events that the Handler has not got yet, in order
	known     map[uint64]bool // the Seqs of the clients that the Handler knows and that have not ended
	compactAt int             // the number of events at which compact is called
}

// A clientEvent is a call of EndClient or SetClient.
type clientEvent struct {
	c   *Client
	end bool // EndClient, or else SetClient
}

// enter waits for the turn. It passes the queued events on first, so that the Handler never sees a
// request of a client before the end of an earlier client in the same slot.
func (s *serial) enter(ctx context.Context, r *Request) error {
	if err := s.turn.Lock(ctx); err != nil {
		return err
	}
	done := false
	defer func() {
		if !done { // the Handler has panicked
			s.turn.Unlock()
		}
	}()
	s.passEvents()
	done = s.note(ctx, r)
	if !done {
		return context.Cause(ctx)
	}
	return nil
}

// note records that the Handler knows a client. It returns false if ctx has ended, because then the
// client may already be gone and its EndClient passed on.
func (s *serial) note(ctx context.Context, r *Request) bool {
	if r == nil || r.Client == nil {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil {
		return false
	}
	s.known[r.Client.Seq] = true
	return true
}

// leave gives up the turn, and passes on the events that were queued meanwhile.
func (s *serial) leave() {
	s.turn.Unlock()
	s.tryPassEvents()
}

// tryPassEvents passes the queued events on, unless a request runs: the request does so when it
// leaves.
func (s *serial) tryPassEvents() {
	for s.pending() && s.turn.TryLock() {
		func() {
			defer s.turn.Unlock()
			s.passEvents()
		}()
	}
}

func (s *serial) pending() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.events) > 0
}

// passEvents passes the queued events on, one by one so that a panic loses only the event that
// caused it. The caller has the turn.
func (s *serial) passEvents() {
	for {
		s.mu.Lock()
		if len(s.events) == 0 {
			s.mu.Unlock()
			return
		}
		e := s.events[0]
		s.events = s.events[1:]
		if e.end {
			delete(s.known, e.c.Seq)
		} else {
			s.known[e.c.Seq] = true
		}
		s.mu.Unlock()
		if e.end {
			s.Handler.EndClient(e.c)
		} else {
			s.Handler.SetClient(e.c)
		}
	}
}

func (s *serial) queueEvent(e clientEvent) {
	s.mu.Lock()
	s.events = append(s.events, e)
	if len(s.events) >= s.compactAt {
		s.compact()
	}
	s.mu.Unlock()
	s.tryPassEvents()
}

// compact removes events that the Handler does not need. So even during a long request, it leaves
// at most one event for each client that is connected or known to the Handler.
func (s *serial) compact() {
	last := make(map[uint64]int, len(s.events)) // the last event of each client
	for i, e := range s.events {
		last[e.c.Seq] = i
	}
	kept := make([]clientEvent, 0, len(last))
	for i, e := range s.events {
		if last[e.c.Seq] == i && (!e.end || s.known[e.c.Seq]) {
			kept = append(kept, e)
		}
	}
	s.events, s.compactAt = kept, max(mostEvents, 2*len(kept))
}

func (s *serial) Fetch(ctx context.Context, r *Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
	if err := s.enter(ctx, r); err != nil {
		return err
	}
	defer s.leave()
	return s.Handler.Fetch(ctx, r, ids, w)
}

func (s *serial) Desc(ctx context.Context, r *Request, id pdu.PMID) (pdu.Desc, error) {
	if err := s.enter(ctx, r); err != nil {
		return pdu.Desc{}, err
	}
	defer s.leave()
	return s.Handler.Desc(ctx, r, id)
}

func (s *serial) Instances(ctx context.Context, r *Request, d pdu.InDom, inst pdu.InstID, name string) ([]pdu.Instance, error) {
	if err := s.enter(ctx, r); err != nil {
		return nil, err
	}
	defer s.leave()
	return s.Handler.Instances(ctx, r, d, inst, name)
}

func (s *serial) Text(ctx context.Context, r *Request, of pdu.TextTarget, kind pdu.TextKind) (string, error) {
	if err := s.enter(ctx, r); err != nil {
		return "", err
	}
	defer s.leave()
	return s.Handler.Text(ctx, r, of, kind)
}

func (s *serial) Store(ctx context.Context, r *Request, values *pdu.Result) error {
	if err := s.enter(ctx, r); err != nil {
		return err
	}
	defer s.leave()
	return s.Handler.Store(ctx, r, values)
}

func (s *serial) PMID(ctx context.Context, r *Request, name string) (pdu.PMID, error) {
	if err := s.enter(ctx, r); err != nil {
		return pdu.NoPMID, err
	}
	defer s.leave()
	return s.Handler.PMID(ctx, r, name)
}

func (s *serial) Names(ctx context.Context, r *Request, id pdu.PMID) ([]string, error) {
	if err := s.enter(ctx, r); err != nil {
		return nil, err
	}
	defer s.leave()
	return s.Handler.Names(ctx, r, id)
}

func (s *serial) Children(ctx context.Context, r *Request, name string) ([]pmns.Child, error) {
	if err := s.enter(ctx, r); err != nil {
		return nil, err
	}
	defer s.leave()
	return s.Handler.Children(ctx, r, name)
}

func (s *serial) Traverse(ctx context.Context, r *Request, name string) ([]string, error) {
	if err := s.enter(ctx, r); err != nil {
		return nil, err
	}
	defer s.leave()
	return s.Handler.Traverse(ctx, r, name)
}

func (s *serial) Labels(ctx context.Context, r *Request, of pdu.LabelTarget) ([]pdu.LabelSet, error) {
	if err := s.enter(ctx, r); err != nil {
		return nil, err
	}
	defer s.leave()
	return s.Handler.Labels(ctx, r, of)
}

// EndClient never waits: if a request runs, the request passes the event on.
func (s *serial) EndClient(c *Client) { s.queueEvent(clientEvent{c, true}) }

// SetClient never waits, like EndClient.
func (s *serial) SetClient(c *Client) { s.queueEvent(clientEvent{c, false}) }

// Unwrap returns the wrapped Handler.
func (s *serial) Unwrap() Handler { return s.Handler }
