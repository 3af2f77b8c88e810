// Package proxy passes the connections of PCP's clients on to collectors that they cannot reach themselves, as PCP's pmproxy does:
// a client with "web1@gateway" as its host connects to a proxy on the computer gateway, and through it to web1's collector.
//
//	p := &proxy.Proxy{Allow: func(host string, port int) bool { return host == "web1" && port == 44321 }}
//	defer p.Close()
//	l, err := net.Listen("tcp", ":44322")
//	if err != nil {
//		return err
//	}
//	return p.Serve(l)
//
// The same port can have a web server, such as webapi's: [Proxy.Listener] gives it the connections that are not of PCP's clients.
//
//	return http.Serve(p.Listener(l), handler)
//
// After the client has said where to, a proxy looks at nothing that passes: secure connections and logins are between the client
// and the collector.
package proxy
