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

// addOrigin says whether the page of another origin that makes the request may read the reply: one
// of Origins may.
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

// preflight replies to OPTIONS. It does not look at parameters: a browser asks before it sends
// them.
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

// fromElsewhere reports whether a browser makes the request for a page of another origin that is
// not one of Origins: such a page could store values at a collector that trusts the browser's
// computer. The page of a name that its owner can have lead to this gateway (DNS rebinding) seems
// to be of the same origin: only addresses and localhost are believed.
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
		return false // no browser
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
