// Package proxy connects PCP's clients to collectors that they cannot reach directly, as PCP's
// pmproxy does. A client with the host specification "web1@gateway" connects to the proxy on
// gateway, and the proxy connects it to the collector on web1.
//
//	p := &proxy.Proxy{Allow: func(host string, port int) bool {
//		return host == "web1" && port == 44321
//	}}
//	defer p.Close()
//	l, err := net.Listen("tcp", ":44322")
//	if err != nil {
//		return err
//	}
//	return p.Serve(l)
//
// # Access
//
// The zero [Proxy] connects clients only to the collector on its own computer. Proxy.Allow permits
// other hosts and ports. After the client has named the host, the proxy passes all bytes on unread.
// Logins, and TLS with the collector, are between the client and the collector.
//
// # A web server on the same port
//
// [Proxy.Listener] returns a listener for a web server, such as that of package webapi. It accepts
// the connections that do not come from PCP's clients:
//
//	return http.Serve(p.Listener(l), handler)
//
// # Clients
//
// Programs name the proxy in the host specification, or in the field Proxy of a pmapi.Dialer. PCP's
// tools and pmapi.DialerFromEnv also read it from the environment variables PMPROXY_HOST and
// PMPROXY_PORT.
package proxy
