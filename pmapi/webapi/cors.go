package webapi

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

var (
	allowedHeaders = []string{"Accept, Accept-Language, Content-Language, Content-Type, Authorization, X-Grafana-Device-ID"}
	maxAge         = []string{"86400"}
	isTrue         = []string{"true"}
	varyOrigin     = []string{"Origin"}
)

// addOrigin permits pages of Origins to read the reply.
func (q *query) addOrigin() {
	h := q.w.Header()
	h["Vary"] = varyOrigin
	origin := q.r.Header.Get("Origin")
	if !slices.Contains(q.g.Origins, origin) {
		return
	}
	h["Access-Control-Allow-Origin"] = []string{origin}
	h["Access-Control-Allow-Credentials"] = isTrue
	h["Access-Control-Allow-Headers"] = allowedHeaders
	h["Access-Control-Max-Age"] = maxAge
}

// preflight replies to OPTIONS. It ignores parameters, because browsers ask before they send them.
func (q *query) preflight(e endpoint) {
	h := q.w.Header()
	h["Content-Length"] = []string{"0"}
	h["Allow"] = []string{e.methods()}
	q.status = http.StatusOK
	if m := q.r.Header.Get("Access-Control-Request-Method"); m != "" && !e.allows(m) {
		for _, name := range []string{"Access-Control-Allow-Headers", "Access-Control-Allow-Credentials", "Access-Control-Max-Age", "Access-Control-Allow-Origin"} {
			delete(h, name)
		}
		q.status = http.StatusMethodNotAllowed
	} else if h["Access-Control-Allow-Origin"] != nil {
		h["Access-Control-Allow-Methods"] = h["Allow"]
	}
	q.w.WriteHeader(q.status)
}

// fromElsewhere reports whether a page of another origin that is not in Origins makes the request.
// Such a page could store values at a collector that trusts the browser's computer. By DNS
// rebinding, any host name can seem to be of the same origin, so only addresses and localhost count
// as such.
func (q *query) fromElsewhere() bool {
	origin := q.r.Header.Get("Origin")
	if slices.Contains(q.g.Origins, origin) {
		return false
	}
	switch q.r.Header.Get("Sec-Fetch-Site") {
	case "same-origin":
		return !isOwnHost(q.r.Host)
	case "none":
		return false
	case "":
	default:
		return true
	}
	if origin == "" {
		return false // not a browser
	}
	u, err := url.Parse(origin)
	return err != nil || !strings.EqualFold(u.Host, q.r.Host) || !isOwnHost(q.r.Host)
}

// isOwnHost reports whether the host of a request is an IP address or localhost. The owner of any
// other name can change its address.
func isOwnHost(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil || strings.EqualFold(host, "localhost")
}
