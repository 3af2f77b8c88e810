package webapi

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pcp-go/pcp/internal/loglimit"
	"github.com/pcp-go/pcp/mmv"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/export/nodeview"
	"github.com/pcp-go/pcp/pmapi/export/openmetrics"
)

// A Gateway is an http.Handler for metrics. Its zero value serves those of the collector of this computer. It is safe for concurrent
// use after its fields are set, and must not be copied.
type Gateway struct {
	// Local, if not nil, opens a context where a request names no host, or localhost with the default port: on a collector in this
	// process, say. A user and a password are then not looked at: that is for the handler around this one.
	Local func(ctx context.Context) (*pmapi.Context, error)
	// Sources opens contexts by other names, which a request has as its hostspec: on archives, say, of which each fetch has the
	// next record.
	Sources map[string]func(ctx context.Context) (*pmapi.Context, error)
	// Allow has the collectors that a request may name in a hostspec beside those, each in the form of "web1", "web1:44322",
	// "web1:*" or "*.example.com:44321", where "*" is any text without a dot in a host's name, any port, or as the whole name any
	// host; without a port it is the default one. Other ways to a collector, "unix://run/pmcd.socket" or "web1@proxy", stand there
	// as a whole, without attributes. Nil means the collector of this computer, on the default port.
	Allow []string
	// Dialer has the options of connections to collectors; nil means the defaults.
	Dialer *pmapi.Dialer
	// Origins are those of other web pages ("https://grafana.example.com") that may store, and send a user and a password. The gateway's
	// own pages may store without, where browsers know it by an address or as localhost.
	Origins []string
	// Views are other ways to show the metrics of a host in /metrics, by what a scraper has as its parameter "view". Nil means
	// "node", that of package nodeview.
	Views map[string]openmetrics.View
	// Metrics, if not nil, is where the gateway registers metrics of its own, before it serves the first request or answers MayConnect: requests by route and
	// status, their latencies, contexts, viewers, and what was refused and why. A program publishes the registry, or serves it with
	// package pmdammv in a collector or in a context of package local.
	Metrics *mmv.Registry
	// Log names the metrics whose names collide in /metrics, when they are found; nil means slog.Default().
	Log *slog.Logger
	// Limits has what clients are granted.
	Limits Limits

	setUp    sync.Once
	limits   Limits
	views    map[string]openmetrics.View
	log      *slog.Logger
	dialer   pmapi.Dialer
	stats    *stats
	contexts contexts
	streams  streams
	sending  atomic.Int64 // bytes of long replies that clients have not received
}

// prepare completes the options.
func (g *Gateway) prepare() {
	g.limits = g.Limits.complete()
	if g.views = g.Views; g.views == nil {
		g.views = map[string]openmetrics.View{"node": nodeview.New}
	}
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

// Close closes all contexts and ends what clients watch. Requests that need either fail from then on. It always returns nil.
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
