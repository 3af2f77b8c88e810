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

	"github.com/pcp-go/pcp/internal/loglimit"
	"github.com/pcp-go/pcp/internal/pmlog"
	"github.com/pcp-go/pcp/internal/rawconn"
	"github.com/pcp-go/pcp/pdu"
)

// Serve runs an agent on one connection to a collector. It exchanges versions, then calls h for one
// request after the other and sends the replies. Serve returns nil when the collector closes the
// connection, and the cause of ctx when ctx ends. If the connection fails, the error is an
// *OpError. If h.Err returns an error, Serve returns it without serving.
//
// To interrupt a read, Serve closes rw if it is an io.Closer, or else sets a deadline with
// SetDeadline. Without either it ends at the next request. It leaves no goroutine behind.
//
// Serve requests the attributes of clients from the collector if Info says so. It identifies a
// client by the number of its slot in the collector until the collector reports its end. Serve ends
// the remaining clients when the connection ends. The latest profile applies to all clients, as in
// the C library.
//
// Serve logs a panic of h and replies with pdu.ErrGeneric. It does the same for the errors
// pdu.ErrIPC and pdu.ErrTimeout, because a collector would close the connection when it gets them.
// A fetch allocates nothing beyond what h allocates.
//
// The log is that of the Agent that h is or wraps, or slog.Default. It gets 10 equal lines, and
// then one a minute with the number of suppressed ones. At slog.LevelDebug it gets each PDU.
//
// It is __pmdaSetupPDU and pmdaMain(3) of the C library. If its check callback fails, pmdaMain
// replies even to PDUs that expect no reply. Serve never does.
func Serve(ctx context.Context, h Handler, rw io.ReadWriter) error {
	return serve(ctx, h, rw, func() {})
}

// serve is Serve, and calls greeted after the exchange of versions.
func serve(ctx context.Context, h Handler, rw io.ReadWriter, greeted func()) error {
	if h == nil {
		return &OpError{Op: "serve", Err: errors.New("the Handler is nil")}
	}
	if err := h.Err(); err != nil {
		return err
	}
	defer beginServing(h)()
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		interrupt(rw)
	})
	s := newSession(h, rw)
	err := s.run(ctx, rw, greeted)
	s.ready.end()
	s.endClients()
	loglimit.Flush(s.log)
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

	clients map[int32]*Client // by slot
	seq     uint64            // of the latest client
	context int32             // of the latest profile or fetch
	profile *pdu.Profile      // the latest; nil includes everything
	current *Request          // the latest, which is reused while it is correct

	// Buffers for the next request.
	fetch  pdu.Fetch
	writer pdu.ResultWriter
	store  pdu.Result

	afterReply []func() // to be called when the reply has been sent
	ready      readyNotice
}

func newSession(h Handler, rw io.ReadWriter) *session {
	s := &session{h: h, log: loglimit.New(loggerOf(h)), conn: pdu.NewConn(rawconn.New(rw)), clients: map[int32]*Client{}}
	s.ready.of, _ = As[Serving](h)
	if s.log.Enabled(context.Background(), slog.LevelDebug) {
		peer := "pipe"
		if fd := rawconn.Descriptor(rw); fd >= 0 {
			peer = fmt.Sprintf("fd=%d", fd)
		}
		s.conn.Trace = func(out bool, h pdu.Header, body []byte) {
			s.log.Debug(pmlog.FormatPDU(out, peer, h, body))
		}
	}
	return s
}

// loggerOf returns the log of a Handler.
func loggerOf(h Handler) *slog.Logger {
	if l, ok := As[interface{ Log() *slog.Logger }](h); ok {
		if log := l.Log(); log != nil {
			return log
		}
	}
	return slog.Default()
}

func (s *session) run(ctx context.Context, rw io.ReadWriter, greeted func()) error {
	var want pdu.Features
	if s.h.Info().ClientAttributes {
		want = pdu.FeatureAuth | pdu.FeatureContainer
	}
	if _, err := pdu.AgentHello(s.conn, int32(os.Getpid()), want); err != nil {
		return &OpError{Op: "version exchange with the collector", Err: err}
	}
	greeted()
	s.ready.start(s, rw)
	for ctx.Err() == nil {
		h, body, err := s.conn.Read()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = s.servePDU(ctx, h, body)
		}
		if err != nil {
			return &OpError{Op: "serve the collector", Err: err}
		}
	}
	return context.Cause(ctx)
}

// servePDU handles a PDU, and replies if it is a request. It returns only errors of the connection.
func (s *session) servePDU(ctx context.Context, h pdu.Header, body []byte) error {
	if requestMethod(h.Kind) == nil {
		s.serveNotice(h, body)
		return nil
	}
	s.ready.await(ctx)
	reply, err := s.serveRequest(ctx, h, body)
	err = s.reply(h.Kind, reply, err)
	if len(s.afterReply) > 0 {
		s.callAfterReply(h.Kind)
	}
	return err
}

// reply sends a reply, or the error of the request. It returns only errors of the connection.
func (s *session) reply(request pdu.Kind, reply pdu.PDU, err error) error {
	s.ready.writing.Lock()
	defer s.ready.writing.Unlock()
	if err == nil {
		if err = s.conn.Queue(0, reply); err != nil { // h has returned what no PDU can hold
			err = s.replyError(request, err)
		}
	}
	if err != nil {
		code := pdu.FromError(err)
		if code == pdu.ErrPMDANotReady {
			s.ready.notReady(s)
		}
		err = s.conn.Queue(0, pdu.Status{Code: code})
	}
	return errors.Join(err, s.conn.Flush())
}

// callAfterReply calls the functions that were deferred until a reply has been sent.
func (s *session) callAfterReply(request pdu.Kind) {
	defer func() {
		s.logPanic(recover(), request)
		clear(s.afterReply)
		s.afterReply = s.afterReply[:0]
	}()
	for _, f := range s.afterReply {
		f()
	}
}

// serveRequest returns the reply to a request, or the error to send as reply.
func (s *session) serveRequest(ctx context.Context, h pdu.Header, body []byte) (reply pdu.PDU, err error) {
	defer func() {
		if s.logPanic(recover(), h.Kind) {
			reply, err = nil, pdu.ErrGeneric
		}
	}()
	return requestMethod(h.Kind)(s, ctx, h.From, body)
}

// serveNotice handles a PDU that expects no reply. It logs a PDU that it does not understand.
func (s *session) serveNotice(h pdu.Header, body []byte) {
	defer func() { s.logPanic(recover(), h.Kind) }()
	var err error
	switch h.Kind {
	case pdu.KindProfile:
		err = s.setProfile(body)
	case pdu.KindAttr:
		err = s.setAttribute(h.From, body)
	case pdu.KindError:
		var p pdu.Status
		if err = p.Decode(body); err == nil {
			if p.Code == pdu.ErrNotConn {
				s.endClient(h.From)
			} else {
				err = fmt.Errorf("unexpected error: %w", p.Code)
			}
		}
	default:
		err = fmt.Errorf("unrecognised type %v", h.Kind)
	}
	if err != nil {
		s.log.Error("bad PDU from the collector", slog.Any("err", err))
	}
}

// setProfile keeps the profile for the requests that follow.
func (s *session) setProfile(body []byte) error {
	var p pdu.SetProfile
	if err := p.Decode(body); err != nil {
		return err
	}
	s.context, s.profile = p.Context, &p.Profile
	return nil
}

// logPanic logs the panic p, and reports whether there was one.
func (s *session) logPanic(p any, request pdu.Kind) bool {
	if p != nil {
		s.log.Error("agent panicked", slog.String("request", request.String()), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
	}
	return p != nil
}

// replyError returns the code to reply with for an error of the Handler. It logs the error if the
// code does not describe it.
func (s *session) replyError(request pdu.Kind, err error) error {
	code := pdu.FromError(err)
	if code < 0 && code != pdu.ErrIPC && code != pdu.ErrTimeout && code != pdu.ErrGeneric {
		return code
	}
	if _, ok := errors.AsType[reported](err); !ok {
		s.log.Error("agent failed a request", slog.String("request", request.String()), slog.Any("err", err))
	}
	return pdu.ErrGeneric
}
