// Package pmdago is an agent that exports statistics of the Go program that it runs in: of the
// runtime, the build and the process. Every PCP tool can monitor a service that embeds it.
//
//	srv := &collector.Server{}
//	if err := srv.Add(pmdago.New(pmdago.Options{})); err != nil {
//		return err
//	}
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
// A program whose agent belongs to a pmcd in another process passes the agent to pmda.Serve or
// pmda.Daemon instead. The agent's domain is 490. Two services behind one pmcd need different
// ones: see [Options].
//
// # Metrics
//
//	go.goroutines, gomaxprocs,     an overview
//	   numcpu, cgocalls
//	go.gc, cpu, memory, sched,     all metrics of runtime/metrics, under its names
//	   sync, cgo
//	go.godebug                     how often settings of GODEBUG took effect
//	go.build                       releases, versions, settings of the build
//	go.process                     pid, times, memory, descriptors, where the
//	                               system provides them
//
// Variables of the package expvar are exported by
// [github.com/pcp-go/pcp/pmda/pmdago/goexpvar].
//
// The name of a metric of the runtime is its path, with dots, and its unit: /gc/heap/allocs:bytes
// is go.gc.heap.allocs_bytes. Cumulative ones are counters. The PMIDs are the same in all
// releases of Go, except those of metrics that are newer than this package, which have separate
// clusters.
//
// # Distributions
//
// A histogram of the runtime, such as /sched/latencies:seconds, is four metrics:
//
//	go.sched.latencies_seconds.buckets     counts; an instance for each bucket that is not empty
//	go.sched.latencies_seconds.count       the sum of the counts
//	go.sched.latencies_seconds.quantiles   p50, p90, p99 and max since the process began
//	go.sched.latencies_seconds.recent      the same of the last minute
//
// The instances of the first metric are called "64ns-128ns" or "49-65". Their labels have the
// limits, {"ge":49,"lt":65}: a bucket counts values from the lower limit up to, but not including,
// the upper. Empty buckets, usually most of about 160, have no instances. New ones appear while the
// program runs, and stay. Quantiles of times are in microseconds.
//
// All clients get the same values; nothing is kept for a single client. The window of recent begins
// with the latest fetch by any client that is at least about a minute old, or else with the start
// of the process. To use another interval, compute rates from the buckets.
//
// # Cost
//
// A fetch reads the requested metrics from the runtime all at once, and no others. Each
// takes about 40 to 250 ns. All metrics take about 35 µs, 3 of them for the reading.
// Nothing runs between fetches, and no metric stops the world. The histograms use about
// 10 KiB, and 70 KiB more after a fetch of all recent metrics.
//
// # What clients can see
//
// Every client of the collector can read all this: the versions of the program and its
// modules, the flags of the build (including -ldflags, unless -trimpath hides it), and the
// name of the file. The command line is exported only with Options.CommandLine. Where that is too
// much, listen on the loopback interface or set the collector's Access.
//
// Several clients may use the agent at once.
package pmdago
