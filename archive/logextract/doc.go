// Package logextract makes one archive of Performance Co-Pilot (PCP) of others: it merges them, and takes parts out of them, by time, by
// metric and by instance. It is the library of pmlogextract(1), and writes the same bytes.
//
//	// the archives of a day into one
//	err := logextract.Options{}.Run(ctx, []string{"web1/20261123.00.10", "web1/20261123.13.05"}, "web1/20261123")
//
//	// an hour of some metrics
//	metrics, err := logextract.ParseConfig(strings.NewReader(`kernel.all.load disk.dev["sda"]`))
//	err = logextract.Options{Metrics: metrics, From: ten, Until: eleven, Warn: func(err error) { log.Print(err) }}.Run(ctx, inputs, "incident")
//
// Data records go to the output in the order of time, those of the same time in the order of the inputs. A mark stands
// between two inputs, unless the records that their loggers began and ended with show that nothing happened in between. With the first data record
// that needs them the output gets descriptors, help texts, label sets and instances, the latter two with the time of that record.
//
// Inputs must be of one host, may overlap, and may be compressed. One without data is skipped with a warning; a malformed record ends its input with a
// warning. Metrics that inputs describe differently are errors, unless Options.SkipConflicts leaves them out. Warnings are typed errors for
// Options.Warn.
//
// # Differences from pmlogextract
//
// All label sets of an identifier are kept, where PCP 6.0.3 keeps one of them. All archives of a directory or of a list with commas are read,
// each as an input of its own. Instances of version 2 that are not in ascending order are right in version 3, too.
// With Options.Daily there are marks for at most 1000 days in a row that have no records, in whatever year the next one is.
//
// # Memory and files
//
// The metadata of all inputs is in memory, data is not. While the work goes on the files of the output are not an archive; if it fails they
// are removed, if the process is killed they are left.
package logextract
