package pmda

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"time"

	"github.com/pcp-go/pcp/internal/rawconn"
	"github.com/pcp-go/pcp/pdu"
)

// Serve is the life of an agent on one connection to a collector: it greets,
// then answers requests with h, one after the other, until the collector closes
// the connection, which is the usual end and no error, or ctx ends, of which the
// cause is then returned. To interrupt a read, Serve closes rw if it is an
// io.Closer, or else sets its deadline with SetDeadline; without either it ends
// at the next request. It starts no goroutine that outlives it. A Handler whose Err
// is not nil is not served: Serve returns that.
//
// If Info says so, the collector is asked for the attributes of clients. Clients are known by the
// collector's numbers until it says that they have gone; those left at the end
// go then. The profile that came last counts, whoever sent it.
//
// A panic of h is logged, answered with pdu.ErrGeneric, and survived. Codes that
// would cost the agent its connection, pdu.ErrIPC and pdu.ErrTimeout, are
// answered as pdu.ErrGeneric. The log is that of a
// Logging, which is found with As, or else slog.Default. A fetch allocates nothing beyond what h does.
//
// It is __pmdaSetupPDU and pmdaMain(3) of the C library. A request that fails
// the C library's check callback is answered even where nobody waits for an
// answer; here that cannot happen.
func Serve(ctx context.Context, h Handler, rw io.ReadWriter) error {
	if err := h.Err(); err != nil {
		return err
	}
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		interrupt(rw)
	})
	s := newSession(h, rw)
	err := s.run(ctx)
	s.endAll()
	if !stop() {
		<-done
		return context.Cause(ctx)
	}
	return err
}

// interrupt makes reads and writes in progress return.
func interrupt(rw io.ReadWriter) {
	switch s := rw.(type) {
	case io.Closer:
		s.Close()
	case interface{ SetDeadline(time.Time) error }:
		s.SetDeadline(time.Unix(1, 0))
	}
}

// A session is the agent's side of a connection.
type session struct {
	h    Handler
	log  *slog.Logger
	conn *pdu.Conn

	clients map[int32]*Client // by the collector's number
	seq     uint64            // of the latest client
	context int32             // of the latest profile or fetch
	profile *pdu.Profile      // the latest; nil wants all
	req     *Request          // the latest, for as long as it fits

	// Kept for the next request.
	fetch  pdu.Fetch
	writer pdu.ResultWriter
	store  pdu.Result
}

func newSession(h Handler, rw io.ReadWriter) *session {
	s := &session{h: h, log: loggerOf(h), conn: pdu.NewConn(rawconn.New(rw)), clients: map[int32]*Client{}}
	if s.log.Enabled(context.Background(), slog.LevelDebug) {
		s.conn.Trace = func(out bool, h pdu.Header, _ []byte) {
			s.log.Debug("PDU", slog.Bool("out", out), slog.String("type", h.Kind.String()), slog.Int("from", int(h.From)), slog.Int("len", h.Len))
		}
	}
	return s
}

// loggerOf is the log of a Handler.
func loggerOf(h Handler) *slog.Logger {
	if l, ok := As[Logging](h); ok {
		if log := l.Log(); log != nil {
			return log
		}
	}
	return slog.Default()
}

func (s *session) run(ctx context.Context) error {
	var want pdu.Features
	if s.h.Info().ClientAttributes {
		want = pdu.FeatureAuth | pdu.FeatureContainer
	}
	if _, err := pdu.AgentHello(s.conn, int32(os.Getpid()), want); err != nil {
		return fmt.Errorf("pmda: version exchange with the collector: %w", err)
	}
	for ctx.Err() == nil {
		h, body, err := s.conn.Read()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = s.serve(ctx, h, body)
		}
		if err != nil {
			return fmt.Errorf("pmda: serve the collector: %w", err)
		}
	}
	return context.Cause(ctx)
}

// serve deals with one PDU. Its error is one of the connection.
func (s *session) serve(ctx context.Context, h pdu.Header, body []byte) error {
	reply, err := s.answer(ctx, h, body)
	if reply == nil && err == nil {
		return nil
	}
	if err == nil {
		if err = s.conn.Queue(0, reply); err != nil {
			err = s.refusal(h.Kind, err) // it is the Handler's doing
		}
	}
	if err != nil {
		err = s.conn.Queue(0, pdu.Status{Code: pdu.FromError(err)})
	}
	return errors.Join(err, s.conn.Flush())
}

// answer is the answer to a PDU: a reply, an error to send, or neither for what
// wants none.
func (s *session) answer(ctx context.Context, h pdu.Header, body []byte) (reply pdu.PDU, err error) {
	defer func() {
		if s.panicked(recover(), h.Kind) {
			if reply, err = nil, nil; wantsAnswer(h.Kind) {
				err = pdu.ErrGeneric
			}
		}
	}()
	switch h.Kind {
	case pdu.KindFetch:
		return s.fetchValues(ctx, h.From, body)
	case pdu.KindDescReq:
		return s.desc(ctx, h.From, body)
	case pdu.KindInstanceReq:
		return s.instances(ctx, h.From, body)
	case pdu.KindTextReq:
		return s.text(ctx, h.From, body)
	case pdu.KindResult:
		return s.storeValues(ctx, h.From, body)
	case pdu.KindPMNSNames:
		return s.pmid(ctx, h.From, body)
	case pdu.KindPMNSIDs:
		return s.names(ctx, h.From, body)
	case pdu.KindPMNSChild:
		return s.children(ctx, h.From, body)
	case pdu.KindPMNSTraverse:
		return s.traverse(ctx, h.From, body)
	case pdu.KindLabelReq:
		return s.labels(ctx, h.From, body)
	}
	if err := s.take(h, body); err != nil {
		s.log.Error("bad PDU from the collector", slog.Any("err", err))
	}
	return nil, nil
}

// panicked logs what recover gave.
func (s *session) panicked(p any, request pdu.Kind) bool {
	if p != nil {
		s.log.Error("agent panicked", slog.String("request", request.String()), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
	}
	return p != nil
}

// wantsAnswer reports whether the collector waits for an answer to PDUs of a
// kind.
func wantsAnswer(k pdu.Kind) bool {
	switch k {
	case pdu.KindFetch, pdu.KindDescReq, pdu.KindInstanceReq, pdu.KindTextReq, pdu.KindResult, pdu.KindPMNSNames,
		pdu.KindPMNSIDs, pdu.KindPMNSChild, pdu.KindPMNSTraverse, pdu.KindLabelReq:
		return true
	}
	return false
}

// take takes a PDU that is not answered.
func (s *session) take(h pdu.Header, body []byte) error {
	switch h.Kind {
	case pdu.KindProfile:
		var p pdu.SetProfile
		if err := p.Decode(body); err != nil {
			return err
		}
		s.context, s.profile = p.Context, &p.Profile
	case pdu.KindAttr:
		var p pdu.Attr
		if err := p.Decode(body); err != nil {
			return err
		}
		return s.attribute(h.From, p)
	case pdu.KindError:
		var p pdu.Status
		if err := p.Decode(body); err != nil {
			return err
		}
		if p.Code != pdu.ErrNotConn {
			return fmt.Errorf("unexpected error: %w", p.Code)
		}
		s.end(h.From)
	default:
		return fmt.Errorf("unrecognised type %v", h.Kind)
	}
	return nil
}

// refusal is the error to send for one of the Handler. What the collector gets
// to know nothing of is logged.
func (s *session) refusal(request pdu.Kind, err error) error {
	code := pdu.FromError(err)
	if code < 0 && code != pdu.ErrIPC && code != pdu.ErrTimeout && code != pdu.ErrGeneric {
		return code
	}
	if _, ok := errors.AsType[reported](err); !ok {
		s.log.Error("agent failed a request", slog.String("request", request.String()), slog.Any("err", err))
	}
	return pdu.ErrGeneric
}
