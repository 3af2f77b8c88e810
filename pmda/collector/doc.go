// Package collector hosts agents and serves clients: it is the engine of pmcd, for
// a program to embed.
//
//	srv := &collector.Server{}
//	srv.Add(agent) // any pmda.Handler, such as a *pmda.Agent
//	ln, err := net.Listen("tcp", "localhost:44321")
//	if err != nil {
//		return err
//	}
//	return srv.Serve(ctx, ln) // until ctx ends
//
// Every PCP client can connect to it: pminfo -h localhost:44321 -f.
//
// # Agents
//
// Add hosts an agent in this process, which brings its own names. StartAgent runs
// one in another process, over a pipe or a socket, as a line of pmcd.conf says; its
// names come from a PMNS file (Server.Names). An agent that dies is started again,
// at most once a minute. Configure takes a whole configuration and, while the Server
// runs, a changed one. The agent of domain 2, with the metrics pmcd.* about the
// collector itself, is always there.
//
// Requests of different clients run at the same time, also in one agent; wrap an
// agent that is not safe for that with pmda.Serial.
//
// # Isolation
//
// A slow or broken client or agent does not hold up the others.
//
//   - Each client has a goroutine of its own and gets its replies in the order of
//     its requests. A client that sends half a request, or does not read its
//     replies, is disconnected after a time-out; others do not notice.
//   - An agent in this process is called on the goroutine of the client. If the
//     call takes longer than Server.Timeout, it is abandoned: the client gets
//     pdu.ErrTimeout for the metrics of that agent and the values of the others,
//     and can send further requests. The context of the call ends, and what the
//     agent returns later is dropped. Agents whose calls take more than a
//     millisecond are called in parallel.
//   - A client that uses an agent much does not keep others waiting: of those that wait
//     for an agent the one that has used it least is next, and a fetch of more than
//     1024 metrics is made in parts, each with a refresh of its own, between which
//     others have their turn.
//   - At most AgentCalls calls of an agent run at one time. When all of them are
//     abandoned, the agent is fenced until one returns: its clients get
//     pdu.ErrPMDAFenced at once.
//   - When an agent panics, the client gets an error, and the agent is fenced for a
//     second.
//   - An agent in another process that does not reply in time gets no further
//     request until the late reply has come; clients get pdu.ErrAgain. The agent is
//     ended and started again only when it breaks the protocol or stays silent for
//     ten time-outs, at least half a minute. See remote.Agent.
//   - What a client sends is checked before it is used. A client that breaks the
//     framing is disconnected; a request that is malformed, unknown or not allowed
//     gets an error.
//
// # Who clients are
//
// Clients on unix sockets and in this process are the users that they run as. Others are nobody, until they log in as one of
// Server.Users. That is who Access has rules for, and who agents are told of: the latest login replaces what was
// known. When a login fails, or else what a client asks for in its CREDS, it may do nothing until other CREDS succeed.
//
// # Encryption
//
// With TLS, clients can ask for it, on any listener; SetTLS changes it for those that connect from then on. With
// RequireClientCert, clients of other hosts have to, and all that do have to show a certificate. A client whose start of TLS
// fails is disconnected.
//
// # Limits
//
//	Timeout            5 s      an agent's reply; the rest of a client's PDU
//	HelloTimeout       60 s     a client's first PDU
//	AgentHelloTimeout  3 s      an agent's first PDU
//	HandshakeTimeout   10 s     a client's start of TLS
//	                   10 s     each message of a login
//	WriteTimeout       30 s     for a client to read a reply
//	Grace              5 s      for requests in progress at the end, then for agents
//	MaxPDU             64 KiB   a client's PDU
//	MaxMetrics         32768    metrics of a fetch
//	MaxContexts        64       contexts of a client
//	MaxClients         65536    clients
//	MaxReply           16 MiB   a fetch's result, an agent's reply: pdu.ErrTooBig
//	MaxClientMemory    64 MiB   memory held for a client: pdu.ErrTooBig
//	MaxMemory          384 MiB  memory held for all clients: pdu.ErrAgain
//	AgentCalls         4        calls of one agent in this process at a time
//
// Memory is counted before it is taken: for long requests, profiles, agents' replies
// and results, until the client has read them. No client may hold more than is left
// for the others, and when memory is short, those are disconnected that have not read
// a reply for the longest time: for a second, if they hold more than who needs it, else
// for five. What a client needs below 64 KiB is never refused. Of a profile that is
// refused the next fetch in its context says why. Some seconds after a peak, garbage
// is collected, so that memory goes back to the system.
//
// When the process is out of file descriptors, the Server goes on with the clients
// that it has, refuses others with pdu.ErrConnLimit, and accepts them when it can
// again.
//
// # Logging
//
// There is one line for each connection that is refused or broken off, with the
// reason, and for each change of an agent's state: started, died, timed out,
// fenced, replying again, not ready and ready, restarted, removed. Clients that
// connect and close the connection, and requests, are not logged.
//
// # Latencies
//
// pmcd.agent.latency.count, total, max, p50, p90 and p99 show, for each agent, how many
// calls it has had and how long they have taken, which C pmcd does not. Those of
// pmcd.client.latency show how many replies had to wait for clients that are slow to take them,
// and how long; pmcd.client.latency.stopped counts the clients that were disconnected for that.
//
// # Clients in this process
//
// DialContext gives a client in this process a connection without a socket.
//
// # The C names
//
//	pmcd                        Server, examples/pmcd
//	pmcd.conf                   pmcdconf.Load, Configure
//	[access]                    pmcdconf.Access, SetAccess
//	[limits]                    Server.Limits, SetLimits; C pmcd has none
//	-S                          Server.CredsRequired
//	-Q, tls.conf                Server.RequireClientCert; Server.TLS, SetTLS
//	-D                          Server.Debug, Server.DebugWriter
//	SIGUSR2                     Shutdown, ListenerFile; C pmcd has no such thing
//	/etc/sasl2/pmcd.conf        Server.Users, Server.Mechanisms, sasl.LoadConfig
//	PMCD_ADD_AGENT, …           pdu.ChangeAddAgent, …, sent ahead of the next fetch
//	SIGHUP                      Configure, RestartAgents, SetNames
package collector
