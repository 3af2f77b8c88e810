package webapi

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pcp-go/pcp/internal/loginlimit"
	"github.com/pcp-go/pcp/internal/loglimit"
	"github.com/pcp-go/pcp/mmv"
	"github.com/pcp-go/pcp/pmapi"
)

// A Gateway is an http.Handler for metrics. Its zero value serves the metrics of this computer's
// collector. Set its fields before the first call. It is then safe for concurrent use. It must not
// be copied.
type Gateway struct {
	// Local, if not nil, opens the context for a request that names no host, or localhost with the
	// default port. The user and the password of a request are then ignored, so each client has the
	// rights of that context. A context of pmapi.Local has those of this process. To serve a
	// collector in this process with the rights of each client, leave Local nil and set
	// Dialer.DialContext to that of the collector.Server.
	Local func(ctx context.Context) (*pmapi.Context, error)
	// Sources opens contexts by other names, which a request uses as its hostspec. On an archive,
	// each fetch returns the next record. Wrap the function in Shared so that contexts share
	// metadata.
	Sources map[string]func(ctx context.Context) (*pmapi.Context, error)
	// Allow lists the collectors that a request may name in a hostspec, besides Local and Sources.
	// Each has one of the forms "web1", "web1:44322", "web1:*" and "*.example.com:44321". In a host
	// name, "*" is any text without a dot; as the whole name it is any host, and as the port any
	// port. Without a port it is the default port.
	//
	// Other ways to a collector, such as "unix://run/pmcd.socket" or "web1@proxy", are listed in
	// full, without attributes. Nil means the collector of this computer on the default port.
	Allow []string
	// Dialer has the options for connections to collectors; nil means the defaults.
	Dialer *pmapi.Dialer
	// Origins lists the origins of other web pages, such as "https://grafana.example.com", that may
	// read replies, send a user and a password, and store values. The page of the gateway needs no
	// entry if the browser reached it by an IP address or as localhost.
	Origins []string
	// AllowStore lets clients store values without a login. Set it only if no browser can reach the
	// Gateway, because any web page can make its visitor's browser store a value.
	AllowStore bool
	// RequireLogin serves only clients with a user and a password that the collector accepts. Other
	// requests get the status 401. Local and Sources are not served.
	RequireLogin bool
	// Metrics, if not nil, is the registry for the gateway's own metrics. The gateway registers
	// them on the first request or call of MayConnect. The program publishes the registry, or
	// serves it with package pmdammv.
	Metrics *mmv.Registry
	// Log receives failed logins and connections, panics, and name collisions in /metrics. Nil
	// means slog.Default().
	Log *slog.Logger
	// MaxContexts limits the open contexts of all clients. Beyond it a request gets the status 503.
	// 0 means 1000.
	MaxContexts int
	// MaxReply limits a reply in bytes; 0 means 64 MiB. A longer reply becomes the status 413. The
	// replies over 64 KiB that are being sent may take four times MaxReply together; beyond that a
	// request gets the status 503. Set http.Server.WriteTimeout to limit the time to send a reply.
	MaxReply int
	// RequestTimeout limits the duration of a request, except for /live/events. 0 means 5 seconds.
	// A page of /metrics that takes longer is read to its end for the next request.
	RequestTimeout time.Duration

	setUp    sync.Once
	limits   limits
	log      *slog.Logger
	dialer   pmapi.Dialer
	stats    *stats
	contexts contexts
	streams  streams
	failures loginlimit.Failures
	sending  atomic.Int64 // bytes of long replies that clients have not yet received
}

// prepare sets up the gateway from its exported fields.
func (g *Gateway) prepare() {
	g.limits = g.limits.complete(g)
	if g.Dialer != nil {
		g.dialer = *g.Dialer
	}
	g.dialer.AutoReconnect = false // take reconnects
	if g.dialer.Backoff == nil {
		g.dialer.Backoff = backoff
	}
	r := g.Metrics
	if r == nil {
		r = &mmv.Registry{Name: "gateway"}
	}
	g.stats = newStats(g, r)
	g.log = loglimit.New(cmp.Or(g.Log, slog.Default()))
	g.contexts.stats = g.stats
	g.contexts.limits, g.streams.limits = g.limits, g.limits
}

// Close closes all contexts, ends all streams of values, and waits until both are done. Later
// requests that need either get the status 503. It always returns nil.
func (g *Gateway) Close() error {
	g.streams.close()
	g.contexts.close()
	return nil
}

// ServeHTTP serves a request.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.setUp.Do(g.prepare)
	q := newQuery(g, w, r)
	defer q.free()
	begin := time.Now()
	q.serve()
	g.stats.count(q.name, q.status, q.streamed, time.Since(begin))
}
