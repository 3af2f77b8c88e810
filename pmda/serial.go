package pmda

import (
	"context"
	"sync"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmns"
)

// Serial wraps a Handler that cannot run concurrently: its methods are called
// one at a time. A request that waits for its turn gives up with
// pdu.ErrTimeout's cause when ctx ends.
func Serial(h Handler) Handler {
	s := &serial{Handler: h, turn: make(chan struct{}, 1)}
	return s
}

type serial struct {
	Handler
	turn chan struct{}
	gone struct {
		sync.Mutex
		clients []*Client // ended while somebody had the turn
	}
}

// enter waits for the turn. Clients that ended in the meantime are passed on
// first, so that the Handler never sees a request of a later client in the same
// slot before the end of the earlier.
func (s *serial) enter(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
	default:
		select {
		case s.turn <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	s.flush()
	return nil
}

func (s *serial) leave() {
	s.flush()
	<-s.turn
	// One that ended between flush and the release finds the turn free or is
	// seen by whoever took it.
	s.tryFlush()
}

func (s *serial) flush() {
	s.gone.Lock()
	gone := s.gone.clients
	s.gone.clients = nil
	s.gone.Unlock()
	for _, c := range gone {
		s.Handler.EndClient(c)
	}
}

func (s *serial) tryFlush() {
	s.gone.Lock()
	n := len(s.gone.clients)
	s.gone.Unlock()
	if n == 0 {
		return
	}
	select {
	case s.turn <- struct{}{}:
		s.leave()
	default:
	}
}

func (s *serial) Fetch(ctx context.Context, r *Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	return s.Handler.Fetch(ctx, r, ids, w)
}

func (s *serial) Desc(ctx context.Context, r *Request, id pdu.PMID) (pdu.Desc, error) {
	if err := s.enter(ctx); err != nil {
		return pdu.Desc{}, err
	}
	defer s.leave()
	return s.Handler.Desc(ctx, r, id)
}

func (s *serial) Instances(ctx context.Context, r *Request, d pdu.InDom, inst pdu.InstID, name string) ([]pdu.Instance, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	return s.Handler.Instances(ctx, r, d, inst, name)
}

func (s *serial) Text(ctx context.Context, r *Request, ident uint32, kind pdu.TextKind) (string, error) {
	if err := s.enter(ctx); err != nil {
		return "", err
	}
	defer s.leave()
	return s.Handler.Text(ctx, r, ident, kind)
}

func (s *serial) Store(ctx context.Context, r *Request, values *pdu.Result) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	return s.Handler.Store(ctx, r, values)
}

func (s *serial) PMID(ctx context.Context, r *Request, name string) (pdu.PMID, error) {
	if err := s.enter(ctx); err != nil {
		return pdu.NoPMID, err
	}
	defer s.leave()
	return s.Handler.PMID(ctx, r, name)
}

func (s *serial) Names(ctx context.Context, r *Request, id pdu.PMID) ([]string, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	return s.Handler.Names(ctx, r, id)
}

func (s *serial) Children(ctx context.Context, r *Request, name string, traverse bool) (pdu.NameList, error) {
	if err := s.enter(ctx); err != nil {
		return pdu.NameList{}, err
	}
	defer s.leave()
	return s.Handler.Children(ctx, r, name, traverse)
}

func (s *serial) Labels(ctx context.Context, r *Request, ident uint32, class pdu.LabelClass) ([]pdu.LabelSet, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	return s.Handler.Labels(ctx, r, ident, class)
}

// EndClient never waits: whoever has the turn passes it on.
func (s *serial) EndClient(c *Client) {
	s.gone.Lock()
	s.gone.clients = append(s.gone.clients, c)
	s.gone.Unlock()
	s.tryFlush()
}

// Namespace is that of the wrapped Handler, nil if it has none.
func (s *serial) Namespace() *pmns.Tree {
	if n, ok := s.Handler.(Namespace); ok {
		return n.Namespace()
	}
	return nil
}

// Attributes tells the wrapped Handler, if it wants to know.
func (s *serial) Attributes(c *Client) {
	if w, ok := s.Handler.(Watcher); ok {
		w.Attributes(c)
	}
}
