// Package local is for programs that read metrics from agents in their own process, without a collector: what the C library calls
// a local context, PM_CONTEXT_LOCAL.
//
//	pc, err := local.Open(agent) // any pmda.Handler, such as a *pmda.Agent or what pmdalinux.New returns
//
// The context is used as one of a collector is. Requests call the agents directly: there are no connection, no PDUs and no
// goroutines. So a request takes as long as its agent does, unless the agent heeds the end of the request's context.Context.
//
// Compared with a context on a collector of the same agents:
//
//   - a metric, an instance domain or a name of a domain without an agent is pdu.ErrNoAgent in all requests
//   - there is no agent pmcd, and nobody restarts or fences agents
//   - a store changes one metric after the other, and ends with the first that fails
//   - names are those of Agents.Names, or those that the agents bring
//   - the host's name is this computer's, and the time of values is this computer's time
//
// A [Table] has the agents that a configuration file of pmcd and the option -K of PCP's tools name.
//
// # In the C library
//
//	Agents.Open    pmNewContext(3) with PM_CONTEXT_LOCAL
//	Table.Edit     pmSpecLocalPMDA(3)
//
// In the C library a store sets only the first of several values of a metric; here it sets all.
package local
