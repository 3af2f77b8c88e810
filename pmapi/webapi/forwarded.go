package webapi

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Forwarded returns a handler for use behind reverse proxies, whose addresses are in proxies. For a
// request from one of them, h sees as RemoteAddr the last address in X-Forwarded-For that is not in
// proxies, with port 0. Without Forwarded, all clients of a reverse proxy share the limits of one
// client.
func Forwarded(h http.Handler, proxies []netip.Prefix) http.Handler {
	isProxy := func(ip netip.Addr) bool {
		return slices.ContainsFunc(proxies, func(p netip.Prefix) bool { return p.Contains(ip) })
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		peer, err := netip.ParseAddrPort(r.RemoteAddr)
		if err == nil && isProxy(peer.Addr().Unmap()) {
			if ip := forwardedFor(r.Header, isProxy); ip.IsValid() {
				copied := *r
				copied.RemoteAddr = netip.AddrPortFrom(ip, 0).String()
				r = &copied
			}
		}
		h.ServeHTTP(w, r)
	})
}

// forwardedFor returns the address of the client behind proxies. It is invalid if the header is
// missing or malformed.
func forwardedFor(h http.Header, isProxy func(netip.Addr) bool) netip.Addr {
	list := strings.Split(strings.Join(h.Values("X-Forwarded-For"), ","), ",")
	for _, text := range slices.Backward(list) {
		ip, err := netip.ParseAddr(strings.TrimSpace(text))
		if err != nil {
			return netip.Addr{}
		}
		if ip = ip.Unmap(); !isProxy(ip) {
			return ip
		}
	}
	return netip.Addr{}
}
