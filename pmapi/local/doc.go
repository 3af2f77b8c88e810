// Package local reads metrics from agents in the same process, without a collector. The C library
// calls this a local context, PM_CONTEXT_LOCAL. This program prints the load of a Linux computer,
// and needs nothing else:
//
//	agent, err := pmdalinux.New(pmdalinux.Options{})
//	if err != nil {
//		return err
//	}
//	c, err := local.Open(agent) // or several agents
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	g := c.Group()
//	load := pmapi.Add[float64](g, "kernel.all.load", pmapi.Instance("1 minute"))
//	if _, err := g.Fetch(ctx); err != nil {
//		return err
//	}
//	fmt.Println(load.Value())
//
// [Open] accepts any pmda.Handler, such as a *pmda.Agent or the agents of packages pmdalinux,
// pmdaproc and pmdago. [Agents] has more options. The context is used like any other of package
// pmapi.
//
// # Requests
//
// Requests call the agents directly, without a connection, PDUs or goroutines. A fetch takes about
// a microsecond besides the time of the agents. When its context.Context ends, it returns only if
// the agent does.
//
// # Differences from a collector
//
//   - All requests for a metric, an instance domain or a name in a domain without an agent fail
//     with pdu.ErrNoAgent.
//   - There is no agent pmcd, and no agent is restarted or fenced.
//   - A store changes one metric after the other, and ends with the first that fails.
//   - The names are those of Agents.Names, or those of the agents.
//   - The host name and the time of values are those of this computer.
//
// # Command-line tools
//
// The tools in examples use local contexts with the option -L, as in
//
//	pminfo -L -f kernel.all.load
//
// They use the agents of pmcd's configuration file that are compiled into the tool. The option
// -K add,DOMAIN,PATH,ROUTINE adds an agent.
//
// # The C names
//
//	Agents.Open    pmNewContext(3) with PM_CONTEXT_LOCAL
//
// A store in the C library sets only the first of several values of a metric. Here it sets all.
package local
