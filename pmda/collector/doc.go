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
// agent that cannot have that with pmda.Serial. A panic of an agent is logged
// and answered with an error; the collector goes on.
//
// # Clients
//
// Each has a goroutine and gets its answers in the order of its requests. What a
// client sends is checked before it is believed, and limited: see the Max fields
// and the time-outs of Server. A client that breaks the framing is cut off; a
// request that is malformed, unknown or not allowed is answered with an error and
// does no harm to anybody else. DialContext gives a client in this process a
// connection without a socket.
//
// # The C names
//
//	pmcd                        Server, examples/pmcd
//	pmcd.conf                   ParseConfig, Config
//	[access]                    Access
//	PMCD_ADD_AGENT, …           pdu.AddAgent, …, sent ahead of the next fetch
//	SIGHUP                      Reset, Configure, Restart, SetNames
package collector
