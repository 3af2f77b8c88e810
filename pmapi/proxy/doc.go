// Package proxy connects PCP's clients to collectors that they cannot reach directly, as PCP's
// pmproxy does. A client with the host "web1@gateway" connects to a proxy on the computer gateway,
// which connects it to the collector on web1.
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
// The zero [Proxy] connects clients only to the collector of the same computer. The function
// Proxy.Allow permits other hosts and ports. A proxy does not look at the data after the client
// has named the host. Secure connections and logins are between the client and the collector.
//
// # A web server on the same port
//
// [Proxy.Listener] returns a listener with the connections that do not come from PCP's clients, for
// a web server such as that of package webapi:
//
//	return http.Serve(p.Listener(l), handler)
//
// # Clients
//
// Programs name the proxy in the host specification, or in the field Proxy of a pmapi.Dialer.
// PCP's tools also read it from the environment variables PMPROXY_HOST and PMPROXY_PORT.
package proxy
