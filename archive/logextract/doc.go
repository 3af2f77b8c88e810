// Package logextract makes one archive from others: it merges them, and extracts a time window,
// metrics or instances. It is pmlogextract(1) as a library, and writes the same bytes.
//
//	// merge the archives of a day
//	inputs := []string{"web1/20261123.00.10", "web1/20261123.13.05"}
//	err := logextract.Options{}.Run(ctx, inputs, "web1/20261123")
//
//	// extract an hour of some metrics
//	metrics, err := logextract.ParseConfig(strings.NewReader(`kernel.all.load disk.dev["sda"]`))
//	err = logextract.Options{
//		Metrics: metrics,
//		From:    time.Date(2026, 11, 23, 10, 0, 0, 0, time.Local),
//		Until:   time.Date(2026, 11, 23, 11, 0, 0, 0, time.Local),
//		Warn:    func(err error) { log.Print(err) },
//	}.Run(ctx, inputs, "incident")
//
// # Inputs
//
// Inputs must be of one host. They may overlap, and may be compressed. An input is a name as for
// archive.Open. An input without data is skipped with a warning. One with an empty index is read
// without the index, with a warning. A malformed record ends its input with a warning. Most
// warnings are typed errors. All are passed to Options.Warn.
//
// A value without a descriptor is left out with a warning. Loggers that lose their collector leave
// such values. Everything else is kept.
//
// It is an error if inputs describe a metric differently, unless Options.SkipConflicts leaves such
// metrics out. A metric whose name is above those of other metrics is a warning, and all of them
// are kept.
//
// # Output
//
// Data records are in the order of time; those of the same time are in the order of the inputs.
// A record of an instance domain or of labels that two inputs have is written once.
// There is a mark between two inputs, unless the first and last records of their loggers show that
// nothing happened in between. Descriptors, help texts, label sets and instances are written with
// the first data record that needs them. Label sets and instances have the time of that record.
//
// A [Job] opens the inputs first, for programs that look at them before the extraction.
//
// # Memory and files
//
// The metadata of all inputs is kept in memory; data is not. The files of the output are not
// a valid archive until Run returns. If Run fails, it removes them. They remain if the process is
// killed.
//
// # Differences from pmlogextract
//
//   - All label sets of an identifier are kept. PCP 6.0.3 keeps one of them.
//   - All archives of a directory, or of a list with commas, are read, each as a separate input.
//   - Instances of version 2 that are not in ascending order are also correct in version 3.
//   - With Options.Daily, the output has marks for at most 1000 consecutive days without records.
//     The year of the next record does not matter.
package logextract
