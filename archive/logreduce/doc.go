// Package logreduce makes an archive of another one with fewer records: the values at regular times, as pmlogreduce(1) does.
//
//	pc, err := pmapi.Open(ctx, "20261123")
//	…
//	err = logreduce.Options{Interval: 10 * time.Minute}.Reduce(ctx, pc, "20261123-reduced")
//
// Values are what a context in pmapi.ModeInterp has: nothing is averaged, and counters stay counters. Those of 32 bits become
// counters of 64 bits, since they may pass their greatest value more than once in a longer interval. Metrics of
// events and of aggregates are left out, as are labels and help texts.
//
// The work grows with the number of records, not with the time between them: intervals without a record are passed over after many
// of them (250,000 in all, and 100 more per record), in which PCP's tool would write that there are no values. If the archive ends at a time for
// which there is to be a record, it is written; PCP's tool leaves it out.
//
// It stands on package pmapi, and not below it as package archive does.
package logreduce
