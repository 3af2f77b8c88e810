// Package pmdatrace is PCP's trace agent (PMDA) in Go. It receives the transactions, points,
// observations and counters of applications and exports them as the metrics trace.*. Applications
// report with package [github.com/pcp-go/pcp/trace] or with libpcp_trace.
//
//	a := pmdatrace.New(pmdatrace.Options{})
//	if err := srv.Add(a.PMDA); err != nil { // srv is a *collector.Server
//		log.Fatal(err)
//	}
//	apps, err := net.Listen("tcp", "localhost:4323") // applications connect to this
//	if err != nil {
//		log.Fatal(err)
//	}
//	go a.Serve(ctx, apps) // until ctx ends
//
// The collector then serves these metrics, with an instance for each tag:
//
//	trace.transact    count total_time     rate ave_time min_time max_time
//	trace.point       count                rate
//	trace.observe     count value          rate
//	trace.counter     count value          rate
//
// The program examples/pmdatrace is this agent for a pmcd and replaces PCP's pmdatrace(1). Package
// trace shows how to run it. If PCP's agent is running too, choose another port.
//
// # Counts and rates
//
// The metrics count, total_time and value are always up to date. The metrics rate, ave_time,
// min_time and max_time cover a period, Options.Period. The period moves on in steps of one
// interval, Options.Period divided by Options.Buckets, and ends where the current interval begins.
// With 10 seconds and 5 buckets, a client that fetches after 13.5 seconds gets the rate from
// second 2 to second 12. A tag without data in the period has no values there.
//
// With the defaults, 60 seconds and 5 buckets, these metrics appear after 12 seconds. A rate is
// computed over the whole period, so it is too low during the first minute.
//
// # Control
//
// The metrics trace.control have the settings. A store of any value into trace.control.reset
// removes all tags. A tag that returns gets its old instance number, unless there were too many
// tags to remember. A store into trace.control.debug enables more log messages.
//
// # Tags
//
// Each kind of data numbers its instances from 1 in the order of arrival. A tag has up to 247
// bytes; C agents on many processors accept only 124. The agent refuses tags that are empty, begin
// with a space or contain control characters. Tags that differ only after a space are different
// instances, as with PCP's agent, but tools such as pminfo cannot tell their names apart.
//
// # Testing
//
// The example Test runs an agent in a test, with an application that reports to it and a client
// that reads the result. The agent reads the clock only when data arrive or a client fetches, and
// uses no timers, so tests with testing/synctest see exact periods. A test that only counts data
// needs no agent: see Testing in package trace.
//
// # Limits and access
//
// Options.MaxClients, Options.MaxTags and Options.MaxMemory limit the connected applications, the
// tags and their memory. Options.Access limits the hosts that may send and their connections. When
// there are MaxClients, an application that has sent nothing for ten seconds is disconnected for a
// new one. It connects again when it sends.
//
// The tags of one application take at most an eighth of MaxTags and MaxMemory, and those of one
// host at most half. Each share is at least 256 tags.
//
// A connection that breaks the protocol is closed. A value whose tag is refused is dropped and
// logged. If the application asked for an acknowledgement it gets an error: ENOSPC if there are too
// many tags, EINVAL if the tag is invalid. Slow applications do not delay others.
//
// # Concurrency
//
// All methods of an [Agent] are safe for concurrent use.
//
// # Differences from PCP's agent
//
//   - PCP's agent disconnects an application that sends a tag once with a NUL at its end and once
//     without.
//   - PCP's agent fails a whole fetch if the client selects no existing instance. Here such a
//     metric has no values.
//   - PCP's agent divides by zero if the period is shorter than a second, and stops moving the
//     period if the buckets do not divide it into whole seconds. Here it is divided exactly.
package pmdatrace
