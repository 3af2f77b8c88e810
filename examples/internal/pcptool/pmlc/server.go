package pmlc

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/pcp-go/pcp/archive/logger"
	"github.com/pcp-go/pcp/internal/connlimit"
	"github.com/pcp-go/pcp/internal/ctxwait"
	"github.com/pcp-go/pcp/internal/logconf"
	"github.com/pcp-go/pcp/pdu"
)

// A Logger is what a Server serves, such as a *logger.Logger. The Server calls one method at a
// time, except for Status.
type Logger interface {
	Status() logger.Status
	NewVolume(reason string) (int, error)
	Sync() error
	Control(ctx context.Context, c logger.Control, s logger.State, interval time.Duration, targets []logger.Target) ([]logger.MetricState, error)
	Enquire(ctx context.Context, targets []logger.Target) ([]logger.MetricState, error)
}

// A Server answers the clients of a Logger. Its fields are set before Serve is called.
type Server struct {
	Logger Logger
	// Source is the name of the source that the Logger records.
	Source string
	// Access decides what clients may do; nil allows everything. Regardless of Access, a unix
	// socket serves only root and the user of this process. A PCP pmlogger lets a client enquire if
	// it may do any operation; here the rule about enquire applies, too.
	Access *Access
	// Timeout limits how long a client may take to send its version, to send the rest of a partial
	// request, or to read a reply; 0 means the constant Timeout. The Server disconnects a client
	// that has been without a request for a minute if another one connects.
	Timeout time.Duration
	// Version is the highest version that is offered; 0 means Version3.
	Version int
	// Controlled, if not nil, is called after each request that changes what is recorded, with the
	// error of the Logger.
	Controlled func(peer net.Addr, request *ControlReq, states []logger.MetricState, err error)
	// Log gets what goes wrong; nil means slog.Default().
	Log *slog.Logger

	volumes volumeLimit
	current atomic.Pointer[session] // nil while there is no client
}

// Timeout is how long a client may take, unless a Server says otherwise.
const Timeout = 10 * time.Second

// MaxRequest is the length of the longest request that a Server reads. It is that of PCP, and
// has room for 8000 metrics.
const MaxRequest = 1 << 16

const (
	// busyGrace is how long a new client waits for the previous one to go. The Server may not have
	// noticed yet that the previous one has gone.
	busyGrace = 100 * time.Millisecond
	// idleTime is how long a client may have no request before another may take its place.
	idleTime = time.Minute
	// volumeBurst is how many volumes clients may begin at once, and volumeEvery how long it takes
	// until they may begin another one. Each is a file, so requests without a limit fill the disk.
	volumeBurst = 10
	volumeEvery = time.Minute
	// maxWaiting is the number of clients that wait so; further ones are refused at once.
	maxWaiting = 5
)

// A volumeLimit limits the volumes that clients begin.
type volumeLimit struct {
	mu   sync.Mutex
	full time.Time // when volumeBurst more may begin
}

// allow reports whether one more may begin.
func (v *volumeLimit) allow(now time.Time) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.full.Before(now) {
		v.full = now
	}
	if v.full.Sub(now) > (volumeBurst-1)*volumeEvery {
		return false
	}
	v.full = v.full.Add(volumeEvery)
	return true
}

// errBusy is the reply to a client while another one is connected: EADDRINUSE of Linux.
const errBusy pdu.Error = -98

// Serve answers clients that connect to listeners until ctx ends, closes the listeners, and returns
// when all clients are gone. The error is nil then, or why connections cannot be accepted.
func (s *Server) Serve(ctx context.Context, listeners ...net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	busy, waiting := make(chan struct{}, 1), make(chan struct{}, maxWaiting)
	errs := make([]error, len(listeners))
	var wg sync.WaitGroup
	for i, ln := range listeners {
		wg.Go(func() {
			defer cancel()
			defer ctxwait.CloseAfter(ctx, ln)()
			for {
				conn, err := connlimit.Accept(ctx, ln, connlimit.Temporary)
				if err != nil {
					if ctx.Err() == nil {
						errs[i] = err
					}
					return
				}
				select {
				case waiting <- struct{}{}:
					wg.Go(func() { s.admit(ctx, conn, busy, waiting) })
				default:
					s.refuse(conn, errBusy)
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// admit serves a client if it has access and no other client is connected.
func (s *Server) admit(ctx context.Context, conn net.Conn, busy, waiting chan struct{}) {
	var admitted bool
	if c := s.current.Load(); c != nil && c.isIdle(time.Now()) {
		c.conn.Close()
	}
	select {
	case busy <- struct{}{}:
		admitted = true
	case <-time.After(busyGrace):
	case <-ctx.Done():
	}
	<-waiting
	if !admitted {
		s.refuse(conn, errBusy)
		return
	}
	defer func() { <-busy }()
	denied, err := s.check(conn)
	if err != nil {
		s.refuse(conn, pdu.FromError(err))
		return
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	c := &session{Server: s, ctx: ctx, conn: conn, pdus: pdu.NewConn(conn), denied: denied}
	s.current.Store(c)
	defer s.current.Store(nil)
	if err := c.serve(); err != nil && ctx.Err() == nil && !errors.Is(err, net.ErrClosed) {
		s.log().Warn("pmlc: client disconnected", slog.String("client", conn.RemoteAddr().String()), slog.Any("err", err))
	}
}

// check returns the operations that a client may not use. The error says why it may not use any.
func (s *Server) check(conn net.Conn) (denied logconf.Ops, err error) {
	if u, ok := conn.(*net.UnixConn); ok {
		if uid, ok := peerUID(u); ok && uid != 0 && uid != os.Getuid() {
			return logconf.OpAll, pdu.ErrPermission
		}
	}
	denied = s.Access.denied(conn.RemoteAddr())
	if denied == logconf.OpAll {
		return denied, pdu.ErrPermission
	}
	return denied, nil
}

// refuse tells a client why it is not served.
func (s *Server) refuse(conn net.Conn, e pdu.Error) {
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(s.timeout()))
	pdu.NewConn(conn).Write(0, pdu.Status{Code: e}) // it fits the buffer of a new connection
}

func (s *Server) timeout() time.Duration { return cmp.Or(s.Timeout, Timeout) }

func (s *Server) log() *slog.Logger { return cmp.Or(s.Log, slog.Default()) }

// gone reports whether an error of a connection is that the client has closed it.
func gone(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
