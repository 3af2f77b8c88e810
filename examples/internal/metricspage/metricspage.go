// Package metricspage serves a page that shows the metrics of a collector in this program.
package metricspage

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"github.com/pcp-go/pcp/examples/internal/hint"
	"github.com/pcp-go/pcp/internal/ctxwait"
	"github.com/pcp-go/pcp/internal/httpserver"
	"github.com/pcp-go/pcp/internal/tlsconf"
	"github.com/pcp-go/pcp/mmv"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/webapi"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/pmdammv"
)

// retryTime is how long to wait before trying again to listen on an address in use.
const retryTime = 200 * time.Millisecond

// A Page holds the address of the page and its protection.
type Page struct {
	Addr  string        // an address with a port
	TLS   *tlsconf.File // the certificate for HTTPS; nil means HTTP
	Login bool          // clients have to log in
	Wait  bool          // wait while another process listens on Addr
}

// Serve serves the page until the caller calls stop or ctx ends. Unless a client of the page logs
// in, it has the rights of a local client whose user is unknown. The page has the derived metrics
// that the environment names. Serve logs errors, and the collector continues without the page.
func (p Page) Serve(ctx context.Context, srv *collector.Server) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	derived := new(pmapi.Derived)
	if err := derived.LoadEnv(); err != nil {
		srv.Logger.Warn("derived metrics", slog.Any("err", err))
	}
	gw := &webapi.Gateway{RequireLogin: p.Login, Dialer: &pmapi.Dialer{DialContext: srv.DialContext, Derived: derived},
		Metrics: &mmv.Registry{Name: "gateway", Logger: srv.Logger}, Log: srv.Logger}
	// The page's own metrics are pmproxy.gateway, unless the configuration has an agent for those
	// of a pmproxy.
	_ = srv.Add(pmdammv.New(pmdammv.Options{Name: pmdammv.PMProxyName, Domain: pmdammv.PMProxyDomain, Registries: []*mmv.Registry{gw.Metrics}, Logger: srv.Logger}))
	server := httpserver.New(gw, srv.Logger)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		l, err := p.listen(ctx)
		if err == nil {
			scheme := "http"
			if p.TLS != nil {
				scheme = "https"
			}
			srv.Logger.Info("metrics are shown in a page", slog.String("url", scheme+"://"+l.Addr().String()+"/"))
			if text := whoSees(l.Addr(), p.TLS != nil, p.Login); text != "" {
				srv.Logger.Warn(text)
			}
			if p.TLS != nil {
				l = tls.NewListener(l, &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return p.TLS.Serving(), nil }})
			}
			defer context.AfterFunc(ctx, func() { _ = server.Close() })()
			err = server.Serve(l)
		}
		if ctx.Err() == nil && !errors.Is(err, http.ErrServerClosed) {
			srv.Logger.Error("no page of metrics", slog.Any("err", err))
		}
	}()
	return func() {
		cancel()
		<-ended
		_ = server.Close()
		_ = gw.Close()
	}
}

// whoSees says which clients see the page if it listens beyond the loopback interface. It is empty
// for a page with TLS and a login, and for one that only this computer can reach.
func whoSees(addr net.Addr, isTLS, login bool) string {
	a, ok := addr.(*net.TCPAddr)
	if !ok || a.IP.IsLoopback() || isTLS && login {
		return ""
	}
	only := "; -w localhost:" + strconv.Itoa(a.Port) + " is for this computer alone"
	switch {
	case login:
		return "passwords for the page at " + a.String() + " are sent without TLS: add --web-tls" + only
	case isTLS:
		return "each client that reaches " + a.String() + " sees the page without a login: add --web-login" + only
	}
	return "each client that reaches " + a.String() + " sees the page without a login and without TLS: add --web-tls and --web-login" + only
}

// listen listens on the address of the page.
func (p Page) listen(ctx context.Context) (net.Listener, error) {
	for {
		var lc net.ListenConfig
		l, err := lc.Listen(ctx, "tcp", p.Addr)
		if err == nil {
			return l, nil
		}
		if !p.Wait || !errors.Is(err, syscall.EADDRINUSE) {
			return nil, hint.Listen(p.Addr, err, "pmcd", "-w")
		}
		if ctxwait.Sleep(ctx, retryTime) != nil {
			return nil, ctx.Err()
		}
	}
}
