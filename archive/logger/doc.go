// Package logger records metrics of a collector, or of any other source of package pmapi, into an archive: the engine of
// pmlogger(1) as a library.
//
//	config, err := logconf.Options{}.Parse("config", strings.NewReader(`log mandatory on 10 seconds { kernel.all.load disk.dev }`))
//	…
//	src, err := pmapi.Dial(ctx, "web1")
//	…
//	err = logger.Run(ctx, src, logger.Options{Config: config, Base: "/var/log/pcp/web1/20261123"})
//
// # What is recorded
//
// The requests of a configuration take effect in their order, see [logconf.Config]. Metrics that are recorded equally
// often and firmly are a task. At its times a task fetches its metrics together and writes the values, in the order of descending
// PMIDs, as one data record, with the errors of those that have failed. What a reader needs to know of a metric, all
// its names, labels and help texts, goes into the archive with its first values, instances whenever they are
// others. At the start and at the end is a record of the logger itself, see [archive.Session].
//
// # Time
//
// The times of a task are its start and the multiples of its interval after that, without drift. What a slow
// collector or computer makes it miss is left out. Data records have the times of the collector.
// If its clock is set back, nothing is recorded until it has caught up with the last data record, and then a mark comes first.
//
// # Failures
//
// When the collector is lost the logger tries to connect again, at the times of its tasks and not more often than
// the context's Dialer.Backoff says. After that, and when the collector has a new agent, all metrics are looked up
// again: a metric that is another one now ends Run with ErrMetricsChanged; otherwise it goes on, after a mark.
//
// # Concurrency
//
// A Logger is safe for concurrent use: while Run is running, others may ask for its Status and
// change what it does, as pmlc(1) does. Methods other than Status and Tasks wait for a fetch that is going on, Control and
// Enquire until their contexts end. The source belongs to the logger, which changes its profile.
package logger
