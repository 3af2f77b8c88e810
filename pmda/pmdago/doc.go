// Package pmdago is an agent that exports what a Go program knows of itself: the
// metrics of its runtime, how it was built, and the process that it is. A
// service that embeds it can be looked at with every PCP tool.
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
// Then look:
//
//	pmval -h localhost go.goroutines
//	pmval -h localhost go.gc.heap.live_bytes
//	pmval -h localhost go.sched.latencies_seconds.recent
//	pmrep -h localhost go.process.cpu go.gc.cycles.total_gc_cycles
//	pminfo -h localhost -dtT go
//
// A program that has its metrics from a pmcd elsewhere hands New's agent to
// pmda.Serve or pmda.Daemon instead.
//
// # What there is
//
//	go.goroutines, gomaxprocs,     what one looks at first
//	   numcpu, cgocalls
//	go.gc, cpu, memory, sched,     all that runtime/metrics has, under its own names
//	   sync, cgo
//	go.godebug                     what settings of GODEBUG have done
//	go.build                       releases, versions, settings of the build
//	go.process                     pid, times, memory, descriptors, as far as the
//	                               system tells: what it does not tell is absent
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
// upper, which is not its own. Buckets that have counted nothing, most of some 160,
// are no instances. New ones come while the program runs, and stay. Quantiles of
// times are in microseconds.
//
// All clients get the same values; nothing is kept for one of them. The window of
// recent begins with the newest look, of any client, that is about a minute old;
// while there is none, with the start of the process.
// A client with an interval of its own takes the rates of the buckets.
//
// # What it costs
//
// What a fetch asks for is read from the runtime, at one time for all, and nothing
// else is: some 40 to 250 ns for a metric. All metrics take some 35 µs, of which
// the reading is 3. Nothing runs while nobody asks, and no metric stops the world.
// The histograms take some 10 KiB, and 70 more once recent is asked of all of them.
//
// # What clients can see
//
// Whoever can reach the collector can read all this: the versions of the program
// and its modules, the flags it was built with (also -ldflags, if -trimpath does
// not hide it), the name of its file. The command line is exported only with
// Options.CommandLine. Listen on the loopback interface, or set the collector's
// Access, where that is too much.
//
// The agent may be used by any number of clients at once.
package pmdago
