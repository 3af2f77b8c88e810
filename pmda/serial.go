package pmda

import (
	"context"
	"sync"

	"github.com/pcp-go/pcp/internal/ctxwait"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmns"
)

// Serial wraps a Handler that cannot run concurrently: its methods are called
// one at a time. A request that waits for another to end fails with the cause of
// ctx when ctx ends. EndClient and SetClient never wait: during a request they
// are queued, and the Handler gets them before its next request. When many are queued,
// the Handler gets the last SetClient of a client alone, and neither that nor EndClient of one
// that has gone without a request to it. Info, Err and Namespace are called at any time.
func Serial(h Handler) Handler {
	if h == nil {
		return nil // which Serve and collectors refuse
	}
	return &serial{Handler: h, turn: ctxwait.NewMutex(), known: map[uint64]bool{}, compactAt: mostEvents}
}

// mostEvents is how many events are queued before those that do not matter any more are removed.
const mostEvents = 1024

type serial struct {
	Handler
	turn ctxwait.Mutex // of calling the Handler

	mu        sync.Mutex
	events    []clientEvent   // that the Handler has not got yet, in their order
	known     map[uint64]bool // the Seqs of clients of which the Handler has heard, and not the end
	compactAt int             // how many events there are when compact is called
}

// A clientEvent is a call of EndClient or SetClient.
type clientEvent struct {
	c   *Client
	end bool // EndClient, or else SetClient
}

// enter waits for the turn. It passes the queued events on first, so that the
// Handler never sees a request of a client before the end of an earlier one in the
// same slot.
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

// note notes that the Handler hears of a client. It is false if ctx has ended: then the client may
// have gone, and its end been passed on.
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

// leave returns the turn, and passes on the events that were queued meanwhile.
func (s *serial) leave() {
	s.turn.Unlock()
	s.tryPassEvents()
}

// tryPassEvents passes the queued events on, unless a request runs: that does so
// when it leaves.
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

// passEvents passes the queued events on, one after the other so that a panic loses
// only the event that caused it. The caller has the turn.
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

// compact removes events of which the Handler need not know. So there are no more left, while a
// request does not end, than clients that are connected or of which the Handler has heard.
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

// EndClient never waits: if a request runs, that passes the event on.
func (s *serial) EndClient(c *Client) { s.queueEvent(clientEvent{c, true}) }

// SetClient never waits, as EndClient does.
func (s *serial) SetClient(c *Client) { s.queueEvent(clientEvent{c, false}) }

// Unwrap is the wrapped Handler.
func (s *serial) Unwrap() Handler { return s.Handler }
