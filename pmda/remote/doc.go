// Package remote asks agents of Performance Co-Pilot (PMDAs) that run in another
// process, over the pipes or the socket that connect them to a collector.
//
// [New] begins the conversation with an agent and returns an [Agent]. That is a
// [pmda.Handler], so that a collector asks it like an agent in its own process.
// The caller makes the stream and looks after the process. A tool like dbpmda(1)
// needs no more than this:
//
//	c, err := net.Dial("unix", "/run/pcp/pmda.sample")
//	if err != nil {
//		return err
//	}
//	agent, err := remote.New(ctx, pmda.Info{Name: "sample", Domain: 29}, c.(*net.UnixConn), remote.Config{})
//	if err != nil {
//		return err // the agent did not send its version
//	}
//	defer agent.Close()
//	r := &pmda.Request{Client: pmda.NewClient(0, 1)}
//	desc, err := agent.Desc(ctx, r, pdu.MakePMID(29, 0, 0))
//
// A collector keeps one Agent for all its clients. It waits for [Agent.Done],
// which says that the connection has ended, to start the process anew:
//
//	select {
//	case <-agent.Done():
//		log.Error("agent died", "err", agent.Err())
//	case <-ctx.Done():
//		agent.Close()
//	}
//
// The other side of the conversation, that of the agent, is [pmda.Serve].
//
// # Concurrency
//
// An Agent is safe for concurrent use. It sends one request at a time, since PCP's
// agents know no other way. Who asks an agent that is slow waits for it, up to the
// time-out; after that the Agent fails all requests at once until the agent has
// caught up. EndClient and Attributes never wait.
//
// # The C names
//
// The C library has no counterpart; pmcd(1) and dbpmda(1) have this each for
// itself.
//
//	"open pipe", "open socket" of dbpmda    New
//	"fetch", "desc", "instance", ...        the methods of Agent
//	"notready" in pmcd.conf                 Config.NotReady
//	"-t timeout" of pmcd                    Config.Timeout
//	PM_ERR_PMDANOTREADY, PM_ERR_PMDAREADY   Agent.Ready, Config.OnReady
package remote
