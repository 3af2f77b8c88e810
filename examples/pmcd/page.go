package main

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

	"github.com/pcp-go/pcp/internal/hint"
	"github.com/pcp-go/pcp/internal/httpserver"
	"github.com/pcp-go/pcp/mmv"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/webapi"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/pmdammv"
)

// pageRetryTime is how long to wait before the port of -w is tried again that another process has.
const pageRetryTime = 200 * time.Millisecond

// servePage serves the page that shows the collector's metrics, on the address of -w, until the
// caller calls stop or ctx ends. Unless a client of the page logs in, it has the rights of a local
// client whose user is unknown. The page has the derived metrics that the environment names.
// servePage logs errors, and the collector continues without the page.
func (d *daemon) servePage(ctx context.Context, srv *collector.Server) (stop func()) {
	if d.web == "" {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	derived := new(pmapi.Derived)
	if err := derived.LoadEnv(); err != nil {
		srv.Logger.Warn("derived metrics", slog.Any("err", err))
	}
	gw := &webapi.Gateway{RequireLogin: d.webLogin, Dialer: &pmapi.Dialer{DialContext: srv.DialContext, Derived: derived},
		Metrics: &mmv.Registry{Name: "gateway", Logger: srv.Logger}, Log: srv.Logger}
	// The page's own metrics are pmproxy.gateway, unless the configuration has an agent for those
	// of a pmproxy.
	_ = srv.Add(pmdammv.New(pmdammv.Options{Name: pmdammv.PMProxyName, Domain: pmdammv.PMProxyDomain, Registries: []*mmv.Registry{gw.Metrics}, Logger: srv.Logger}))
	server := httpserver.New(gw, srv.Logger)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		l, err := d.listenPage(ctx)
		if err == nil {
			scheme := "http"
			if d.webTLS {
				scheme = "https"
			}
			srv.Logger.Info("metrics are shown in a page", slog.String("url", scheme+"://"+l.Addr().String()+"/"))
			if text := whoSees(l.Addr(), d.webTLS, d.webLogin); text != "" {
				srv.Logger.Warn(text)
			}
			if d.webTLS {
				l = tls.NewListener(l, &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return d.tls.Serving(), nil }})
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

// listenPage listens on the address of -w. The process whose place this one takes may have it
// still.
func (d *daemon) listenPage(ctx context.Context) (net.Listener, error) {
	for {
		var lc net.ListenConfig
		l, err := lc.Listen(ctx, "tcp", d.web)
		if err == nil {
			return l, nil
		}
		if d.predecessor == nil || !errors.Is(err, syscall.EADDRINUSE) {
			return nil, hint.Listen(d.web, err, "pmcd", "-w")
		}
		select {
		case <-time.After(pageRetryTime):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
