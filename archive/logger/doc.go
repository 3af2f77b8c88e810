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
// pmapi.Open reads the archive, as do the tools of PCP, also while the logger writes it:
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
//   - log may be left out.
//   - mandatory or advisory; advisory if left out. An advisory request has no effect on metrics
//     with a mandatory request.
//   - on, with an interval; off; or, for mandatory requests, maybe, which leaves the choice to
//     advisory requests.
//   - The interval: a number with a unit; once; or default, the interval of the logger. Units are
//     msec, millisecond, sec, second, min, minute and hour, and their plurals. The longest interval
//     is 2^28-1 milliseconds, about three days. The word every is optional.
//   - One metric, or several in braces. Commas between them are optional. A name above metrics in
//     the name space stands for all metrics below it.
//   - Instances of a metric, in brackets: names, or numbers. Names with blanks or other special
//     characters need quotes. Without brackets all instances are recorded.
//
// Requests take effect in their order. A # begins a comment.
//
// # Access rules
//
// The last section may restrict what clients such as pmlc(1) can do:
//
//	[access]
//	disallow .* : all;
//	allow localhost, 10.1.* : all except mandatory;
//
// The operations are advisory and mandatory, to change what is recorded; enquire, to ask for the
// state; and all. Hosts are names and addresses, with * at the end for all that begin so. The rules
// take effect only in a server of pmlc(1), such as examples/pmlogger.
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
// A macro is expanded where % precedes its name, perhaps in braces. There are %define, %undef,
// %ifdef, %ifndef, %else, %endif and %include. The %shell of PCP is refused, because it runs a
// command. The names of included files are relative to the working directory.
//
// # What is recorded
//
// Metrics with the same interval and the same control, mandatory or advisory, form a [Task]. Each
// time a task is due, it fetches its metrics together and writes one data record: values in the
// order of descending PMIDs, and errors of metrics that failed.
//
// The names, labels and help texts of a metric go into the archive with its first values,
// instances each time they change, and the labels of an instance with its first value. Labels
// that change are recorded when the collector reports it. The first and the last record describe
// the logger itself: its host, port and archive, and the process and state of the collector.
//
// # Time
//
// A task is due at its start and at multiples of its interval after that, without drift. The logger
// skips times that it misses because the collector or the computer is slow. Data records have the
// time of the collector. If the clock of the collector is set back, the logger records nothing
// until it has passed the last data record, and then writes a mark first.
//
// # Volumes and the end
//
// [Options] limits the archive by size, number of records or time, with EndBytes, EndRecords,
// EndTime and EndAfter. VolumeSize, VolumeRecords and VolumeTime in Options.Writer divide it into
// volumes. For an archive a day, with old archives removed, call Record of package
// archive/logger/retention in place of Run.
//
// # Failures
//
// Losing the collector does not end the logger. It connects again at the times of its tasks, but
// not more often than Dialer.Backoff of the context allows, and the archive has a mark there. After
// that, and when the collector has other agents or names, the logger looks up all metrics again.
//
// An archive describes each metric once. When a metric has another PMID, type, semantics, instance
// domain or unit, the logger reports [MetricChanged] and leaves the metric out, with a mark before
// the next record. With Options.EndOnChange, Run ends with [ErrMetricsChanged] instead, so that the
// caller can begin another archive, as package retention does.
//
// Options.Report receives an [Event] for each of these; by default they are logged.
//
// # Send the archive to another computer
//
// With Options.Push the archive goes to a receiver in place of files: a Receiver of package
// archive/push, or pmproxy of PCP 7. While the receiver cannot be reached, the logger keeps up to
// 64 MiB of records in memory, see push.SenderOptions.MaxBuffer.
//
//	logger.Options{Config: config, Push: &push.SenderOptions{URL: "http://archives:44322"}}
//
// # Concurrency
//
// A [Logger] is safe for concurrent use. While Run is running, other goroutines may read its Status
// and change what it records, as pmlc(1) does. Status never waits. The other methods wait
// for a fetch in progress; Control and Enquire return when their context ends.
//
// The source belongs to the logger until Run returns, because the logger changes its profile.
package logger
