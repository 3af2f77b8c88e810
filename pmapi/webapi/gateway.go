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

// A Gateway is an http.Handler for metrics. Its zero value serves the metrics of the collector of
// this computer. It is safe for concurrent use after its fields are set, and must not be copied.
type Gateway struct {
	// Local, if not nil, opens the context for a request that names no host, or localhost with the
	// default port. The user and the password of a request are then ignored, so each client has the
	// rights of that context. A context of pmapi.Local has those of this process. To serve a
	// collector in this process with the rights of each client, leave Local nil and set
	// Dialer.DialContext to that of the collector.Server.
	Local func(ctx context.Context) (*pmapi.Context, error)
	// Sources opens contexts by other names, which a request uses as its hostspec. On an archive,
	// each fetch returns the next record; with Shared, contexts share the memory for its metadata.
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
	// Gateway: a page of any web site can have the browser of a visitor store a value.
	AllowStore bool
	// RequireLogin serves only clients with a user and a password that the collector accepts, and
	// neither Local nor Sources. Other requests have the status 401.
	RequireLogin bool
	// Metrics, if not nil, is the registry for the metrics of the gateway. The gateway registers
	// them before it serves the first request or answers MayConnect. The program publishes the
	// registry, or serves it with package pmdammv in a collector or in a context of package local.
	Metrics *mmv.Registry
	// Log receives the names of metrics whose names collide in /metrics; nil means slog.Default().
	Log *slog.Logger
	// MaxContexts limits the open contexts of all clients; one more has the status 503. 0 means
	// 1000.
	MaxContexts int
	// MaxReply limits a reply in bytes; 0 means 64 MiB. All replies that are being sent may have
	// four times as many bytes, because clients that do not read would use all memory; one more has
	// the status 503. The time to send a reply is limited by http.Server.WriteTimeout.
	MaxReply int
	// RequestTimeout limits the duration of a request; 0 means 5 seconds. A page of /metrics that
	// has not been read by then is read to its end for the next request.
	RequestTimeout time.Duration

	setUp    sync.Once
	limits   limits
	log      *slog.Logger
	dialer   pmapi.Dialer
	stats    *stats
	contexts contexts
	streams  streams
	failures loginlimit.Failures
	sending  atomic.Int64 // bytes of long replies that clients have not received
}

// prepare completes the options.
func (g *Gateway) prepare() {
	g.limits = g.limits.complete(g)
	if g.Dialer != nil {
		g.dialer = *g.Dialer
	}
	g.dialer.AutoReconnect = false // a context's session connects again, and says so
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

// Close closes all contexts and ends all streams of values. Later requests that need either fail.
// It always returns nil.
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
