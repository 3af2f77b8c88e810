// Package report reports the values of metrics in columns, as pmrep(1) does: of a collector or of archives, as text, as CSV or as
// another archive.
//
// # A report of a program's own
//
// Options say what a report looks like, and Specs what its columns are; ParseSpec makes one of a METRICSPEC of pmrep, and a Config
// those of its configuration files. New looks the metrics up in a context, and Report.Run writes them to a Printer, one sample after the
// other:
//
//	spec, err := report.ParseSpec("disk.dev.read,reads,sd.,count/min,,9")
//	…
//	o := report.NewOptions()
//	o.Timestamp, o.Samples, o.Interval = true, 10, 5*time.Second
//	r, err := report.New(ctx, pc, o, []report.Spec{spec}, report.Times{})
//	…
//	err = r.Run(ctx, report.NewPrinter(os.Stdout, r))
//
// A Printer of another kind gets the values themselves: after rates and units, and after all that selects instances.
//
// # The command line
//
// Command is the command line of pmrep as a whole, with its configuration, environment and messages; examples/pmrep is all that a
// program adds to it.
//
// # Differences from pmrep of PCP 6.0.3
//
// Regular expressions are those of package regexp, without look-ahead and back references. An extended header of a live report without
// an end has no error, but no end. Values of archives are not lost where instances come and go: pmrep omits an instance whose name is
// not in the archive's domain at the time of the next sample, and the columns of one that a filter selects and that is not there at the
// start or at the end. Labels in archives that it writes are under the identifiers by which they are looked up, and may be true or
// false.
package report
