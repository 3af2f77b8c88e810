// Package webapi serves metrics over HTTP: the REST interface of PCP's pmproxy, as PMWEBAPI(3) has it, for Grafana and for scripts.
// A Gateway is an http.Handler that a program serves by itself or beside pages of its own:
//
//	gw := &webapi.Gateway{Local: func(ctx context.Context) (*pmapi.Context, error) { return pmapi.Local(ctx, srv) }}
//	defer gw.Close()
//	mux.Handle("/pcp/", http.StripPrefix("/pcp", gw))
//
// # Requests
//
//	/                 a page that shows metrics, live and of archives; it needs nothing else and works below any path
//	/pmapi/context    opens a context on a source of metrics, whose number further requests have in their path or in context=
//	/pmapi/metric     metadata of metrics
//	/pmapi/fetch      values
//	/pmapi/indom      the instances of a domain
//	/pmapi/children   the name space
//	/pmapi/profile    selects instances for fetch
//	/pmapi/store      stores a value
//	/pmapi/derive     defines derived metrics for the context
//	/live/events      values as they come, as server-sent events: of the metrics of names=, every interval= seconds (1), one fetch
//	                  for all who watch; with curl -N
//	/live/past        values of an archive at any time
//	/live/sources     the names of the archives and of other collectors
//	/metrics          values of numeric metrics as text for Prometheus; /pmapi/metrics in a context
//
// Those below /pmapi/ have the parameters of PMWEBAPI(3): names= of metric and fetch, and name= of indom, are of metrics.
//
// An underscore before the last word, as in /pmapi/_fetch, is for clients of an older interface, which has numbers in the place of
// dotted identifiers. Answers and errors are those of pmproxy of PCP 6.0.3, whose texts clients look at, except where those are not
// valid JSON, wrong or dangerous:
//
//   - a request has one reply, and a path is matched as a whole;
//   - a value that is not there is not there: no zero or earlier value stands for it; numbers that JSON does not have are null;
//   - texts are UTF-8, times have nine digits after the point, and numbers are read back as what they were;
//   - fetch has the names that were asked for, indom has the labels of instances;
//   - store leaves the profile alone, and an instance that there is not is an error;
//   - contexts are limited in number and time, and requests of one are served one after the other.
//
// # Prometheus
//
// A scraper of /metrics has OpenMetrics, with names in base units, if its header Accept has that, as that of Prometheus does, and else text
// under pmproxy's names. The parameter format, openmetrics, prometheus or pcp, has precedence; names selects metrics, hostspec the
// collector, and view=node shows Linux under the names of node_exporter: see packages openmetrics and nodeview. With filter, metrics of
// names are left out: of names with patterns, as filter=disk.*,*.all.*, of regular expressions with match=regex, or of these names
// with match=exact. The scrapes of a collector share a context, which is closed when none has come for five minutes. If the collector
// fails, the status is 503.
//
// # Metrics of the gateway
//
// In the registry of Gateway.Metrics are
//
//	requests                 counter, by route and by hundreds of the status: "/pmapi/fetch::2xx", with the labels route and status
//	request_seconds          histogram: counters by bucket, with the label le; not of /live/events, which lasts
//	request_time             the sum of these times
//	refused                  counter, by reason: login, forbidden, size, url, client_limit, unavailable
//	contexts.open, opened, expired
//	live.viewers, streams
//
// With NAME as the registry's name, Prometheus sees them in a collector that serves the registry with pmdammv.Of as
// mmv_NAME_requests_total, mmv_NAME_request_seconds_bucket and so on. In examples/pmproxy they are pmproxy_gateway_…, of
// /metrics/gateway, and in examples/pmcd with -w metrics of that collector, pmproxy.gateway.
//
// # Security
//
// A client can make the gateway connect only to the collectors of Allow, by default the one of this computer. A user and a password,
// by HTTP basic authentication or in a hostspec, are those of the collector, which decides. The number of a context is a secret of the
// client that has opened it. Pages of other origins may read, if the collector needs no password; they store nothing and log in
// nowhere unless Origins has them. Nor do pages of the gateway itself store where a browser knows it by a name other than localhost,
// since any name can be made to lead to it: Origins has to have "https://metrics.example.com" then. TLS is that of the http.Server, whose ReadHeaderTimeout should be set.
package webapi
