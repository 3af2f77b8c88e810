// Package httpserver makes HTTP servers with limits of time and of connections.
package httpserver

import (
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/pcp-go/pcp/internal/connlimit"
	"github.com/pcp-go/pcp/internal/loglimit"
)

// Limits of a client.
const (
	HeaderTimeout = 10 * time.Second // to send the header of a request
	readTimeout   = 30 * time.Second // to send a request
	writeTimeout  = time.Minute      // to receive a reply
	idleTimeout   = 2 * time.Minute  // between requests
	maxHeader     = 96 << 10         // bytes
)

// Limits of all clients.
const (
	maxConns        = 1024 // open connections
	descriptorShare = 4    // they use 1/4 of the file descriptors; the rest is for other protocols
	hostShare       = 2    // those of one address may be 1/2 of all
)

// New returns a server. It closes idle connections if there are too many, and refuses new ones if
// none is idle. The server must not have another ConnState.
func New(h http.Handler, log *slog.Logger) *http.Server {
	return newServer(h, log, maxDescriptors(maxConns*descriptorShare)/descriptorShare)
}

func newServer(h http.Handler, log *slog.Logger, most int) *http.Server {
	log = loglimit.New(log)
	limit := &conns{log: log, limit: connlimit.Conns{Max: max(most, hostShare), MaxPerHost: max(most/hostShare, 1)}}
	return &http.Server{
		Handler: h, ReadHeaderTimeout: HeaderTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeader, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn), ConnState: limit.changed,
	}
}

// conns are the connections of a server.
type conns struct {
	log   *slog.Logger
	limit connlimit.Conns
	open  sync.Map // of *connlimit.Conn by net.Conn
}

// changed is the server's ConnState.
func (s *conns) changed(nc net.Conn, state http.ConnState) {
	if state == http.StateNew {
		c := s.limit.Add(nc)
		if c == nil {
			s.log.Warn("HTTP client refused: too many connections", slog.String("addr", nc.RemoteAddr().String()))
			_ = nc.Close() // the server notices
			return
		}
		s.open.Store(nc, c)
		return
	}
	v, ok := s.open.Load(nc)
	if !ok {
		return
	}
	c := v.(*connlimit.Conn)
	switch state {
	case http.StateActive, http.StateIdle:
		c.SetBusy(state == http.StateActive)
	default:
		s.open.Delete(nc)
		c.Remove()
	}
}
