package webapi

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Forwarded returns a handler that knows the clients of reverse proxies by their own addresses.
// If a request comes from an address in proxies, its RemoteAddr becomes the last address in the
// header X-Forwarded-For that is not in proxies. Without it, all clients of a reverse proxy share
// the limits of one client.
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

// forwardedFor returns the address of the client behind proxies. It is not valid if the header does
// not tell.
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
