// Package webapi serves metrics over HTTP: a page for browsers, the REST interface of PCP's pmproxy
// (see PMWEBAPI(3)) for Grafana and scripts, and a page for Prometheus.
//
// A Gateway is an http.Handler. Its zero value serves the metrics of this computer's collector:
//
//	gw := &webapi.Gateway{}
//	defer gw.Close()
//	mux := http.NewServeMux()
//	mux.Handle("/pcp/", http.StripPrefix("/pcp", gw)) // the page, and /pcp/pmapi/ for Grafana
//	mux.Handle("/metrics", gw)                        // for Prometheus
//	srv := &http.Server{Addr: "localhost:44322", Handler: mux, ReadHeaderTimeout: time.Minute}
//	log.Fatal(srv.ListenAndServe())
//
// The program then answers these requests:
//
//	curl 'localhost:44322/pcp/pmapi/fetch?names=kernel.all.load'     # values as JSON
//	curl 'localhost:44322/metrics?names=kernel.all.load'             # text for Prometheus
//	curl -N 'localhost:44322/pcp/live/events?names=kernel.all.load'  # new values each second
//
// The command examples/pmproxy is this handler with options. A proxy.Proxy on the same port also
// forwards connections of PCP's clients; Gateway.MayConnect tells it which hosts are allowed.
//
// # Choose the source
//
// A request selects its source of metrics with the parameter hostspec. Without it, or with
// localhost, the source is Gateway.Local if that is set, and else the collector of this computer.
// To serve a collector.Server srv in the same process, connect to it without a socket:
//
//	gw.Dialer = &pmapi.Dialer{DialContext: srv.DialContext}
//
// The clients of the gateway then have the rights of clients of another host, not those of this
// process. A program can also set Local to a function that opens any other context.
//
// Gateway.Sources maps further names to sources, for example archives. Gateway.Allow lists the
// other collectors that a request may name, as in hostspec=web1.
//
// # Requests
//
//	/                 the page for browsers; it loads nothing from other servers
//	/pmapi/context    opens a context on a source and returns its number
//	/pmapi/metric     metadata of metrics
//	/pmapi/fetch      values
//	/pmapi/indom      the instances of a domain
//	/pmapi/children   the name space
//	/pmapi/profile    selects instances for fetch
//	/pmapi/store      stores a value
//	/pmapi/derive     defines derived metrics for the context
//	/live/events      new values, as server-sent events
//	/live/past        values of an archive at any time
//	/live/sources     the names of the archives and of other collectors
//	/metrics          values of numeric metrics as text for Prometheus
//
// Requests below /pmapi/ take the parameters of PMWEBAPI(3). In metric and fetch the parameter
// names lists metrics; in indom the parameter name is a metric. A request uses an open context if
// the number of the context is part of its path (/pmapi/NUMBER/fetch, also /pmapi/NUMBER/metrics)
// or is the parameter context. A path with an underscore, such as /pmapi/_fetch, is for clients of
// the older interface, which has numbers instead of dotted identifiers.
//
// # Watch in a browser
//
// The page at / opens with the vital signs of the host. It includes processes if the agent proc
// runs. A search over names, help texts and labels finds any other metric and adds a chart of it. A
// chart shows a counter as a rate, one line for each instance, with a filter. The slider goes back
// half an hour in the values that the page has received, or over the whole of an archive.
//
// The address in the browser holds what is shown, so it can be sent as a link. The fragment
// #source=NAME shows the source NAME of Gateway.Sources. The key ? lists the other keys.
//
// The page reads /live/events. The parameter interval is in seconds; the default is 1. All viewers
// of a source with the same interval share one fetch per interval.
//
// # Grafana
//
// The gateway is a data source of the type PCP Vector, of the plugin performancecopilot-pcp-app.
// Its URL is the address of the gateway, with the path below which the program serves it. The field
// "Host specification" of the data source selects the source, as in pcp://web1.
//
// # Prometheus
//
// A scrape of /metrics returns OpenMetrics with names in base units if the header Accept asks for
// it, as that of Prometheus does. Otherwise it returns text under the names of PCP's pmproxy. For
// curl and browsers the first line of that text says so. These parameters change the page:
//
//	format     openmetrics, prometheus or pcp; it has precedence over Accept
//	names      the metrics, and names above them in the name space, separated by commas
//	filter     metrics to leave out, as patterns: filter=disk.*,*.all.*
//	match      regex or exact: how filter is compared with names
//	hostspec   the source
//	view       node shows Linux under the names of node_exporter
//
// Package openmetrics describes the pages. All scrapes of a source share a context, which is closed
// when no scrape has used it for five minutes. If the source fails the status is 503, so Prometheus
// sets up to 0. A scrape of a slow source ends with the status 503 after RequestTimeout. The next
// scrape gets the page that was being read, unless that page is older than 90 seconds.
//
// # Differences from pmproxy
//
// Replies and error texts are those of pmproxy of PCP 6.0.3, because clients compare them. They
// differ where that reply is invalid JSON, wrong or dangerous:
//
//   - Each request has exactly one reply, and a path must match as a whole.
//   - A missing value is left out. No zero and no earlier value replaces it.
//   - A number that JSON cannot express is null.
//   - Texts are UTF-8, times have nine digits after the point, and numbers keep their precision.
//   - fetch returns the names that the request used, and indom returns the labels of instances.
//   - store does not change the profile, and an unknown instance is an error.
//   - Contexts are limited in number and lifetime, and each serves one request at a time.
//   - There is no key server, so /series and /search do not exist.
//
// # Metrics of the gateway
//
// If Gateway.Metrics is set, the gateway registers these metrics in it:
//
//	requests          counter by route and class of status: "/pmapi/fetch::2xx"
//	request_seconds   histogram of latencies, without /live/events; the label le is the bound
//	request_time      the sum of these latencies
//	refused           counter by reason: login, forbidden, size, url, client_limit, unavailable
//	contexts.open     open contexts; contexts.opened and contexts.expired are counters
//	live.viewers      clients of /live/events
//	live.streams      fetch loops that serve them
//
// A collector that serves a registry named NAME with pmdammv.Of shows them to Prometheus as
// mmv_NAME_requests_total, mmv_NAME_request_seconds_bucket and so on. The command examples/pmproxy
// serves them at /metrics/gateway as pmproxy_gateway_*. With -w, examples/pmcd has them as the
// metrics pmproxy.gateway of the collector.
//
// # Security
//
// A Gateway has no users. A client that reaches it can read what its sources show to clients
// without a login. If that is too much, set Gateway.RequireLogin, which serves only users of the
// collector, or wrap the Gateway with a handler that authenticates users. That handler must remove
// the header Authorization from requests that it passes on.
//
//   - Collectors: a client makes the gateway connect only to the collectors in Gateway.Allow.
//   - Passwords: a user and a password, from HTTP basic authentication or from a hostspec, are sent
//     to the collector, which decides. They are not used with Gateway.Local. The status 401 means
//     that a login is missing or wrong. A user who fails to log in 30 times in a minute from one
//     address gets the status 429 there; other users and addresses do not.
//   - Stores: a store needs a user and a password in the header Authorization that the collector
//     accepts, or Gateway.AllowStore.
//   - Contexts: the number of a context is a secret of the client that opened it.
//   - Other origins: pages of other web sites read, store and log in only if Gateway.Origins lists
//     them.
//   - The gateway's own page stores only if the browser reached it by an IP address or as
//     localhost, because an attacker can point any other name to it. To allow another name, add it
//     to Origins, as in "https://metrics.example.com".
//   - Resources: contexts, viewers, requests and replies are limited.
//   - Reverse proxies: limits of a client are those of its IP address. Behind a reverse proxy, wrap
//     the Gateway with Forwarded, or all clients share the limits of one.
//   - TLS and time limits of connections are those of the http.Server. Set its ReadHeaderTimeout.
package webapi
