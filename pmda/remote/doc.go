// Package remote speaks to agents of Performance Co-Pilot in other processes, as
// a collector does: over the pipes to an agent that it has started, or over a
// socket.
//
// [New] begins the conversation and returns an [Agent], which is a
// [pmda.Handler] like an agent in the same process. The caller makes the stream
// and looks after the process:
//
//	c, err := net.Dial("unix", "/run/pcp/pmda.simple")
//	if err != nil {
//		return err
//	}
//	agent, err := remote.New(pmda.Info{Name: "simple", Domain: 253}, c.(*net.UnixConn), remote.Config{})
//	if err != nil {
//		return err
//	}
//	defer agent.Close()
//	r := &pmda.Request{Client: pmda.NewClient(0, 1)}
//	desc, err := agent.Desc(ctx, r, pdu.MakePMID(253, 0, 1))
//
// The other side of the conversation is [pmda.Serve].
package remote
