// Package pmdago is an agent that exports statistics of the Go program that embeds it: of the
// runtime, the build and the process. Every PCP tool can then monitor the program.
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
// To serve a pmcd in another process, pass the agent to pmda.Serve or pmda.Daemon instead. The
// agent's domain is 490. Two services behind one pmcd need different domains: see [Options].
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
// The name of a runtime metric is its path, with dots, and its unit: /gc/heap/allocs:bytes is
// go.gc.heap.allocs_bytes. Cumulative metrics are counters. The PMIDs are the same in all releases
// of Go. Only metrics newer than this package, in separate clusters, may change theirs.
//
// # Distributions
//
// A histogram of the runtime, such as /sched/latencies:seconds, is four metrics:
//
//	go.sched.latencies_seconds.buckets     counts; an instance for each bucket that is not empty
//	go.sched.latencies_seconds.count       the sum of the counts
//	go.sched.latencies_seconds.quantiles   p50, p90, p99 and max since the process began
//	go.sched.latencies_seconds.recent      the same for the last minute
//
// The instances of the first metric are called "64ns-128ns" or "49-65". Their labels have the
// limits, {"ge":49,"lt":65}: a bucket counts values from the lower limit up to, but not including,
// the upper. Most of about 160 buckets are usually empty and have no instances. Instances that
// appear while the program runs stay. Quantiles of times are in microseconds.
//
// All clients get the same values. The window of recent begins with the latest fetch by any client
// that is at least about a minute old, or else with the start of the process. For another interval,
// compute rates from the buckets.
//
// # Cost
//
// A fetch reads only the requested metrics from the runtime, all at once. Each takes about 40 to
// 250 ns, and all metrics about 35 µs. Nothing runs between fetches, and no metric stops the world.
// The histograms use about 10 KiB, and 70 KiB more after a fetch of all recent metrics.
//
// # What clients can see
//
// Every client of the collector can read the version of the program, the flags of the build
// (including -ldflags, unless -trimpath hides it), and the name of the file. The command line is
// exported only with Options.CommandLine. To restrict clients, listen on the loopback interface or
// set the collector's Access.
//
// The agent is safe for concurrent use.
package pmdago
