// Package gatewayserver serves a gateway, PCP's clients and the archives of loggers on the same
// ports.
package gatewayserver

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/pcp-go/pcp/archive/push"
	"github.com/pcp-go/pcp/examples/internal/requestport"
	"github.com/pcp-go/pcp/internal/httpserver"
	"github.com/pcp-go/pcp/mmv"
	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/export/openmetrics"
	"github.com/pcp-go/pcp/pmapi/local"
	"github.com/pcp-go/pcp/pmapi/proxy"
	"github.com/pcp-go/pcp/pmapi/webapi"
	"github.com/pcp-go/pcp/pmda/pmdammv"
)

// A Server serves HTTP requests and PCP's clients. The caller closes the Gateway, the Receiver and
// the Clients after Serve.
type Server struct {
	Gateway  *webapi.Gateway
	Receiver *push.Receiver // of archives, below /logger/; nil for none
	Clients  *proxy.Proxy
	NoHTTP   bool           // serve the Clients only
	Proxies  []netip.Prefix // reverse proxies in front of this program
}

// Serve serves until ctx ends or a listener fails, and closes the listeners.
func (s *Server) Serve(ctx context.Context, listeners []net.Listener) error {
	handler, own, err := s.handler()
	if err != nil {
		requestport.Close(listeners)
		return err
	}
	defer own.Close()
	srv := httpserver.New(handler, slog.Default())
	srv.RegisterOnShutdown(func() { _ = s.Gateway.Close() }) // requests that watch values would not end
	ended := make(chan error, len(listeners))
	for _, l := range listeners {
		slog.Info("listening", slog.String("addr", l.Addr().String()), slog.Bool("tls", s.Clients.TLS != nil))
		go func() {
			if s.NoHTTP {
				ended <- s.Clients.Serve(l)
				return
			}
			ended <- srv.Serve(s.Clients.Listener(l))
		}()
	}
	select {
	case err = <-ended:
	case <-ctx.Done():
	}
	if s.NoHTTP {
		requestport.Close(listeners) // which Serve would do as well
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), httpserver.HeaderTimeout)
	defer cancel()
	return errors.Join(err, srv.Shutdown(stopping))
}

// handler serves all paths: the receiver of archives, the metrics of this program, and the gateway.
// It reads own.
func (s *Server) handler() (_ http.Handler, own io.Closer, err error) {
	s.Gateway.MayConnect("localhost", 0) // makes the gateway register its metrics before they are read
	c, err := local.Open(pmdammv.New(pmdammv.Options{Name: pmdammv.PMProxyName, Domain: pmdammv.PMProxyDomain, Registries: []*mmv.Registry{s.Gateway.Metrics}}))
	if err != nil {
		return nil, nil, err
	}
	metrics := &openmetrics.Handler{Reader: &export.Reader{Context: c, Names: []string{"pmproxy.gateway"}}}
	return webapi.Forwarded(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/metrics/gateway":
			metrics.ServeHTTP(w, r)
		case s.Receiver != nil && strings.HasPrefix(r.URL.Path, "/logger/"):
			s.Receiver.ServeHTTP(w, r)
		default:
			s.Gateway.ServeHTTP(w, r)
		}
	}), s.Proxies), c, nil
}
