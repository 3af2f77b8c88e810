// Package remote makes requests of agents of Performance Co-Pilot (PMDAs) that run in another
// process, over the pipes or the socket that connect them to a collector.
//
//	c, err := net.Dial("unix", "/run/pcp/pmda.sample")
//	if err != nil {
//		return err
//	}
//	agent, err := remote.New(ctx, pmda.Info{Name: "sample", Domain: 29}, c, remote.Config{})
//	if err != nil {
//		return err // the agent did not send its version
//	}
//	defer agent.Close()
//	r := &pmda.Request{Client: pmda.NewClient(0, 1)}
//	desc, err := agent.Desc(ctx, r, pdu.MakePMID(29, 0, 0))
//
// [New] exchanges versions with an agent and returns an [Agent]. An Agent is a [pmda.Handler],
// which a collector uses like an agent in its own process. The caller makes the stream and
// manages the process. A tool like dbpmda(1) needs no more than the lines above.
//
// The agent's side of the connection is [pmda.Serve], or [pmda.Main] in a program such as
// "./pmdacache --stay -u /run/pcp/pmda.cache".
//
// # The end of a connection
//
// A collector keeps one Agent for all its clients. It waits for [Agent.Done], the end of the
// connection, to start the process again:
//
//	select {
//	case <-agent.Done():
//		log.Error("agent died", "err", agent.Err())
//	case <-ctx.Done():
//		agent.Close()
//	}
//
// # Concurrency
//
// An Agent is safe for concurrent use. It sends one request at a time, because PCP's protocol for
// agents knows no more. A request to a slow agent waits, up to the time-out; then all requests
// fail at once, until the agent has replied. EndClient and SetClient never wait.
//
// # The C names
//
// The C library has no counterpart; pmcd(1) and dbpmda(1) each have their own.
//
//	"open pipe", "open socket" of dbpmda    New
//	"fetch", "desc", "instance", ...        the methods of Agent
//	"notready" in pmcd.conf                 Config.NotReady
//	"-t timeout" of pmcd                    Config.Timeout
//	PM_ERR_PMDANOTREADY, PM_ERR_PMDAREADY   Agent.Ready, Config.OnReady
package remote
