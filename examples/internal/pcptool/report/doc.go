// Package report writes the values of metrics in columns, as pmrep(1) does: from a collector or
// from archives, as text, as CSV or as another archive.
//
//	spec, err := report.ParseSpec("disk.dev.read,reads,sd.,count/min,,9")
//	if err != nil {
//		return err
//	}
//	o := report.NewOptions()
//	o.Timestamp, o.Samples, o.Interval = true, 10, 5*time.Second
//	o.Delimiter, o.TimeFormat = "  ", "%H:%M:%S"
//	r, err := report.New(ctx, c, o, []report.Spec{spec}, report.Times{})
//	if err != nil {
//		return err
//	}
//	return r.Run(ctx, report.NewPrinter(os.Stdout, r))
//
// The variable c is a pmapi.Context on any source. The example of this package is such a program.
//
// # Columns
//
// A [Spec] describes a metric of the report: its name, heading, instances, unit and width.
// [ParseSpec] parses the METRICSPEC syntax of pmrep(1). [LoadConfig] reads configuration files of
// pmrep, and a [Config] has the specs and options of the metric sets in them.
//
// # Output
//
// [Options] select the samples and the layout. [NewPrinter] makes a printer of text or CSV, and
// [NewArchive] one that writes an archive. A program may implement [Printer] to get the values
// themselves, after rates, units and the selection of instances.
//
// # The command line
//
// [Command] is the whole command line of pmrep, with its configuration, environment and messages.
// The program examples/pmrep uses it and adds only signals, the terminal and the daemon.
//
// # Differences from pmrep of PCP 6.0.3
//
//   - Regular expressions are those of package regexp, without look-ahead and back references.
//   - An extended header of a live report without an end shows no end, and is not an error.
//   - Values of archives are not lost where instances appear and disappear. The pmrep of PCP omits
//     an instance that is not in the domain at the time of the next sample, and omits the columns
//     of a selected instance that is missing at the start or at the end.
//   - Labels in written archives have the identifiers that lookups of labels use, and may have the
//     values true and false.
package report
