// Package pmapitest makes sources of metrics for tests of programs that use package
// pmapi: a Source has the metrics, values, faults and time that a test gives it, and
// pmapi.Contexts on it, without a collector and without a socket.
//
//	src := &pmapitest.Source{Start: noon, End: noon.Add(time.Minute)}
//	load := pmapitest.Add(src, pmapitest.Metric[float64]{Name: "kernel.all.load"})
//	load.Set(0.5)
//	monitor(ctx, src.Context()) // the code under test
//
// # Metrics
//
// Add enters a metric, whose values are Go values of its type parameter: those that Set
// has set, or those that a function returns at each fetch. Instance domains, texts and
// labels are optional. Metrics and instances come, go, get other names and other PMIDs
// at any time; the next fetch of each context reports it, as one from a collector does. Labels are those of Source, Metric, InDom
// and Source.SetLabels. Derived metrics are those of Source.Derived, or of Context.Derive.
//
// AddEvents enters a metric of event records, of which each context gets every record once.
//
// # Archives
//
// Replay makes a source that plays archives as if they were a live host, at once or at a speed of its own.
//
// # Faults
//
// Metric.Fail makes one metric fail, Source.FailFetch every fetch. Source.Break breaks
// the connections and Source.Restore lets them come back, by Context.Reconnect or, with
// AutoReconnect, by themselves, with a *pmapi.Gap; Source.BreakAt does both at times of the
// source. Source.OnRequest is called before every
// request, and can delay it or make it fail.
//
// # Time
//
// With Start, time is the source's own. It passes only by Source.Advance, by delays and
// by the pauses of Group.Every, which take no time: an hour of samples is there at once.
// Without Start, time is that of package time, which testing/synctest makes virtual
// together with all other time of the program. With End, fetches after that time fail as
// at the end of an archive, which ends Group.Every, whatever faults there are: a test of a
// loop over Every has an End.
//
// # Fleets
//
// NewFleet makes hosts with a Source each, for tests of programs that watch many by a pmapi.Fleet: they stop, start, hang, slow
// down and come back with other metrics.
//
// # Concurrency
//
// All methods are safe for concurrent use. Functions that a test supplies are called
// without locks, and so may call them.
package pmapitest
