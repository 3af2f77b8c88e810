// Package pmdatrace is the agent for traces, the trace agent (PMDA) of PCP: it exports what
// applications tell the trace library about their transactions, points, observations and
// counters. The library is libpcp_trace or the package [github.com/pcp-go/pcp/trace].
//
//	a := pmdatrace.New(pmdatrace.Options{})
//	srv.Add(a) // a collector.Server
//	ln, err := net.Listen("tcp", "localhost:4323")
//	if err != nil {
//		return err
//	}
//	err = a.Serve(ctx, ln) // until ctx ends
//
// The program examples/pmdatrace is the agent for a pmcd, in the place of PCP's pmdatrace(1).
//
// # Metrics
//
// There is an instance for each tag, numbered from 1 in the order in which tags come, in the
// domain of its kind:
//
//	trace.transact    count total_time · rate ave_time min_time max_time
//	trace.point       count            · rate
//	trace.observe     count value      · rate
//	trace.counter     count value      · rate
//
// Those before the dot are up to date. Those after it are of a period, Options.Period long,
// which moves on in steps of an interval, Options.Period divided by Options.Buckets: it ends where
// the present interval begins. With 10 seconds and 5 buckets, a client that asks after 13.5 seconds
// gets the rate from 2 to 12 seconds. A tag of which nothing came in the period has no values
// there. A Period that is no whole number of seconds for each of the Buckets is divided exactly, where
// PCP's agent stops moving on.
//
// trace.control has the settings. A store of any value into trace.control.reset forgets all tags; one
// that comes back has its old number. A store into trace.control.debug has more logged.
//
// # Tags
//
// A tag may have 247 bytes; C agents on many processors take 124. Tags that are the same up to a
// space are instances of their own, as with PCP's agent, but tools such as pminfo cannot tell them
// apart by name. Tags that are empty, begin with a space or have control characters are refused.
//
// # Applications that misbehave
//
// PDUs may come in pieces of any size. One that breaks the rules of the protocol ends its connection. Values
// whose tag is refused, or would be one too many, are dropped: the log says so, and applications get the same
// answer as always, lest they fail. Nobody is held up by others that are slow. What is logged is limited.
//
// An application may be silent for as long as it likes, and keeps its place among Options.MaxClients; all share
// Options.MaxTags. Where that is too much trust, Options.Access says who may send and how many connections they have.
//
// # Where PCP's agent differs
//
// It disconnects an application whose tag comes once with a NUL at its end and once without; and it fails a whole
// fetch that wants no instance that there is, which has no values here. Its periods may be shorter than a second,
// for which it divides by zero.
//
// # Concurrency
//
// All methods of an Agent may be called by several goroutines at once. The time is that of the
// clock when values come and are asked for; nothing runs in between, so that tests with
// testing/synctest see exact periods.
package pmdatrace
