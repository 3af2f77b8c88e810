// Package collector hosts agents and serves clients. It is pmcd as a library: the program that
// embeds it needs no fork, no pipe and no configuration file.
//
//	srv := &collector.Server{}
//	if err := srv.Add(pmdago.New(pmdago.Options{})); err != nil { // metrics of Go's run time
//		log.Fatal(err)
//	}
//	ln, err := net.Listen("tcp", "localhost:44321")
//	if err != nil {
//		log.Fatal(err)
//	}
//	log.Fatal(srv.Serve(context.Background(), ln)) // until the context ends
//
// Every PCP client can connect to it, for example with pminfo -h localhost -f or pmval -h localhost
// go.goroutines. The program itself reads the metrics through pmapi.Local(ctx, srv), without a
// socket.
//
// The command examples/embed is a web server with a collector that counts its requests. The command
// examples/pmcd is a complete pmcd that uses this package; its README.md is for operators.
//
// # Agents
//
// [Server.Add] hosts an agent in this process, which brings its own names. Call it for each agent:
// the program's own (see package pmda), that of pmdalinux.New(pmdalinux.Options{}) for the metrics
// of the kernel, or that of pmdaproc.New(nil) for processes. A client whose user is unknown does
// not see single processes.
//
// [Server.StartAgent] runs an agent in another process, over a pipe or a socket, as a line of
// pmcd.conf says. Its names come from a PMNS file (Server.Names). An agent that dies is restarted,
// at most once a minute. [Server.Configure] applies a whole configuration, also a changed one while
// the Server runs. The Server's own agent, of domain 2, has the metrics pmcd.* about the collector.
//
// Requests of different clients run concurrently, even in one agent. Wrap an agent that is not safe
// for concurrent use with pmda.Serial.
//
// # Labels
//
// Server.Labels are the labels of all values; by default they name the host. Where PCP is
// installed, [SystemLabels] adds the machine's id and PCP's label files, as C pmcd does:
//
//	srv := &collector.Server{Labels: collector.SystemLabels("/etc/pcp")}
//
// # Isolation
//
// A slow or broken client or agent does not hold up the others.
//
//   - Each client has its own goroutine and gets its replies in the order of its requests. A
//     client that sends half a request, or does not read its replies, is disconnected after a
//     timeout.
//   - An agent in this process is called on the goroutine of the client. A call that takes
//     longer than Server.Timeout is abandoned: the client gets pdu.ErrTimeout for the metrics
//     of that agent and the values of the others, and can send further requests. The context of
//     the call ends, and its late result is dropped. Agents whose latest call took more than a
//     millisecond are called in parallel.
//   - A client that uses an agent much does not keep others waiting. Among the clients that
//     wait for an agent, the one that has used it least is next. A fetch of more than 1024
//     metrics is made in parts, each with its own refresh; other clients get their turn
//     between the parts.
//   - At most 4 calls of an agent in this process run at a time. When all of them are abandoned,
//     the agent is fenced until one returns: its clients get pdu.ErrPMDAFenced at once.
//   - When an agent panics, the client gets an error, and the agent is fenced for a second.
//   - An agent in another process that does not reply in time gets no further request until the
//     late reply has come; clients get pdu.ErrAgain. The agent is ended and started again only
//     when it breaks the protocol or stays silent for ten timeouts, at least half a minute.
//   - What a client sends is checked before it is used. A client that breaks the framing is
//     disconnected; a request that is malformed, unknown or not allowed gets an error.
//
// # Users and login
//
// A client in this process, or on Linux one on a unix socket, is the user that it runs as. Any
// other client is anonymous until it logs in as one of Server.Users:
//
//	srv.Users = sasl.File{Path: "/etc/collector.users"} // ann:SCRAM-SHA-256$4096:...
//	srv.CredsRequired = true                            // serve no anonymous clients
//
// With CredsRequired, a user must also have an account of this computer, or one that
// Server.LookupAccount makes up:
//
//	srv.LookupAccount = func(string) (uid, gid int, err error) { return 65534, 65534, nil }
//
// Without CredsRequired, clients still have to log in if the rules of Access name users or groups.
// These rules apply to the account of the user and its groups, and agents get the user's name. A
// later login replaces the identity.
//
// A client whose login fails may do nothing on its connection until a login succeeds. The same
// applies when another request in its credentials fails, such as one for TLS.
//
// Package pdu/sasl creates the lines of the file and reads the databases of saslpasswd2. A client
// names the user in the host specification, as in 'web1?user=ann&pass=secret'; see
// Dialer.AskLogin of package pmapi for a prompt. With SCRAM-SHA-256 the password does not cross
// the network.
//
// # Access
//
// Server.Access holds the rules for hosts, users and groups. Package pmcdconf reads them from the
// text of an [access] section. Without rules, every client may fetch and store.
//
// # Encryption
//
// Clients and collectors can encrypt their connection with TLS 1.2 or 1.3, as in PCP 6 and later.
// The client requests the upgrade on the same port. Server.TLS is the configuration of a server of
// crypto/tls:
//
//	cert, err := tls.LoadX509KeyPair("server.crt", "server.key")
//	if err != nil {
//		log.Fatal(err)
//	}
//	srv := &collector.Server{TLS: &tls.Config{Certificates: []tls.Certificate{cert}}}
//
// The page examples/pmcd/README.md shows how to make a certificate with openssl. TLS is the
// client's choice: only RequireClientCert refuses clear text, and only from other hosts.
//
// Clients ask for TLS with the host specification pcps://web1. They then verify that the
// certificate is for the host's name and comes from an authority that the system trusts or that
// is in RootCAs of Dialer.TLS. PCP's tools verify less. With pcps://web1?secure=relaxed the
// connection is encrypted if the collector has TLS.
//
// RequireClientCert turns away clients of other hosts without TLS, and all clients with TLS
// that show no certificate from an authority in ClientCAs. [Server.SetTLS], or a GetCertificate
// of the configuration, replaces the certificate while clients are connected.
//
// A client is disconnected if its handshake fails or takes more than 10 seconds. A client that had
// to ask for TLS and did not is denied everything. C pmcd serves a client whose handshake failed,
// or that did not ask for TLS. During a handshake it serves no other client.
//
// Prefer a key on the curve P-256, which PCP's programs know too. In each handshake, a Go program
// needs over 20 times as long to sign with an RSA key of 2048 bits. That is more than twice the
// time of OpenSSL, so fewer clients can connect in a second than to C pmcd.
//
// # Limits
//
//	Timeout            5 s      an agent's reply; the rest of a client's PDU
//	AgentHelloTimeout  3 s      an agent's first PDU
//	                   60 s     a client's first PDU
//	                   10 s     a client's start of TLS
//	                   10 s     each message of a login
//	WriteTimeout       30 s     for a client to read a reply
//	Grace              5 s      for requests in progress at the end, then for agents
//	MaxPDU             64 KiB   a client's PDU
//	MaxMetrics         32768    metrics of a fetch
//	MaxContexts        64       contexts of a client
//	MaxClients         65536    clients
//	MaxReply           16 MiB   a fetch's result, an agent's reply: pdu.ErrTooBig
//	                   64 MiB   memory held for a client: pdu.ErrTooBig
//	MaxMemory          384 MiB  memory held for all clients: pdu.ErrAgain
//	                   4        calls of one agent in this process at a time
//
// Server.Limits restricts the requests, bytes, contexts and failed logins of each client.
//
// # Memory
//
// Memory for long requests, profiles, agents' replies and results is counted before it is
// allocated. No client may hold more than is left for the others. When memory is short, the Server
// disconnects the clients that have not read a reply for the longest time: at least one second if
// they hold as much as the client that needs memory would, otherwise five. The first 64 KiB of a
// client are never refused.
//
// If a profile is refused, the next fetch in its context returns the reason. Some seconds after a
// peak the Server collects garbage, so that memory returns to the system.
//
// When the process is out of file descriptors, the Server continues to serve its clients and
// refuses others with pdu.ErrConnLimit until descriptors are free again.
//
// # Logging
//
// The Server logs each login, each connection that is refused or fails, with the reason, and each
// change of an agent's state: started, died, timed out, fenced, replying again, not ready and
// ready, removed. It does not log requests, or clients that connect and disconnect.
//
// # Latencies
//
// For each agent, the metrics pmcd.agent.latency.count, total, max, p50, p90 and p99 show the
// number of its calls and how long they took. The metrics pmcd.client.latency.* show how many
// replies had to wait for slow clients, and how long; pmcd.client.latency.stopped counts the
// clients that were disconnected for that. C pmcd has no such metrics.
//
// # Clients in this process
//
// [Server.DialContext] gives a client in this process a connection without a socket. pmapi.Local
// uses it.
//
// # Replacing a collector
//
// [Server.Shutdown] ends a Server while another process takes over its listeners, which
// [ListenerFile] passes on. Clients connect again and none is refused.
//
// # The C names
//
//	pmcd                        Server, examples/pmcd
//	pmcd.conf                   pmcdconf.Load, Configure
//	[access]                    pmcdconf.Access, SetAccess
//	[limits]                    Server.Limits, SetLimits; not in C pmcd
//	-S                          Server.CredsRequired
//	-Q, tls.conf                Server.RequireClientCert; Server.TLS, SetTLS
//	-D pdu                      TracePDUs and TraceUnbuffered of Server.Trace
//	SIGUSR2                     Shutdown, ListenerFile; C pmcd has no such thing
//	/etc/sasl2/pmcd.conf        Server.Users, Server.Mechanisms
//	PMCD_ADD_AGENT, …           pdu.ChangeAddAgent, …, sent before the next result of a fetch
//	SIGHUP                      Reset, Configure, RestartAgents, SetNames
package collector
