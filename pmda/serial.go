package pmda

import (
	"context"
	"sync"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmns"
)

// Serial wraps a Handler that cannot run concurrently: its methods are called
// one at a time. A request that waits for its turn gives up with the cause of
// ctx when that ends. EndClient and Attributes never wait: while somebody has
// the turn they are kept, and the Handler is told before its next request. Info,
// Err and Namespace are passed on at any time.
func Serial(h Handler) Handler {
	return &serial{Handler: h, turn: make(chan struct{}, 1)}
}

type serial struct {
	Handler
	turn chan struct{} // its one place is the right to call the Handler

	mu   sync.Mutex
	news []clientNews // in the order of events
}

// clientNews is what the Handler is to be told about a client.
type clientNews struct {
	c    *Client
	gone bool // or else it has new attributes
}

// enter waits for the turn. What happened to clients in the meantime is told
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
	told := false
	defer func() {
		if !told { // the Handler has panicked
			<-s.turn
		}
	}()
	s.tell()
	told = true
	return nil
}

// leave gives the turn back. News that came too late for whoever had it finds
// the turn free or is seen here.
func (s *serial) leave() {
	<-s.turn
	s.tellNow()
}

// tellNow tells the Handler what is new, unless somebody has the turn: whoever
// that is does so on leaving.
func (s *serial) tellNow() {
	for s.pending() {
		select {
		case s.turn <- struct{}{}:
			func() {
				defer func() { <-s.turn }()
				s.tell()
			}()
		default:
			return
		}
	}
}

func (s *serial) pending() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.news) > 0
}

// tell tells the Handler what is new, one after the other so that a panic loses
// no more than the news it came from. The caller has the turn.
func (s *serial) tell() {
	for {
		s.mu.Lock()
		if len(s.news) == 0 {
			s.mu.Unlock()
			return
		}
		n := s.news[0]
		s.news = s.news[1:]
		s.mu.Unlock()
		if n.gone {
			s.Handler.EndClient(n.c)
		} else {
			s.Handler.Attributes(n.c)
		}
	}
}

func (s *serial) add(n clientNews) {
	s.mu.Lock()
	s.news = append(s.news, n)
	s.mu.Unlock()
	s.tellNow()
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

func (s *serial) Text(ctx context.Context, r *Request, of pdu.TextTarget, kind pdu.TextKind) (string, error) {
	if err := s.enter(ctx); err != nil {
		return "", err
	}
	defer s.leave()
	return s.Handler.Text(ctx, r, of, kind)
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

func (s *serial) Children(ctx context.Context, r *Request, name string) ([]pmns.Child, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	return s.Handler.Children(ctx, r, name)
}

func (s *serial) Traverse(ctx context.Context, r *Request, name string) ([]string, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	return s.Handler.Traverse(ctx, r, name)
}

func (s *serial) Labels(ctx context.Context, r *Request, of pdu.LabelTarget) ([]pdu.LabelSet, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	return s.Handler.Labels(ctx, r, of)
}

// EndClient never waits: whoever has the turn passes it on.
func (s *serial) EndClient(c *Client) { s.add(clientNews{c, true}) }

// Attributes never waits, as EndClient does.
func (s *serial) Attributes(c *Client) { s.add(clientNews{c, false}) }

// Unwrap is the wrapped Handler.
func (s *serial) Unwrap() Handler { return s.Handler }
