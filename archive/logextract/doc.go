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
// Inputs must be of one host. They may overlap, and may be compressed. Each is named as for
// archive.Open. Options.Warn gets warnings, most of them typed errors. An input without data is
// skipped with a warning. One with an empty index is read without it, with a warning. A malformed
// record ends its input with a warning.
//
// A value without a descriptor is omitted with a warning. Loggers that lose their collector leave
// such values. All other values are kept.
//
// It is an error if inputs describe a metric differently, unless Options.SkipConflicts omits such
// metrics. A metric whose name is above those of other metrics gets a warning; all of them are
// kept.
//
// # Output
//
// Data records are sorted by time; those of the same time are in the order of the inputs. There is
// a mark between two inputs, unless their first and last records show that the collector did not
// change in between. A record of instances or labels that two inputs have in common is written
// once. Descriptors, help texts, label sets and instances are written with the first data record
// that needs them. Label sets and instances have the time of that record.
//
// A [Job] is for programs that look at the inputs before the extraction.
//
// # Memory and files
//
// The metadata of all inputs is kept in memory; data is not. The output is not a valid archive
// until Run returns. If Run fails, it removes the files. They remain if the process is killed.
//
// # Differences from pmlogextract
//
//   - All label sets of an identifier are kept. PCP 6.0.3 keeps one of them.
//   - Each archive of a directory or of a list with commas is a separate input.
//   - Instances of version 2 that are not in ascending order are converted correctly to version 3.
//   - With Options.Daily, the output has marks for at most 1000 consecutive days without records.
//     Further days without records are skipped.
package logextract
