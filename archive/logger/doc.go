// Package logger records metrics into an archive. It is the engine of pmlogger(1) as a library: a
// program records a collector, or any other source of package pmapi, without a daemon.
//
//	src, err := pmapi.Dial(ctx, "web1") // a collector
//	if err != nil {
//		return err
//	}
//	defer src.Close()
//	// until ctx ends: makes web1/20261123.0, .index and .meta; the directory must exist
//	return logger.Run(ctx, src, logger.Options{
//		Config: "log mandatory on 10 seconds { kernel.all.load disk.dev }",
//		Base:   "web1/20261123",
//	})
//
// # Record this computer without a collector
//
// A context of pmapi/local reads agents in the process of the logger. Only the source differs:
//
//	agent, err := pmdalinux.New(pmdalinux.Options{}) // package pmda/pmdalinux
//	if err != nil {
//		return err
//	}
//	src, err := local.Open(agent) // package pmapi/local
//
// To record the metrics of the program itself, pass its own agents to local.Open, or use
// pmapi.Local with a collector of the process.
//
// # Record from the command line
//
// With a collector, such as examples/pmcd, on this computer:
//
//	go run ./examples/pmcd &
//	echo 'log mandatory on 1 sec { kernel.all disk.dev }' >config
//	go run ./examples/pmlogger -h localhost -c config -T 1min -l web1.log web1
//	go run ./examples/pmrep -a web1 -p -t 5sec kernel.all.load kernel.all.cpu.user
//
// # Read the archive
//
// pmapi.Open and the tools of PCP read the archive, even while the logger writes it:
//
//	pc, err := pmapi.Open(ctx, "web1/20261123")
//	g := pc.Group()
//	load := pmapi.Add[float64](g, "kernel.all.load", pmapi.Instance("1 minute"))
//	for now, err := range g.Every(ctx, 10*time.Second) { // in archive time, without waiting
//		v, err := load.Value()
//		…
//	}
//
// With the interval 0, Every visits each record. A sample may lack a value, for example at the
// start, because the first record of an archive describes the logger. Item.Value then returns an
// error.
//
// # Configuration
//
// Options.Config is in the language of pmlogger(1). It consists of requests such as
//
//	log mandatory on every 5 seconds { kernel.all.load ["1 minute", 5], disk.dev }
//
// It has these parts:
//
//   - log, which is optional.
//   - mandatory or advisory; advisory if left out. An advisory request has no effect on metrics
//     with a mandatory request.
//   - on, with an interval; off; or, for mandatory requests, maybe, which leaves the choice to
//     advisory requests.
//   - The interval: a number with a unit; once; or default, which is Options.Interval. Units are
//     msec, millisecond, sec, second, min, minute and hour, and their plurals. The longest interval
//     is 2^28-1 milliseconds, about three days. The word every is optional.
//   - One metric, or several in braces. Commas between them are optional. A name above metrics in
//     the name space stands for all metrics below it.
//   - Instances of a metric, in brackets: names, or numbers. Names with blanks or other special
//     characters need quotes. Without brackets all instances are recorded.
//
// Requests add up, as in pmlogger(1): a metric with two intervals is recorded at both, and a later
// off does not end an earlier on. A # begins a comment.
//
// # Access rules
//
// The last section may restrict what clients such as pmlc(1) can do:
//
//	[access]
//	disallow .* : all;
//	allow localhost, 10.1.* : all except mandatory;
//
// The operations are advisory and mandatory, to change what is recorded; enquire, to request the
// state; and all. A host is a name, an address, or the beginning of an address and a *, such as
// 10.1.* and .* for all IPv4 addresses. The rules take effect only in a server of pmlc(1), such as
// examples/pmlogger.
//
// The request before this section needs braces around its metrics, because a bracket after a name
// begins instances.
//
// # Preprocessor
//
// Lines that begin with % are for the preprocessor:
//
//	%define often "5 seconds"
//	%include "disks.config"
//	%ifdef often
//	log mandatory on every %often { kernel.all.load }
//	%endif
//
// A macro NAME is replaced with its value at %NAME and %{NAME}. The directives are %define, %undef,
// %ifdef, %ifndef, %else, %endif and %include. PCP's %shell is an error, because it would run a
// command. The names of included files are relative to the working directory.
//
// # What is recorded
//
// Metrics with the same interval and the same control, mandatory or advisory, form a [Task]. Each
// time a task is due, the logger fetches its metrics together and writes a data record: values in
// the order of descending PMIDs, and errors of metrics that failed. It writes two records if some
// requests name instances of a domain and others want all of them.
//
// The logger writes the names, labels and help texts of a metric with its first values. It writes
// the instances each time the values have others, and the labels of an instance with its first
// value. It writes labels again when the collector reports that they have changed. The first and
// the last record describe the logger itself: its host, port and archive, and the process and state
// of the collector.
//
// # Time
//
// A task is due at its start and at multiples of its interval after that, without drift. The logger
// skips the times that it misses because the collector or the computer is slow. Data records have
// the time of the collector. If the clock of the collector is set back, the logger records nothing
// until the clock has passed the last data record, and then begins with a mark.
//
// # Volumes and the end
//
// [Options] limits the archive by size, number of records or time, with EndBytes, EndRecords,
// EndTime and EndAfter. VolumeSize, VolumeRecords and VolumeTime in Options.Writer divide it into
// volumes. For one archive each day, and to remove old ones, call Record of package
// archive/logger/retention instead of Run.
//
// # Failures
//
// Losing the collector does not end the logger. It tries to connect once a second and when a task
// is due, but not more often than Dialer.Backoff of the context allows. The archive has a mark
// where the connection was lost. After a reconnection, and when the agents or names of the
// collector change, the logger looks up all metrics again.
//
// An archive describes each metric once. When a metric has another PMID, type, semantics, instance
// domain or unit, the logger reports [MetricChanged] and leaves the metric out, with a mark before
// the next record. With Options.EndOnChange, Run ends with [ErrMetricsChanged] instead, so that the
// caller can begin another archive, as package retention does.
//
// Options.Report receives an [Event] for each of these failures. By default, LogEvent logs them.
//
// # Send the archive to another computer
//
// With Options.Push the logger sends the archive to a receiver instead of writing files. The
// receiver is a Receiver of package archive/push, or pmproxy of PCP 7. While it cannot be reached,
// the logger keeps up to 64 MiB of records in memory; see push.SenderOptions.MaxBuffer.
//
//	logger.Options{Config: config, Push: &push.SenderOptions{URL: "http://archives:44322"}}
//
// # Concurrency
//
// A [Logger] is safe for concurrent use. While Run is running, other goroutines may read its Status
// and change what it records, as pmlc(1) does. Status and Base never wait. The other methods wait
// for a fetch in progress; Control and Enquire return when their context ends.
//
// The source belongs to the logger until Run returns, because the logger changes its profile.
package logger
