// Package pmdago is an agent that exports statistics of the Go program that it runs
// in: of the runtime, the build and the process. Every PCP tool can monitor a service
// that embeds it.
//
//	srv.Add(pmdago.New(pmdago.Options{}))
//
// where srv is the collector in the same program:
//
//	srv := &collector.Server{}
//	srv.Add(pmdago.New(pmdago.Options{}))
//	ln, err := net.Listen("tcp", "localhost:44321")
//	if err != nil {
//		return err
//	}
//	go srv.Serve(ctx, ln)
//
// Then, for example:
//
//	pmval -h localhost go.goroutines
//	pmval -h localhost go.gc.heap.live_bytes
//	pmval -h localhost go.sched.latencies_seconds.recent
//	pmrep -h localhost go.process.cpu go.gc.cycles.total_gc_cycles
//	pminfo -h localhost -dtT go
//
// A program whose agent belongs to a pmcd in another process passes the agent to
// pmda.Serve or pmda.Daemon instead.
//
// # Metrics
//
//	go.goroutines, gomaxprocs,     an overview
//	   numcpu, cgocalls
//	go.gc, cpu, memory, sched,     all that runtime/metrics has, under its own names
//	   sync, cgo
//	go.godebug                     how often settings of GODEBUG took effect
//	go.build                       releases, versions, settings of the build
//	go.process                     pid, times, memory, descriptors, as far as the
//	                               system has them
//
// Variables of the package expvar are exported by
// [github.com/pcp-go/pcp/pmda/pmdago/goexpvar].
//
// The name of a metric of the runtime is its path, with dots, and its unit:
// /gc/heap/allocs:bytes is go.gc.heap.allocs_bytes. Cumulative ones are counters.
// The PMIDs are the same in all releases of Go, except those of metrics that are
// newer than this package, which have clusters of their own.
//
// # Distributions
//
// A histogram of the runtime, such as /sched/latencies:seconds, is four metrics:
//
//	go.sched.latencies_seconds.buckets     counts; an instance for each bucket that has any
//	go.sched.latencies_seconds.count       the sum of them
//	go.sched.latencies_seconds.quantiles   p50, p90, p99 and max since the process began
//	go.sched.latencies_seconds.recent      the same of the last minute
//
// The instances of the first are called "64ns-128ns" or "49-65", and have labels
// with the limits, {"ge":49,"lt":65}: each counts from the lower limit up to the
// upper, exclusive. Buckets that have counted nothing, most of some 160,
// are no instances. New ones come while the program runs, and stay. Quantiles of
// times are in microseconds.
//
// All clients get the same values; nothing is kept for a single client. The window of
// recent begins with the latest fetch, by any client, that is about a minute old or
// older, or with the start of the process if there is none. A client that wants another interval should
// compute rates from the buckets.
//
// # Cost
//
// A fetch reads the wanted metrics from the runtime all at once, and no others: some
// 40 to 250 ns for each. All metrics take some 35 µs, 3 of them for the reading.
// Nothing runs between fetches, and no metric stops the world. The histograms use
// some 10 KiB, and 70 more after a fetch of all recent metrics.
//
// # What clients can see
//
// Everybody who can connect to the collector can read all this: the versions of the
// program and its modules, the flags it was built with (also -ldflags, if -trimpath
// does not hide it), the name of its file. The command line is exported only with
// Options.CommandLine. Listen on the loopback interface, or set the collector's
// Access, where that is too much.
//
// The agent may be used by any number of clients at once.
package pmdago
