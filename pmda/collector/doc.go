// Package collector hosts agents and answers clients: it is what pmcd is made
// of, for a program to embed.
//
//	srv := &collector.Server{Logger: slog.Default()}
//	srv.Add(agent) // any pmda.Handler, a *pmda.Agent say
//	ln, err := net.Listen("tcp", "localhost:44321")
//	if err != nil {
//		return err
//	}
//	return srv.Serve(ctx, ln) // until ctx ends
//
// Every PCP client can then look: pminfo -h localhost:44321 -f.
//
// # Agents
//
// Add hosts an agent in this process; it brings its own names. Start runs one in
// another process, over a pipe or a socket, as a line of pmcd.conf describes it;
// its names come from a PMNS file (Server.Names). An agent that dies is started
// again, at most once a minute. Configure takes a whole configuration and, while
// the Server runs, a changed one. The agent of domain 2, with the metrics pmcd.*
// about the collector itself, is always there.
//
// Requests of different clients run at the same time, also in one agent; wrap an
// agent that cannot have that with pmda.Serial.
//
// # What an embedder can rely on: isolation
//
// Nobody stops it for anybody else.
//
//   - Each client has a goroutine and gets its answers in the order of its
//     requests. One that sends half a request, or does not read its replies, waits
//     alone, and is cut off in the end.
//   - An agent in this process is called on the goroutine of the client that
//     asks. If a call takes longer than Server.Timeout, the client gets
//     pdu.ErrTimeout for that agent's metrics, those of the others as ever, and is
//     served on; the call's context ends, and what it returns later is thrown
//     away. At most AgentCalls calls of an agent run at one time; when all of them
//     are overdue the agent is fenced, pdu.ErrPMDAFenced at once, until one
//     returns. Agents that take more than a millisecond are asked side by side.
//   - A panic of an agent is answered with an error, and the agent is fenced for a
//     second.
//   - An agent in another process that does not answer in time owes the answer;
//     until it has come, clients get pdu.ErrAgain. It is ended and started again
//     only when it breaks the protocol or stays silent for ten time-outs, at
//     least half a minute. See remote.Agent.
//   - What a client sends is checked before it is believed. A client that breaks
//     the framing is cut off; a request that is malformed, unknown or not allowed
//     is answered with an error.
//
// # Limits
//
//	Timeout            5 s      an agent's answer; the rest of a client's PDU
//	HelloTimeout       60 s     a client's first PDU
//	AgentHelloTimeout  3 s      an agent's first PDU
//	WriteTimeout       30 s     for a client to take a reply
//	Grace              5 s      for requests in progress at the end, then for agents
//	MaxPDU             64 KiB   a client's PDU
//	MaxMetrics         32768    metrics of a fetch
//	MaxContexts        64       contexts of a client
//	MaxClients         65536    clients
//	MaxReply           64 MiB   a fetch's result: pdu.ErrTooBig
//	MaxInFlight        512 MiB  large results that are being sent: pdu.ErrAgain
//	AgentCalls         4        calls of one agent in this process at a time
//
// A process that is out of descriptors goes on serving the clients it has, refuses
// others with pdu.ErrConnLimit, and accepts them when it can again.
//
// # What is logged
//
// One line for each connection that is refused or broken off, with the reason,
// and for each change of an agent's state: started, died, timed out, fenced,
// answering again, not ready and ready, restarted, removed. A client that comes
// and goes as it should is not logged, nor is any request.
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
//	PMCD_ADD_AGENT, …           pdu.ChangeAddAgent, …, sent ahead of the next fetch
//	SIGHUP                      Configure, Restart, SetNames
package collector
